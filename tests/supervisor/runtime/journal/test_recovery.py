import errno
from pathlib import Path

import pytest

from host.durable import REAL_DISK
from supervisor.protocol import records
from supervisor.runtime.journal.reader import JournalDamagedError, read_lines, segment_path
from supervisor.runtime.journal.recovery import recover
from tests.faults import FaultyDisk, every_fault
from tests.journal_files import write_journal


def lines_of(directory: Path) -> list[bytes]:
    return [line.data for line in read_lines(directory)]


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_a_whole_journal_is_found_as_it_is(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 3, 2)
    before = content(tmp_path)
    found = recover(tmp_path, REAL_DISK)
    assert (found.records, found.n, found.hash) == (5, 5, records.line_hash(lines[-1]))
    assert (found.segment, found.size) == (segment_path(tmp_path, 4), len(before[segment_path(tmp_path, 4).name]))
    assert found.torn is None
    assert content(tmp_path) == before


def test_no_journal_is_an_empty_one(tmp_path: Path) -> None:
    found = recover(tmp_path / "journal", REAL_DISK)
    assert (found.records, found.n, found.hash, found.segment) == (0, 0, records.ORIGIN, None)
    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("sizes", [(4,), (2, 2)])
def test_cut_at_any_byte_it_has_exactly_the_whole_records_and_the_rest_is_set_aside(
    tmp_path: Path, sizes: tuple[int, ...]
) -> None:
    lines = write_journal(tmp_path, *sizes)
    last = max(tmp_path.glob("*.jsonl"))
    whole = last.read_bytes()
    before_last = sum(sizes[:-1])
    for size in range(len(whole)):
        last.write_bytes(whole[:size])
        kept = before_last + max(0, whole[:size].count(b"\n") - 1)
        start = whole.rfind(b"\n", 0, size) + 1
        found = recover(tmp_path, FaultyDisk())
        assert found.n == kept
        assert lines_of(tmp_path) == lines[:kept]
        if size == start and start:
            assert found.torn is None
        else:
            assert found.torn is not None
            assert found.torn.path.read_bytes() == whole[start:size]
            assert (found.torn.size, found.torn.offset, found.torn.segment) == (size - start, start, last)
            found.torn.path.unlink()
        assert recover(tmp_path, FaultyDisk()).torn is None


@pytest.mark.slow
def test_a_flipped_bit_anywhere_before_the_last_line_stops_the_start_or_costs_the_agent_of_its_line(
    tmp_path: Path,
) -> None:
    lines = write_journal(tmp_path, 2, 3)
    paths = sorted(tmp_path.glob("*.jsonl"))
    first = 1
    costs = 0
    for path in paths:
        whole = path.read_bytes()
        end = len(whole) - (len(lines[-1]) if path == paths[-1] else 0)
        for place in range(end):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            path.write_bytes(damaged)
            before = content(tmp_path)
            line = whole[:place].count(b"\n") + 1
            begin = whole[:place].rfind(b"\n") + 1
            try:
                found, error = recover(tmp_path, FaultyDisk()), None
            except JournalDamagedError as raised:
                found, error = None, raised
            if error is not None:
                assert error.line == line
                assert str(error.path) in str(error)
                assert error.path == path
                assert content(tmp_path) == before
                agent_ends = whole.find(b'","at":', begin)
                assert line == 1 or place <= agent_ends or whole[place] == 10, "the line told its agent"
            else:
                assert found is not None
                costs += 1
                (damage,) = found.damage
                assert (damage.first, damage.lines) == (first + line - 2, 1)
                assert damage.kept[0].read_bytes() == damaged
                now = lines_of(tmp_path)
                assert [n for n, pair in enumerate(zip(lines, now, strict=True), 1) if pair[0] != pair[1]] == [
                    damage.first
                ]
                damage.kept[0].unlink()
        path.write_bytes(whole)
        first += whole.count(b"\n") - 1
    assert costs > 100


def test_a_flipped_bit_in_the_last_line_is_never_read_as_a_record(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 3)
    path = segment_path(tmp_path, 1)
    whole = path.read_bytes()
    for place in range(len(whole) - len(lines[-1]), len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        found = recover(tmp_path, FaultyDisk())
        assert found.torn is not None
        assert found.torn.path.read_bytes() == damaged[-len(lines[-1]) :]
        assert lines_of(tmp_path) == lines[:2]


def test_zeros_that_the_power_left_behind_the_last_record_are_set_aside(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 3)
    path = segment_path(tmp_path, 1)
    path.write_bytes(path.read_bytes() + lines[2][:40] + bytes(5000) + b"\n" + bytes(100))
    found = recover(tmp_path, FaultyDisk())
    assert found.torn is not None
    assert found.torn.size == 40 + 5000 + 1 + 100
    assert lines_of(tmp_path) == lines


@pytest.mark.parametrize("change", ["double the last", "leave out the second last", "swap the last two"])
def test_intact_lines_out_of_place_stop_the_start(tmp_path: Path, change: str) -> None:
    write_journal(tmp_path, 4)
    path = segment_path(tmp_path, 1)
    header, *rest = path.read_bytes().splitlines(keepends=True)
    changed = {
        "double the last": [*rest, rest[-1]],
        "leave out the second last": [*rest[:-2], rest[-1]],
        "swap the last two": [*rest[:-2], rest[-1], rest[-2]],
    }[change]
    path.write_bytes(header + b"".join(changed))
    with pytest.raises(JournalDamagedError, match="sequence number"):
        recover(tmp_path, FaultyDisk())


def test_a_second_tail_at_the_same_byte_does_not_overwrite_the_first(tmp_path: Path) -> None:
    write_journal(tmp_path, 2)
    path = segment_path(tmp_path, 1)
    whole = path.read_bytes()
    for tail in (b"first", b"second", b"first"):
        path.write_bytes(whole + tail)
        recover(tmp_path, FaultyDisk())
    assert sorted(aside.read_bytes() for aside in tmp_path.glob("*.torn")) == [b"first", b"second"]


def test_files_before_a_trusted_record_are_not_read(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 3, 2, 2)
    segment_path(tmp_path, 1).write_bytes(b"gone bad\n")
    found = recover(tmp_path, FaultyDisk(), trusted=4)
    assert found.n == 7
    assert found.hash == records.line_hash(lines[-1])
    with pytest.raises(JournalDamagedError):
        recover(tmp_path, FaultyDisk(), trusted=2)


def test_a_header_torn_behind_a_trusted_record_goes_on_in_the_file_before(tmp_path: Path) -> None:
    lines = write_journal(tmp_path, 3, 1)
    segment_path(tmp_path, 4).write_bytes(b'{"first":4,"for')
    found = recover(tmp_path, FaultyDisk(), trusted=3)
    assert (found.n, found.segment) == (3, segment_path(tmp_path, 1))
    assert lines_of(tmp_path) == lines[:3]


@pytest.mark.parametrize("torn_at", [5, 400])
@pytest.mark.parametrize("landed", [0.0, 0.5, 1.0])
def test_wherever_a_recovery_dies_the_next_one_completes_it(tmp_path: Path, torn_at: int, landed: float) -> None:
    lines = write_journal(tmp_path, 2, 3)
    path = segment_path(tmp_path, 3)
    whole = path.read_bytes()[:torn_at]
    start = whole.rfind(b"\n") + 1
    for disk in every_fault(errno.EIO, "dead", landed):
        path.write_bytes(whole)
        try:
            recover(tmp_path, disk)
        except OSError:
            recover(tmp_path, FaultyDisk())
        assert lines_of(tmp_path) == lines[: 2 + max(0, whole.count(b"\n") - 1)]
        assert [aside.read_bytes() for aside in tmp_path.glob("*.torn")] == [whole[start:]]
        assert list(tmp_path.glob("*.tmp")) == []
        for aside in tmp_path.glob("*.torn"):
            aside.unlink()
