import errno
from pathlib import Path

import pytest

from supervisor.protocol import records
from supervisor.runtime.journal.errors import JournalPoisonedError
from supervisor.runtime.journal.reader import list_segments, read_lines
from supervisor.runtime.journal.recovery import recover
from supervisor.runtime.journal.writing.segment_writer import SegmentFile
from tests.faults import FaultyDisk


def bodies(first: int, last: int, size: int = 10) -> list[tuple[int, bytes]]:
    return [(n, b'{"x":"%b"}' % (b"y" * size)) for n in range(first, last + 1)]


def opened(directory: Path, disk: FaultyDisk, segment_bytes: int = 500) -> SegmentFile:
    return SegmentFile(directory, recover(directory, disk), disk, segment_bytes)


def test_a_batch_ends_where_the_file_is_full_and_the_next_begins_a_new_one(tmp_path: Path) -> None:
    file = opened(tmp_path, FaultyDisk())
    pending = bodies(1, 20)
    while pending:
        batch = file.append(pending)
        assert file.n == batch.n == pending[len(batch.lines) - 1][0]
        del pending[: len(batch.lines)]
    file.close()
    assert all(segment.path.stat().st_size <= 500 for segment in list_segments(tmp_path))
    assert [line.n for line in read_lines(tmp_path)] == list(range(1, 21))


def test_a_record_larger_than_a_file_has_one_of_its_own(tmp_path: Path) -> None:
    file = opened(tmp_path, FaultyDisk())
    for n, size in ((1, 10), (2, 1000), (3, 10)):
        file.append(bodies(n, n, size))
    file.close()
    assert [segment.first for segment in list_segments(tmp_path)] == [1, 2, 3]


def test_a_file_is_synced_before_its_successor_begins(tmp_path: Path) -> None:
    file = opened(tmp_path, disk := FaultyDisk())
    file.append(bodies(1, 2))
    disk.fail_at = disk.operations + 1
    with pytest.raises(JournalPoisonedError):
        file.append(bodies(3, 3, size=1000))
    assert disk.fired == "sync"
    assert len(list_segments(tmp_path)) == 1


def test_half_a_batch_that_found_no_room_is_taken_off_and_goes_in_whole_later(tmp_path: Path) -> None:
    disk = FaultyDisk(code=errno.ENOSPC, landed=0.7)
    file = opened(tmp_path, disk)
    file.append(bodies(1, 1))
    before = list_segments(tmp_path)[0].path.read_bytes()
    disk.fail_at = disk.operations + 1
    with pytest.raises(OSError, match="No space"):
        file.append(bodies(2, 3))
    assert list_segments(tmp_path)[0].path.read_bytes() == before
    assert file.n == 1
    file.append(bodies(2, 3))
    file.close()
    assert [line.n for line in read_lines(tmp_path)] == [1, 2, 3]


def test_half_a_batch_that_cannot_be_taken_off_is_poison(tmp_path: Path) -> None:
    disk = FaultyDisk(code=errno.ENOSPC, mode="dead", landed=0.7)
    file = opened(tmp_path, disk)
    file.append(bodies(1, 1))
    disk.fail_at = disk.operations + 1
    with pytest.raises(JournalPoisonedError):
        file.append(bodies(2, 3))
    file.close()
    found = recover(tmp_path, FaultyDisk())
    assert found.n in {1, 2}
    assert found.torn is not None


def test_it_goes_on_in_the_file_that_was_found(tmp_path: Path) -> None:
    for n in range(1, 4):
        file = opened(tmp_path, FaultyDisk())
        file.append(bodies(n, n))
        file.close()
    assert [segment.first for segment in list_segments(tmp_path)] == [1]
    assert recover(tmp_path, FaultyDisk()).hash == records.line_hash(list(read_lines(tmp_path))[-1].data)
