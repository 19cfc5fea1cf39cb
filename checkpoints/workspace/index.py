"""The paths in git's index: they are tracked, so git does not ignore them, whatever its rules say.

The index is read as data, by libgit2; no git runs. An index that cannot be read (damaged, split, sparse, no plain file)
has no paths: ignored files that were never captured then stay out, as in a repository without an index.
"""

import os
import struct
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from host.plain_files import open_plain, read_plain

MAX_INDEX_BYTES = 256 * 1024 * 1024
"""A larger index names nothing: one entry takes about 100 bytes, so this is for two million files."""

_ASSUMED, _EXTENDED = 0x8000, 0x4000
"""Bits of an entry's flags: that its file is assumed to be as it was, and that there are further flags."""

_SKIPS = 0x40
"""The bit of the further flags' first byte by which the file is passed over."""

Look = tuple[int, int, int]
"""Size, time of change in nanoseconds, and inode of an index: git replaces the file with each change."""


class GitIndex:
    """The index of one repository, read again once its file is another.

    Args:
        folder: Where the repository lies, relative to the workspace; empty for the workspace itself.
        path: The file.
    """

    def __init__(self, folder: bytes, path: Path) -> None:
        self.folder = folder
        self.path = path
        self._look: Look | None = None
        self._index: pygit2.Index | None = None
        self._read = False

    def changed(self) -> bool:
        """Whether the file is another than at the last call; the first call tells nothing new."""
        before, self._look = self._look, _look(self.path)
        if self._look == before:
            return False
        self._read = False
        return True

    def names(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether the index has this path of the workspace, or for a folder something in it."""
        mode = self._mode(path)
        if mode is not None:
            return (mode == FileMode.COMMIT) == is_folder
        return is_folder and self._has_below(path)

    def names_submodule(self, path: bytes) -> bool:
        """Whether the index has this path as a repository of its own."""
        return self._mode(path) == FileMode.COMMIT

    def _mode(self, path: bytes) -> int | None:
        """Return the kind of the entry of this path; None without one."""
        index = self._opened()
        try:
            return None if index is None else index[os.fsdecode(self._inside(path))].mode
        except (pygit2.GitError, KeyError, ValueError):
            return None

    def _has_below(self, folder: bytes) -> bool:
        index = self._opened()
        try:
            return index is not None and _has_below(index, self._inside(folder) + b"/")
        except (pygit2.GitError, IndexError, ValueError):
            return False

    def _inside(self, path: bytes) -> bytes:
        return path[len(self.folder) + 1 :] if self.folder else path

    def names_any(self, path: bytes) -> bool:
        """Whether the index has this path, be it a file or a folder."""
        inside = not self.folder or path.startswith(self.folder + b"/")
        return inside and (self.names(path, is_folder=False) or self.names(path, is_folder=True))

    def _opened(self) -> pygit2.Index | None:
        if not self._read:
            self._read = True
            self._index = _open(self.path)
        return self._index


class GitIndexes:
    """The indexes of a workspace's repository and of those inside it."""

    def __init__(self) -> None:
        self._known: dict[bytes, GitIndex] = {}

    def of(self, folder: bytes, git: Path | None) -> GitIndex | None:
        """Return the index of the repository that lies in this folder; None without a repository.

        Args:
            folder: Relative to the workspace.
            git: The folder in which the worktree keeps its state, if there is one.
        """
        if git is None:
            self._known.pop(folder, None)
            return None
        known = self._known.get(folder)
        if known is None or known.path != git / "index":
            known = self._known[folder] = GitIndex(folder, git / "index")
            known.changed()
        return known

    def renewed(self) -> list[GitIndex]:
        """Return the indexes that are others than at the last call."""
        return [index for index in self._known.values() if index.changed()]

    def forget(self) -> None:
        """Forget those of repositories inside the workspace: a look at everything finds them anew."""
        self._known = {folder: index for folder, index in self._known.items() if not folder}


def unlooked_at(path: Path) -> list[tuple[str, str]]:
    """Return the paths that git was told not to compare with their files, each with the id of what the index has.

    They have the mark `--skip-worktree` or `--assume-unchanged`, which libgit2 does not tell; see gitformat-index(5).

    Raises:
        OSError: The index cannot be read.
        ValueError: It is of another form.
    """
    try:
        return _passed_over(read_plain(path, MAX_INDEX_BYTES))
    except (struct.error, IndexError, ValueError) as error:
        raise ValueError(f"{path} is no index of a form that is known") from error


def _passed_over(data: bytes) -> list[tuple[str, str]]:
    found, at, name = list[tuple[str, str]](), 12, b""
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(signature)
    for _ in range(count):
        flags = int.from_bytes(data[at + 60 : at + 62])
        begin = at + (64 if flags & _EXTENDED else 62)
        skips = flags & _EXTENDED and data[at + 62] & _SKIPS
        if version == 4:  # of the name of the entry before it goes on with, so much is cut off
            cut = data[begin] & 0x7F
            while data[begin] & 0x80:
                begin += 1
                cut = ((cut + 1) << 7) | (data[begin] & 0x7F)
            end = data.index(b"\0", begin + 1)
            name, after = name[: len(name) - cut] + data[begin + 1 : end], end + 1
        else:
            end = data.index(b"\0", begin)
            name, after = data[begin:end], end + 8 - (end - at) % 8
        if skips or flags & _ASSUMED:
            found.append((os.fsdecode(name), data[at + 40 : at + 60].hex()))
        at = after
    return found


class _Readable(pygit2.Index):
    """An index that was read; the base class complains as one is thrown away that could not be."""

    def __del__(self) -> None:
        if hasattr(self, "_index"):
            super().__del__()


def _look(path: Path) -> Look | None:
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino


def _open(path: Path) -> pygit2.Index | None:
    try:
        with open_plain(path) as fd:
            return _Readable(f"/proc/self/fd/{fd}") if os.fstat(fd).st_size <= MAX_INDEX_BYTES else None
    except (OSError, pygit2.GitError):
        return None


def _has_below(index: pygit2.Index, prefix: bytes) -> bool:
    """Whether an entry begins so. Entries are in the order of their bytes, so it is the first that is not before it."""
    low, high = 0, len(index)
    while low < high:
        middle = (low + high) // 2
        if os.fsencode(index[middle].path) < prefix:
            low = middle + 1
        else:
            high = middle
    return low < len(index) and os.fsencode(index[low].path).startswith(prefix)
