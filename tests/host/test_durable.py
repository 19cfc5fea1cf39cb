import contextlib
import errno
import stat
from pathlib import Path

import pytest

from host.durable import RealDisk, Reserve, is_temporary, replace_file, write_new
from tests.faults import FaultyDisk, every_fault


def test_a_replaced_file_has_the_new_content_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"one")
    replace_file(path, b"two")
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
            replace_file(path, b"new content", disk=disk)
        except OSError:
            allowed = {b"old content"} if disk.fired != "sync_directory" else {b"new content"}
        else:
            allowed = {b"new content"}
        assert path.read_bytes() in allowed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the machine has no full device")
def test_an_error_of_a_write_names_the_file_where_room_is_missing() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'") as failed:
        write_new(Path("/dev/full"), b"content")
    assert failed.value.filename == "/dev/full"


def test_a_short_write_is_continued(tmp_path: Path) -> None:
    class ThreeBytesAtATime(RealDisk):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            return super().write(fd, data[:3])

    disk = ThreeBytesAtATime()
    replace_file(tmp_path / "file", b"0123456789", disk=disk)
    assert (tmp_path / "file").read_bytes() == b"0123456789"


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


def test_what_a_crash_leaves_of_a_replaced_file_is_known_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for disk in every_fault(errno.EIO, "dead", 0.5):
        with contextlib.suppress(OSError):
            replace_file(folder / "file", b"new", disk=disk)
        assert {path.name for path in folder.iterdir() if not is_temporary(path.name)} <= {"file"}
    assert is_temporary("tmp_file"), "a store of an earlier version has these"
    assert not is_temporary("tmp")


def test_a_file_is_written_in_the_place_of_a_link_and_never_through_it(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "file.tmp"
    target.write_bytes(b"kept")
    link.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        write_new(link, b"new")
    with pytest.raises(OSError, match="symbolic links"):
        replace_file(tmp_path / "file", b"new")
    assert target.read_bytes() == b"kept"
    replace_file(tmp_path / "file", b"new")  # what was in the way is gone: it was a temporary's name
    assert (tmp_path / "file").read_bytes() == b"new"
