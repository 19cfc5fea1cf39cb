"""A session file that grows, shrinks, is replaced, and holds what is no JSON."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.runtime.attached.transcript import Transcript, timestamp

LINE = '{"type": "assistant", "uuid": "%d"}\n'


def uuids(transcript: Transcript) -> list[str]:
    return [line["uuid"] for line in transcript.read()]


def test_what_came_since_is_read_once_and_half_a_line_with_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1"]
    half = LINE % 2
    path.write_text(LINE % 1 + half[:9])
    assert uuids(transcript) == []
    path.write_text(LINE % 1 + half + "no JSON, assistant\n" + LINE % 3)
    assert uuids(transcript) == ["2", "3"]
    assert uuids(transcript) == []


def test_what_a_session_had_before_it_was_attached_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1)
    transcript = Transcript(str(path))
    assert uuids(transcript) == []
    path.write_text(LINE % 1 + LINE % 2)
    assert uuids(transcript) == ["2"]


def test_a_file_that_shrank_is_followed_from_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1 + LINE % 2)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1", "2"]
    path.write_text(LINE % 3)
    assert uuids(transcript) == []
    path.write_text(LINE % 3 + LINE % 4)
    assert uuids(transcript) == ["4"]


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/zero")
    for path in (link, tmp_path, tmp_path / "missing", Path("/dev/zero")):
        assert Transcript(str(path), 0).read() == []


def test_a_session_file_that_is_not_written_yet_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    transcript = Transcript(str(path))
    assert transcript.read() == []
    path.write_text(LINE % 1)
    assert uuids(transcript) == ["1"]


def test_a_file_that_was_replaced_by_a_longer_one_is_followed_from_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1 + LINE % 2)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1", "2"]
    other = tmp_path / "other"
    other.write_text(LINE % 5 + LINE % 6 + LINE % 7)
    other.replace(path)
    assert uuids(transcript) == [], "of a file of another session nothing is this agent's"
    with path.open("a") as file:
        file.write(LINE % 8)
    assert uuids(transcript) == ["8"]


def test_a_file_that_was_written_over_with_as_much_is_followed_from_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1 + LINE % 2)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1", "2"]
    path.write_text(LINE % 3 + LINE % 4 + LINE % 5)
    again = Transcript(str(path), transcript.offset, "", transcript.tail)
    assert uuids(again) == [], "after a restart of the daemon too"


def test_a_copy_of_the_same_session_is_followed_without_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1)
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1"]
    copy = tmp_path / "copy"
    copy.write_text(LINE % 1 + LINE % 2)
    copy.replace(path)
    assert uuids(transcript) == ["2"]


def test_what_a_forked_session_has_of_the_other_one_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "fork.jsonl"
    transcript = Transcript(str(path), since=timestamp(1_700_000_000.5))
    assert transcript.read() == []
    old, new = (f'"timestamp": "{timestamp(1_700_000_000.5 + off)}"' for off in (-1, 1))
    path.write_text(LINE.replace("{", f"{{{old}, ", 1) % 1 + LINE.replace("{", f"{{{new}, ", 1) % 2 + LINE % 3)
    assert uuids(transcript) == ["2", "3"]


def test_a_file_on_a_full_disk_that_ends_in_half_a_line_goes_on_with_the_next_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(LINE % 1 + (LINE % 2)[:20])  # the disk was full here
    transcript = Transcript(str(path), 0)
    assert uuids(transcript) == ["1"]
    with path.open("a") as file:
        file.write(LINE % 3 + LINE % 4)  # and had space again: two lines have become one that is no JSON
    assert uuids(transcript) == ["4"]


FILLS = """
import errno, json, pathlib, sys
from supervisor.runtime.attached.transcript import Transcript

line, folder, read = sys.argv[1] + "\\n", pathlib.Path(sys.argv[2]), []
(folder / "other").write_bytes(b"x" * 32_768)
path = folder / "s.jsonl"
path.write_text("")
transcript = Transcript(str(path), 0)

def take():
    read.extend(line["uuid"] for line in transcript.read())

def write(numbers):
    with path.open("ab", buffering=0) as file:
        for number in numbers:
            data = (line % number).encode()
            if file.write(data) < len(data):
                raise OSError(errno.ENOSPC, "half a line")
try:
    write(range(100_000))
except OSError as error:
    assert error.errno == errno.ENOSPC, error
take()
written = path.read_bytes().count(b"\\n")
take()
(folder / "other").unlink()
write(range(200_000, 200_003))
take()
print(json.dumps({"read": read, "written": written}))
"""
"""A session file that grows until its disk has no room, and on once it has room again."""


def test_of_a_session_file_on_a_disk_that_fills_all_whole_lines_are_read_and_it_goes_on_with_room(
    tmp_path: Path,
) -> None:
    unshare = shutil.which("unshare")
    if not unshare:
        pytest.skip("needs unshare")
    script = 'mount -t tmpfs -o size=64k tmpfs "$4" || exit 77; exec "$1" -c "$2" "$3" "$4"'
    given = ["sh", "-c", script, "sh", sys.executable, FILLS, LINE.rstrip(), str(tmp_path)]
    done = subprocess.run(
        [unshare, "--user", "--map-root-user", "--mount", *given], capture_output=True, text=True, check=False
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no mount namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["written"] > 100
    assert found["read"][: found["written"]] == [str(number) for number in range(found["written"])]
    assert found["read"][-1] == "200002"
