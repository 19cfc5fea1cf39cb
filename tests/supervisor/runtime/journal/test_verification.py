"""The check of the whole journal."""

from pathlib import Path

from supervisor.protocol import records
from supervisor.runtime.journal.reader import list_segments
from supervisor.runtime.journal.verification import verify
from tests.supervisor.runtime.journal.test_mending import KEY, forge, write


def test_the_last_line_that_is_as_it_was_written_is_found_and_nothing_is_changed(tmp_path: Path) -> None:
    lines = write(tmp_path)
    found = verify(tmp_path, KEY)
    assert (found.n, found.hash, found.key, found.problem) == (10, records.line_hash(lines[-1]), KEY.id, "")
    forge(tmp_path, 6)
    path = list_segments(tmp_path)[0].path
    before = path.read_bytes()
    found = verify(tmp_path, KEY)
    assert (found.n, found.hash) == (5, records.line_hash(lines[4]))
    assert found.problem.startswith(f"Line 6, in {path}")
    assert verify(tmp_path, None).n == 8, "without the key its chain is right"
    path.write_bytes(before.replace(b"timer 2", b"timer 3"))
    assert "the checksum is wrong" in verify(tmp_path, KEY).problem
    assert path.read_bytes() == before.replace(b"timer 2", b"timer 3")


def test_no_journal_has_no_lines(tmp_path: Path) -> None:
    assert verify(tmp_path / "none", None).n == 0
