"""Lookups of reviews in the file system and git, made at the moment of the request.

Bounded: a link is followed by the kernel's own rules, a file is read up to the limit asked for, and git's index and
ignore rules are read by libgit2 without starting a process. Changes between the lookup and the action are not seen; see
`monitors.review.scene.lookups`.
"""

import os
import stat
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from monitors.review.scene.lookups import MISSING, Kind

if TYPE_CHECKING:
    import pygit2  # at run time only where git is asked: most reviews of a command line need none

MAX_NAMES = 10_000
"""Most names read of a directory; those that are asked for have tens."""
MAX_REPOSITORIES = 40
"""Repositories kept open at once; agents work in a few worktrees."""


class FileFacts:
    """Facts of this machine. One per daemon; holds git repositories open between questions."""

    def __init__(self) -> None:
        self._repositories: dict[str, pygit2.Repository | None] = {}

    def real(self, path: str) -> str:
        """The path with all links in it followed; the path itself where that cannot be said."""
        if not path.startswith("/") or "\0" in path or "*" in path:
            return path
        try:
            return os.path.realpath(path)
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
        """Whether git ignores the path; None outside a repository."""
        repository = self._repository(path)
        if repository is None or repository.workdir is None:
            return None
        from pygit2 import GitError

        try:
            relative = os.path.relpath(path, repository.workdir)
            return bool(repository.path_is_ignored(relative)) if not relative.startswith("..") else None
        except (ValueError, OSError, GitError):
            return None

    def text(self, path: str, limit: int) -> str | None:
        """The first `limit` characters of a regular file; None if it is none or cannot be read."""
        try:
            if not stat.S_ISREG(Path(path).stat().st_mode):
                return None
            with Path(path).open("rb") as file:
                return file.read(limit).decode("utf-8", "replace")
        except (OSError, ValueError):
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

    def _repository(self, path: str) -> "pygit2.Repository | None":
        """The repository around a path, remembered by directory."""
        directory = str(Path(path).parent) if path.startswith("/") and "\0" not in path else ""
        if not directory:
            return None
        if directory not in self._repositories:
            from checkpoints.workspace.repository import open_worktree

            if len(self._repositories) >= MAX_REPOSITORIES:
                self._repositories.clear()
            self._repositories[directory] = open_worktree(Path(directory))
        return self._repositories[directory]
