"""The archive of ended agents: cut, damaged, of another version, killed while it is written."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.runtime.journal.archive import ArchivedSummary, ArchiveMark, SummaryArchive, as_mark
from tests.faults import every_fault

ROWS = [b'{"agent":"a%d","words":"%b"}' % (number, b"x" * 40) for number in range(4)]


def archive(directory: Path, version: str = "1") -> SummaryArchive:
    return SummaryArchive(directory, version)


def expected(rows: list[bytes], n: int) -> list[ArchivedSummary]:
    return [ArchivedSummary(n, row) for row in rows]


def test_what_was_written_is_read_and_written_on(tmp_path: Path) -> None:
    one = archive(tmp_path)
    first = one.append(7, ROWS[:2])
    again = archive(tmp_path)
    assert again.read(first).lines == expected(ROWS[:2], 7)
    second = again.append(9, ROWS[2:])
    found = archive(tmp_path).read(second)
    assert (found.lines, found.complete, found.problem) == ([*expected(ROWS[:2], 7), *expected(ROWS[2:], 9)], True, "")
    assert again.append(9, []) == second
    assert as_mark({"size": second.size, "hash": second.hash}) == second


def test_none_is_empty_and_complete_for_who_needs_nothing(tmp_path: Path) -> None:
    found = archive(tmp_path).read()
    assert (found.lines, found.complete, found.problem) == ([], True, "")
    assert not archive(tmp_path).read(ArchiveMark(5, "hash")).complete


@pytest.mark.slow
def test_cut_at_any_byte_its_whole_lines_count_and_more_is_written_behind_them(tmp_path: Path) -> None:
    one = archive(tmp_path)
    marks = [one.append(n, [row]) for n, row in enumerate(ROWS, 1)]
    data = one.path.read_bytes()
    for size in range(len(data)):
        one.path.write_bytes(data[:size])
        again = archive(tmp_path)
        whole = sum(mark.size <= size for mark in marks)
        found = again.read(marks[0])
        assert (found.lines, found.problem) == ([ArchivedSummary(n + 1, ROWS[n]) for n in range(whole)], "")
        assert found.complete == (whole >= 1)
        mark = again.append(99, [b"{}"])
        assert archive(tmp_path).read(mark).complete
        assert archive(tmp_path).read(mark).lines[-1] == ArchivedSummary(99, b"{}")


def test_a_line_with_a_flipped_bit_is_passed_over_and_what_leant_on_it_does_so_no_more(tmp_path: Path) -> None:
    one = archive(tmp_path)
    before = one.append(1, ROWS[:1])
    after = one.append(2, ROWS[1:3])
    data = one.path.read_bytes()
    for place in range(before.size, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        one.path.write_bytes(damaged)
        found = archive(tmp_path).read(after)
        assert not found.complete
        assert found.lines[:1] == expected(ROWS[:1], 1)
        assert all(line in expected(ROWS[:3], 1) + expected(ROWS[:3], 2) for line in found.lines)
        assert len(found.lines) < 3
        assert archive(tmp_path).read(before).complete


def test_lines_that_were_taken_out_or_put_elsewhere_are_noticed(tmp_path: Path) -> None:
    one = archive(tmp_path)
    mark = one.append(1, ROWS)
    lines = one.path.read_bytes().splitlines(keepends=True)
    for others in (lines[1:], [*lines[:2], *lines[3:]], lines[::-1], [*lines, lines[0]][1:]):
        one.path.write_bytes(b"".join(others))
        assert not archive(tmp_path).read(mark).complete


def test_lines_of_another_version_are_passed_over(tmp_path: Path) -> None:
    mark = archive(tmp_path, "1").append(1, ROWS)
    found = archive(tmp_path, "2").read(mark)
    assert (found.lines, found.complete) == ([], False)
    assert "4 lines" in found.problem


def test_forgotten_it_begins_anew(tmp_path: Path) -> None:
    one = archive(tmp_path)
    one.append(1, ROWS)
    one.forget()
    mark = one.append(2, ROWS[:1])
    assert archive(tmp_path).read(mark).lines == expected(ROWS[:1], 2)


@pytest.mark.parametrize("landed", [0.0, 0.5, 1.0])
def test_whatever_fails_what_was_there_before_stands(tmp_path: Path, landed: float) -> None:
    archive(tmp_path).append(1, ROWS[:2])
    for disk in every_fault(errno.ENOSPC, "dead", landed):
        writer = SummaryArchive(tmp_path, "1", disk)
        writer.read()
        try:
            writer.append(2, ROWS[2:])
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017 - the loop's last turn does not raise
        assert archive(tmp_path).read().lines[:2] == expected(ROWS[:2], 1)


WRITER = """
import sys
from pathlib import Path
from supervisor.runtime.journal.archive import SummaryArchive
archive = SummaryArchive(Path(sys.argv[1]), "1")
archive.read()
n = int(sys.argv[2])
while True:
    n += 1
    mark = archive.append(n, [b'{"agent":"a%d","words":"%b"}' % (n, b"x" * 100_000)] * 5)
    print(n, mark.size, mark.hash, flush=True)
"""


def test_killed_at_any_moment_all_that_was_acknowledged_is_there_and_the_next_writes_on(tmp_path: Path) -> None:
    n, written = 0, 0
    for killed in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(n)], stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout is not None
            for _ in range(killed % 3 + 1):
                last = process.stdout.readline().split()
            os.kill(process.pid, signal.SIGKILL)
            rest = [line.split() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        acknowledged = [last, *rest][-1]
        found = archive(tmp_path).read(ArchiveMark(int(acknowledged[1]), acknowledged[2]))
        assert found.complete
        assert found.problem == ""
        assert [line.n for line in found.lines] == sorted(line.n for line in found.lines)
        assert len(found.lines) >= written + 5
        n, written = max(line.n for line in found.lines), len(found.lines)
