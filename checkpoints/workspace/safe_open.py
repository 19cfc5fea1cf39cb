"""Access to the workspace that never leaves it.

Folders are opened one by one, relative to the one above, and links are never followed: whatever an agent swaps
meanwhile, nothing outside the workspace is read or written.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from checkpoints.errors import WorkspaceGoneError
from checkpoints.git.objects import EXECUTABLE, FILE, LINK
from checkpoints.model import Why

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_ATTEMPTS = 3
"""Times a file is read that changes under the reader, before what was read last is taken and named as unsettled."""

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_MAX_OPEN_FOLDERS = 256
"""Of 1,024 descriptors that a process usually has."""


class Content(NamedTuple):
    """The content of a file or link."""

    mode: int
    data: bytes
    settled: bool = True
    linked: bool = False
    """Whether the file has further names, through which it can change unseen."""


class NotCaptured(NamedTuple):
    """Why something that is there is not captured."""

    why: Why
    size_bytes: int = 0


def open_root(path: Path, identity: tuple[int, int] | None = None) -> int:
    """Open the workspace.

    Raises:
        WorkspaceGoneError: It is not there, or is not the folder it was.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorkspaceGoneError(
            f"The workspace {path} cannot be opened: {error.strerror}. Nothing was captured or changed.",
            way_out="Its checkpoints are still there: write one elsewhere with `chaperon rollback --to-new-workspace`.",
        ) from error
    state = os.fstat(fd)
    if identity is not None and (state.st_dev, state.st_ino) != identity:
        os.close(fd)
        raise WorkspaceGoneError(
            f"Another folder stands at {path} than the one that was watched. Nothing was captured or changed.",
            way_out="Its checkpoints are still there: write one elsewhere with `chaperon rollback --to-new-workspace`.",
        )
    return fd


def open_folder(name: bytes, above: int) -> int | None:
    """Open a folder in another; None if there is none, or what is there is no folder.

    Raises:
        PermissionError: It may not be read.
    """
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=above)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise


class Folders:
    """Folders below an open root, each opened once. A context manager: it closes what it opened, but not the root."""

    def __init__(self, root: int) -> None:
        """Open below this descriptor."""
        self._root = root
        self._open: dict[bytes, int] = {}

    def __enter__(self) -> "Folders":
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def forget(self) -> None:
        """Close all, so that what comes next is looked up anew."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def trim(self) -> None:
        """Close all if there are many. Call it between paths, while no descriptor of this object is in use."""
        if len(self._open) > _MAX_OPEN_FOLDERS:
            self.forget()

    def get(self, path: bytes) -> int | None:
        """Return the descriptor of a folder; None if there is none or it may not be read. Owned by this object."""
        if not path:
            return self._root
        found = self._open.get(path)
        if found is not None:
            return found
        above, _, name = path.rpartition(b"/")
        parent = self.get(above)
        if parent is None:
            return None
        with contextlib.suppress(PermissionError):
            found = open_folder(name, parent)
        if found is not None:
            self._open[path] = found
        return found


def kind_at(name: bytes, folder: int) -> int | None:
    """Return the type bits of what has this name, as in `st_mode`; None if nothing has."""
    try:
        return stat.S_IFMT(os.lstat(name, dir_fd=folder).st_mode)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise


def read(name: bytes, folder: int, limit: int) -> Content | NotCaptured | None:
    """Return what a file or link holds; None if it is gone, or is a folder.

    A file that changes while it is read is read again, so that what is captured is what the file held at one moment.
    """
    try:
        return _read_file(name, folder, limit)
    except PermissionError:
        return NotCaptured(Why.UNREADABLE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return _read_link(name, folder)
        if error.errno == errno.ENXIO:
            return NotCaptured(Why.SPECIAL)
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise


def _read_link(name: bytes, folder: int) -> Content | None:
    try:
        return Content(LINK, os.readlink(name, dir_fd=folder))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINVAL, errno.ENOTDIR):
            return None
        raise


def _read_file(name: bytes, folder: int, limit: int) -> Content | NotCaptured | None:
    fd = os.open(name, _FILE_FLAGS, dir_fd=folder)
    try:
        for _ in range(_ATTEMPTS):
            before = os.fstat(fd)
            if stat.S_ISDIR(before.st_mode):
                return None
            if not stat.S_ISREG(before.st_mode):
                return NotCaptured(Why.SPECIAL)
            if before.st_size > limit:
                return NotCaptured(Why.TOO_LARGE, before.st_size)
            data = _read_whole(fd, before.st_size, limit)
            after = os.fstat(fd)
            settled = len(data) == after.st_size and _moment(before) == _moment(after)
            if settled:
                break
        if len(data) > limit:
            return NotCaptured(Why.TOO_LARGE, after.st_size)
        mode = EXECUTABLE if after.st_mode & stat.S_IXUSR else FILE
        return Content(mode, data, settled, after.st_nlink > 1)
    finally:
        os.close(fd)


def _moment(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _read_whole(fd: int, expected: int, limit: int) -> bytes:
    data = os.pread(fd, expected + 1, 0)
    if len(data) == expected:
        return data
    pieces, total = [data], len(data)
    while total <= limit and (piece := os.pread(fd, 1 << 20, total)):
        pieces.append(piece)
        total += len(piece)
    return b"".join(pieces)


def names_in(folder: int) -> Iterator[tuple[bytes, os.DirEntry[str]]]:
    """Return what lies in an open folder, names as bytes, in no order."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield os.fsencode(entry.name), entry
