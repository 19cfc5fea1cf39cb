"""Lookups of reviews in the file system and git, made at the moment of the request.

Bounded: a link is followed by the kernel's own rules, a file is read up to the limit asked for, and git's index and
ignore rules are read without starting a process. Changes between the lookup and the action are not seen; see
`monitors.review.scene.lookups`.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from host.plain_files import open_plain, read_up_to
from monitors.review.scene.lookups import MISSING, Kind

MAX_NAMES = 10_000
"""Most names read of a directory; those that are asked for have tens."""


class FileFacts:
    """Facts of this machine."""

    def real(self, path: str) -> str:
        """The path with all links in it followed; the path itself where that cannot be said."""
        return self._followed(path, 0)

    def links_within(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the paths within a folder that are links or go through one, with where they lead.

        The folder itself is looked at once for all of them.
        """
        within = self.real(folder)
        for name in names:
            path = f"{within}/{name}"
            if (target := self._followed(path, len(within))) != path:
                yield name, target

    def _followed(self, path: str, known: int) -> str:
        """Return the path with all links in it followed, of which none is in as many characters as are known."""
        if not path.startswith("/") or "\0" in path or "*" in path:
            return path
        try:
            return path if _leads_nowhere_else(path, known) else os.path.realpath(path)
        except (OSError, ValueError):
            return path

    def kind(self, path: str) -> Kind:
        """The kind of file at the path, links followed."""
        try:
            mode = Path(path).stat().st_mode
        except FileNotFoundError:
            return "missing"
        except (OSError, ValueError):
            return "unknown"
        return "directory" if stat.S_ISDIR(mode) else "file"

    def ignored(self, path: str) -> bool | None:
        """Whether git ignores the path, by the rules that captures go by; None outside a repository."""
        if not path.startswith("/") or "\0" in path:
            return None
        from checkpoints.workspace.ignored import is_ignored  # most reviews of a command line ask nothing of git

        try:
            return is_ignored(Path(path))
        except (ValueError, OSError):
            return None

    def text(self, path: str, limit: int) -> str | None:
        """The first `limit` characters of a regular file; None if it is none or cannot be read."""
        try:
            with open_plain(Path(path)) as fd:
                return read_up_to(fd, limit).decode("utf-8", "replace")
        except OSError:
            return None

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted; none if it is no directory or cannot be read."""
        try:
            return sorted(entry.name for entry in islice(Path(path).iterdir(), MAX_NAMES))
        except (OSError, ValueError):
            return []

    def stamp(self, path: str) -> str:
        """A stamp that changes whenever the file at the path does.

        `missing` if there is none, and empty if it is not known.
        """
        try:
            found = Path(path).stat()
        except FileNotFoundError:
            return MISSING
        except (OSError, ValueError):
            return ""
        return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def _leads_nowhere_else(path: str, known: int) -> bool:
    """Whether no part of the path is a link, as is usual: `os.path.realpath` takes three times as long to say so."""
    if path[:2] == "//" or path != os.path.normpath(path):
        return False
    end = known
    while end != len(path):
        end = path.find("/", end + 1)
        end = len(path) if end < 0 else end
        try:
            if stat.S_ISLNK(os.lstat(path[:end]).st_mode):
                return False
        except OSError:
            return True  # nor can anything behind it be looked at
    return True
