"""Files that others may have put there: opened without a wait, and read up to a bound.

What stands at a path that an agent or another program can write may be a named pipe, whose opening waits for a writer
for ever, a device without an end, or a file that grows under its reader.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

MOST_PATH_BYTES = 4096
"""Most of a path: PATH_MAX of the kernel."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotPlainError(OSError):
    """A pipe, a socket, a device or a folder stands where a plain file was to be read."""


class TooLargeError(OSError):
    """A file holds more than its reader takes."""


@contextlib.contextmanager
def open_plain(path: bytes | Path, *, links: bool = True, below: int | None = None) -> Iterator[int]:
    """Open a plain file to read; its descriptor is closed at the end, and at once if it is none.

    Args:
        path: The file's.
        links: Whether a link at the end of the path is followed.
        below: The descriptor of the folder from which a relative path goes; None for the working directory.

    Raises:
        NotPlainError: It is no plain file.
        OSError: It cannot be opened, also as it is a link that is not to be followed (`ELOOP`) or its name holds a NUL.
    """
    try:
        before = _kind(path, links, below)
        if not stat.S_ISLNK(before):  # a pipe that is opened lets go on who waits for a reader, and a device may act
            _refuse_unless_plain(before, path)
        fd = os.open(path, _FLAGS if links else _FLAGS | os.O_NOFOLLOW, dir_fd=below)
    except ValueError as error:
        raise FileNotFoundError(errno.ENOENT, "no file's name holds a NUL", path) from error
    try:
        _refuse_unless_plain(os.fstat(fd).st_mode, path)  # it may be another one by now
        os.set_blocking(fd, True)  # who looks for reads in an event loop passes over what does not block
        yield fd
    finally:
        os.close(fd)


def _kind(path: bytes | Path, links: bool, below: int | None) -> int:
    """Return the mode of what a path names, by a descriptor that opens nothing: `os.stat` counts as blocking."""
    named = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW), dir_fd=below)
    try:
        return os.fstat(named).st_mode
    finally:
        os.close(named)


def _refuse_unless_plain(mode: int, path: bytes | Path) -> None:
    if not stat.S_ISREG(mode):
        raise NotPlainError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "it is no plain file", path)


def read_up_to(fd: int, most_bytes: int) -> bytes:
    """Read an open file from where it stands, but no more than so many bytes."""
    pieces = []
    while most_bytes > 0 and (piece := os.read(fd, most_bytes)):
        pieces.append(piece)
        most_bytes -= len(piece)
    return b"".join(pieces)


def read_plain(path: bytes | Path, most_bytes: int, *, links: bool = True) -> bytes:
    """Return the content of a plain file.

    Args:
        path: The file's.
        most_bytes: What it may hold.
        links: Whether a link at the end of the path is followed.

    Raises:
        NotPlainError: It is no plain file.
        TooLargeError: It holds more.
        OSError: It cannot be read.
    """
    with open_plain(path, links=links) as fd:
        content = read_up_to(fd, most_bytes + 1)
    if len(content) > most_bytes:
        raise TooLargeError(errno.EFBIG, f"it holds more than {most_bytes} bytes", path)
    return content


def read_path(path: Path, *, links: bool = True) -> Path:
    """Return the path that a file holds, as git's `commondir` and `gitdir` do, without the white space around it.

    Raises:
        NotPlainError: It is no plain file.
        TooLargeError: It holds more than a path has.
        OSError: It cannot be read.
    """
    return Path(os.fsdecode(read_plain(path, MOST_PATH_BYTES, links=links).strip()))
