"""Durable writes: the calls to the kernel after which data survives a power cut."""

import contextlib
import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from checkpoints.errors import StoreFullError

Step = Callable[[str], None]
"""Told of each step before it is done; tests step in there."""


def no_step(_: str) -> None:
    """Do nothing at a step."""


_libc = ctypes.CDLL(None, use_errno=True)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextlib.contextmanager
def room_needed(what: str) -> Iterator[None]:
    """Turn "no space left", "quota exceeded" and "file too large" into an error that says what was being written.

    Raises:
        StoreFullError: There was no room.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise StoreFullError(
            f"There was no room to write {what}: {os.strerror(error.errno)}. Nothing was announced; what was there before is untouched.",
            way_out="Free space on that disk, or lower the number of checkpoints to keep, and try again.",
        ) from error


def write_all(fd: int, data: bytes) -> None:
    """Write all of it; the kernel may take less than it is given."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_place(path: Path) -> None:
    """Make the content of a file durable, or the names in a folder."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that only its owner reads, in the place of one that may be there; not durably."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


def replace_file(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Put a file in place whole: after a crash the old or the new content is there, never a part."""
    new = path.with_name(f"tmp_{path.name}")
    try:
        write_new(new, data)
        if sync:
            sync_place(new)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    if sync:
        sync_place(path.parent)


def sync_filesystem(fd: int) -> None:
    """Make everything on the file system of this descriptor durable: one call for any number of files."""
    if _libc.syncfs(fd) != 0:
        raise OSError(ctypes.get_errno(), "syncfs failed")
