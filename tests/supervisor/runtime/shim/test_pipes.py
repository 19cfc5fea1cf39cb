"""Between pipes and files: nothing is lost, nothing is written twice, nothing waits."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.runtime.shim.pipes import RETRY_FIRST_SECONDS, ErrorLog, InputQueue, OutputLog
from supervisor.runtime.shim.process_tree import now


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe, neither of which blocks."""
    ends = os.pipe()
    for fd in ends:
        os.set_blocking(fd, False)
    yield ends
    for fd in ends:
        with contextlib.suppress(OSError):  # the test closed it, or what it tests did
            os.close(fd)


def test_output_is_appended_and_read_back_by_offset(pipe: tuple[int, int], tmp_path: Path) -> None:
    log = OutputLog(pipe[0], str(tmp_path / "out.log"))
    assert not log.pump()
    os.write(pipe[1], b"one\ntwo\n")
    assert log.pump()
    assert (log.size, log.read(4), log.read(8)) == (8, b"two\n", b"")
    os.close(pipe[1])
    assert not log.pump()
    assert log.at_end


def test_what_comes_after_somebody_emptied_the_file_is_found_at_its_offset(
    pipe: tuple[int, int], tmp_path: Path
) -> None:
    log = OutputLog(pipe[0], str(tmp_path / "out.log"))
    os.write(pipe[1], b"one\ntwo\n")
    assert log.pump()
    os.truncate(tmp_path / "out.log", 0)
    os.write(pipe[1], b"three\n")
    assert log.pump()
    assert (log.read(8), log.size) == (b"three\n", 14)


def test_a_full_disk_leaves_the_pipe_alone(pipe: tuple[int, int]) -> None:
    log = OutputLog(pipe[0], "/dev/full")
    os.write(pipe[1], b"x" * 10)
    assert not log.pump()
    assert log.problem == "No space left on device"
    assert 0 < log.retry_at - now() <= RETRY_FIRST_SECONDS
    os.write(pipe[1], b"y")
    assert not log.pump()
    assert os.read(pipe[0], 10) == b"y"
    assert not log.retry()
    assert log.retry_at - now() > RETRY_FIRST_SECONDS
    assert log.size == 0


def test_error_output_that_no_disk_takes_is_counted_and_its_end_kept(pipe: tuple[int, int]) -> None:
    log = ErrorLog(pipe[0], "/dev/full")
    os.write(pipe[1], b"panic")
    assert log.pump()
    assert (log.dropped, log.tail) == (5, b"panic")


def test_a_line_is_taken_once_by_its_key_and_noted(pipe: tuple[int, int], tmp_path: Path) -> None:
    queue = InputQueue(pipe[1], str(tmp_path / "in.log"))
    assert [queue.take("a", b"1\n"), queue.take("a", b"1\n"), queue.take("b", b"2\n")] == ["", "", ""]
    assert os.read(pipe[0], 100) == b"1\n2\n"
    assert (queue.taken, queue.written, queue.waiting) == (2, 2, False)
    notes = [json.loads(line) for line in (tmp_path / "in.log").read_text().splitlines()]
    assert [note["key"] for note in notes] == ["a", "b"]


def test_a_full_disk_costs_the_note_and_not_the_line(pipe: tuple[int, int]) -> None:
    queue = InputQueue(pipe[1], "/dev/full")
    assert queue.take("a", b"1\n") == ""
    assert os.read(pipe[0], 100) == b"1\n"


def test_lines_wait_while_the_reader_does_not_read_and_the_end_waits_behind_them(
    pipe: tuple[int, int], tmp_path: Path
) -> None:
    queue = InputQueue(pipe[1], str(tmp_path / "in.log"))
    queue.take("a", b"x" * 200_000 + b"\n")
    queue.close()
    assert queue.waiting
    got = b""
    while part := os.read(pipe[0], 65536):
        got += part
        queue.flush()
    assert got == b"x" * 200_000 + b"\n"
    assert not queue.waiting


def test_a_reader_that_has_gone_is_no_error_and_takes_no_more(pipe: tuple[int, int], tmp_path: Path) -> None:
    queue = InputQueue(pipe[1], str(tmp_path / "in.log"))
    os.close(pipe[0])
    queue.take("a", b"1\n")
    assert not queue.waiting
    assert "'b' was not taken" in queue.take("b", b"2\n")
    assert queue.take("a", b"1\n") == ""
    assert queue.written == 0
