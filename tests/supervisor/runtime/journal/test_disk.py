import errno
import stat
from pathlib import Path

import pytest

from supervisor.runtime.journal.disk import REAL_DISK, RealDisk, Reserve, replace_file, write_all
from tests.faults import FaultyDisk, every_fault


def test_a_replaced_file_has_the_new_content_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(REAL_DISK, path, b"one")
    replace_file(REAL_DISK, path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.glob("*.tmp")) == []


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("landed", [0.0, 0.5, 1.0])
def test_whatever_fails_a_replaced_file_is_the_old_one_or_the_new_one(tmp_path: Path, code: int, landed: float) -> None:
    path = tmp_path / "file"
    for disk in every_fault(code, "dead", landed):
        path.write_bytes(b"old content")
        try:
            replace_file(disk, path, b"new content")
        except OSError:
            allowed = {b"old content"} if disk.fired != "sync_directory" else {b"new content"}
        else:
            allowed = {b"new content"}
        assert path.read_bytes() in allowed


def test_a_short_write_is_continued(tmp_path: Path) -> None:
    class ThreeBytesAtATime(RealDisk):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            return super().write(fd, data[:3])

    disk = ThreeBytesAtATime()
    replace_file(disk, tmp_path / "file", b"0123456789")
    assert (tmp_path / "file").read_bytes() == b"0123456789"
    assert callable(write_all)


def test_a_reserve_takes_real_room_and_gives_it_back(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "reserve", 1 << 20)
    assert not reserve.held
    assert reserve.hold()
    assert reserve.hold()
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= 1 << 20
    assert reserve.free()
    assert not reserve.free()
    assert not (tmp_path / "reserve").exists()


def test_a_reserve_that_finds_no_room_leaves_none_taken(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.full = True
    reserve = Reserve(tmp_path / "reserve", 1 << 20, disk)
    assert not reserve.hold()
    assert not (tmp_path / "reserve").exists()
    disk.full = False
    assert reserve.hold()
