"""What is left of a run that was watched without a service; tests/end_to_end/test_standalone.py runs the real CLI in it."""

import tracemalloc
from pathlib import Path

import pytest

from supervisor.runtime.journal.reader import CHUNK_BYTES
from supervisor.standalone.watched_run import copy_journal
from tests.journal_files import write_journal


def test_all_lines_of_a_journal_are_copied_in_order(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    lines = write_journal(tmp_path / "journal", 3, 1, 4)
    copy_journal(tmp_path / "journal", tmp_path / "journal.jsonl")
    assert (tmp_path / "journal.jsonl").read_bytes() == b"".join(lines)


@pytest.mark.slow
def test_a_journal_that_is_copied_is_never_in_memory_whole(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    size = sum(map(len, write_journal(tmp_path / "journal", *[4_000] * 16)))
    assert size > 8 * CHUNK_BYTES
    tracemalloc.start()
    copy_journal(tmp_path / "journal", tmp_path / "journal.jsonl")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "journal.jsonl").stat().st_size == size
    assert most < 4 * CHUNK_BYTES
