"""Files that survive: the few system calls that durable files need, and how to put them together.

`Disk` is an interface so that a test can make the N-th call fail, or land only half of a write, and then look at what
a restart finds. Everything durable goes through it; reading does not.
"""

import contextlib
import ctypes
import errno
import os
from pathlib import Path
from typing import Protocol

from host import identity


class Disk(Protocol):
    """The system calls of durable files. Each raises OSError as the kernel does."""

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        """Open a file and return its descriptor."""
        ...

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write some of the data, from its beginning, and return how many bytes."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to this many bytes."""
        ...

    def allocate(self, fd: int, size: int) -> None:
        """Take room on the disk for this many bytes, whether or not they are ever written."""
        ...

    def sync(self, fd: int) -> None:
        """Bring the file's bytes, and its size, to the disk. After a failure the file must not be trusted again."""
        ...

    def close(self, fd: int) -> None:
        """Give the descriptor back."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Put a file in another's place at once."""
        ...

    def unlink(self, path: Path) -> None:
        """Remove a name."""
        ...

    def make_directory(self, path: Path) -> None:
        """Make a directory and those above it, for the owner alone; nothing happens if it exists."""
        ...

    def sync_directory(self, path: Path) -> None:
        """Bring the directory's names to the disk."""
        ...


class RealDisk:
    """The kernel's own."""

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        """Open a file; no child inherits the descriptor."""
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Hand bytes to the kernel: from then on they outlive this process, not yet the machine."""
        return os.write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file."""
        os.ftruncate(fd, size)

    def allocate(self, fd: int, size: int) -> None:
        """Take room for real blocks."""
        os.posix_fallocate(fd, 0, size)

    def sync(self, fd: int) -> None:
        """Sync data and size, not times: `fdatasync`."""
        os.fdatasync(fd)

    def close(self, fd: int) -> None:
        """Close the descriptor."""
        os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        """Rename within one file system."""
        source.rename(target)

    def unlink(self, path: Path) -> None:
        """Remove a name."""
        path.unlink()

    def make_directory(self, path: Path) -> None:
        """Make a directory of mode 0700."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def sync_directory(self, path: Path) -> None:
        """Sync a directory by a descriptor of its own."""
        sync_path(path)


REAL_DISK = RealDisk()

TEMPORARY = ".tmp"
"""Ending of a file's name until the file is whole."""

EARLIER_TEMPORARY = "tmp_"
"""Beginning of such names in stores of checkpoints, up to version 0.1."""

_libc = ctypes.CDLL(None, use_errno=True)


def write_all(fd: int, data: bytes | memoryview, *, disk: Disk = REAL_DISK) -> None:
    """Write all bytes; a short write is continued.

    Raises:
        OSError: Some of the bytes may be in the file, which the error names.
    """
    view = memoryview(data)
    try:
        while view:
            view = view[disk.write(fd, view) :]
    except OSError as error:  # the kernel's names no file, and whoever reads it must know where room is needed
        error.filename = error.filename or _path_of(fd)
        raise


def _path_of(fd: int) -> str | None:
    """Return the path of an open file; None if it has none, as a pipe, or is not known."""
    try:
        path = Path(f"/proc/self/fd/{fd}").readlink()
    except OSError:
        return None
    return str(path) if path.is_absolute() else None


def write_new(path: Path, data: bytes, *, mode: int = 0o600, sync: bool = False, disk: Disk = REAL_DISK) -> None:
    """Write a file, instead of one that may be there; its name is not made durable.

    Raises:
        OSError: A part of it may be there. A link in its place is not followed.
    """
    fd = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    try:
        write_all(fd, data, disk=disk)
        if sync:
            disk.sync(fd)
    finally:
        disk.close(fd)


def write_program(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write a program, with its folder; where chaperon has a user of its own, the person's processes only run it.

    Raises:
        OSError: A part of it may be there.
    """
    with identity.own_files():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        write_new(path, data, mode=0o500, sync=sync)
        for each, mode in (
            ((path.parent.parent, 0o711), (path.parent, 0o711), (path, 0o555)) if identity.is_apart() else ()
        ):
            each.chmod(mode)


def replace_file(path: Path, data: bytes, *, sync: bool = True, disk: Disk = REAL_DISK) -> None:
    """Give a file this content so that after any crash it has the old content or the new, whole.

    Args:
        path: The file; its directory must be there.
        data: Its whole content.
        sync: Whether it must also hold if the power goes.
        disk: Where.

    Raises:
        OSError: The file has its old content; after a failed last step, which syncs the directory, either.
    """
    temporary = path.with_name(f"{path.name}{TEMPORARY}")
    try:
        write_new(temporary, data, sync=sync, disk=disk)
        disk.rename(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            disk.unlink(temporary)
        raise
    if sync:
        disk.sync_directory(path.parent)


def is_temporary(name: str) -> bool:
    """Whether a file of this name was left by a `replace_file` that a crash cut off."""
    return name.endswith(TEMPORARY) or name.startswith(EARLIER_TEMPORARY)


def sync_path(path: Path) -> None:
    """Make the content of a file durable, or the names in a directory."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_filesystem(fd: int) -> None:
    """Make everything on the file system of this descriptor durable: one call for any number of files."""
    if _libc.syncfs(fd) != 0:
        raise OSError(ctypes.get_errno(), "syncfs failed")


class Reserve:
    """Room on the disk, taken while there is some and given up when there is none, for what must still be written.

    Args:
        path: The file that takes the room.
        size: How much, in bytes.
        disk: Where.
    """

    def __init__(self, path: Path, size: int, disk: Disk = REAL_DISK) -> None:
        self._path, self._size, self._disk = path, size, disk

    def hold(self) -> bool:
        """Take the room, if it is not held already; whether it is held now."""
        if self.held:
            return True
        try:
            self._take()
        except OSError:
            self.free()
            return False
        return True

    def free(self) -> bool:
        """Give the room up; whether there was any."""
        try:
            self._disk.unlink(self._path)
        except OSError:
            return False
        return True

    @property
    def held(self) -> bool:
        """Whether the room is taken."""
        try:
            return self._path.stat().st_size == self._size
        except OSError:
            return False

    def _take(self) -> None:
        # Asked first, so that trying does not take the last room from others for a moment.
        room = os.statvfs(self._path.parent)
        if room.f_bavail * room.f_frsize < self._size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fd = self._disk.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            self._disk.allocate(fd, self._size)
        finally:
            self._disk.close(fd)
