"""Operations on a repository since a moment, from its reflogs and files.

Everything is read as data, as in `repository`: no git runs, and broken files read as absent. If several agents share a
repository, others may have done these operations too.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checkpoints.workspace.repository import GitFolders
from host.folders import below
from host.plain_files import open_plain, read_path, read_up_to
from host.standing import is_folder

MOST_LOG_BYTES = 4 * 1024 * 1024
"""Most of one reflog that is read, from its end: 20,000 lines, more than a run writes."""

MOST_REFS = 2_000
"""Most reflogs that are looked at: those that changed last are first."""

_ENTRY = re.compile(
    r"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) .*> (?P<at>\d{1,12}) [+-]\d{4}(?:\t(?P<what>.*))?"
)


@dataclass(frozen=True, slots=True)
class ReflogEntry:
    """One line of a reflog."""

    old: str
    """Commit id; zeros if there was none."""
    new: str
    at: int
    """Unix time in seconds."""
    what: str
    """Example: `commit: Mend it`."""

    @property
    def begins(self) -> bool:
        """Whether the ref was made by this."""
        return not self.old.strip("0")


@dataclass(frozen=True, slots=True)
class Moved:
    """A ref that was made or moved since."""

    name: str
    """Without what all of its kind begin with. Examples: `main`, `origin/main`."""
    entries: tuple[ReflogEntry, ...]
    """The operations since, oldest first."""

    @property
    def is_new(self) -> bool:
        """Whether it was made since."""
        return self.entries[0].begins


@dataclass(frozen=True, slots=True)
class Traces:
    """The operations that were found."""

    branches: tuple[Moved, ...] = ()
    stashes: tuple[ReflogEntry, ...] = ()
    """Newest first, as git counts them: the first is `stash@{0}`; those of before are not among them."""
    pushes: tuple[Moved, ...] = ()
    """Pushes, by the names of the remote's branches."""
    tags: tuple[str, ...] = ()
    worktrees: tuple[str, ...] = ()
    """Paths of worktrees that were made since."""
    problem: str = ""
    """Why branches, stashes and pushes are not known; empty if they are."""


def traces(folders: GitFolders, since: float) -> Traces:
    """Look what was done since a moment. Blocks.

    Args:
        folders: Of the worktree.
        since: Unix time in seconds.
    """
    logs = folders.common / "logs"
    if not is_folder(logs):
        return Traces(
            tags=_tags(folders, since),
            worktrees=_worktrees(folders, since),
            problem=f"branches, stashes and pushes: {folders.common} keeps no reflogs",
        )
    stash = _entries(logs / "refs" / "stash")
    return Traces(
        tuple(_moved(logs / "refs" / "heads", since)),
        tuple(entry for entry in reversed(stash) if entry.at >= int(since)),
        tuple(
            Moved(ref.name, pushed)
            for ref in _moved(logs / "refs" / "remotes", since)
            if (pushed := tuple(entry for entry in ref.entries if entry.what.startswith("update by push")))
        ),
        _tags(folders, since),
        _worktrees(folders, since),
    )


def _moved(folder: Path, since: float) -> Iterator[Moved]:
    """Yield the refs below a folder of reflogs that changed since, by name."""
    for log in sorted(_changed_files(folder, since)):
        entries = tuple(entry for entry in _entries(log) if entry.at >= int(since))
        if entries:
            yield Moved(str(log.relative_to(folder)), entries)


def _changed_files(folder: Path, since: float) -> list[Path]:
    found: list[tuple[float, Path]] = []
    for path in below(folder):
        try:
            if path.is_file() and not path.is_symlink() and path.stat().st_mtime >= int(since):
                found.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(found, reverse=True)[:MOST_REFS]]


def _entries(log: Path) -> list[ReflogEntry]:
    try:
        with open_plain(log, links=False) as fd:
            os.lseek(fd, max(0, os.fstat(fd).st_size - MOST_LOG_BYTES), os.SEEK_SET)
            text = read_up_to(fd, MOST_LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    matches = (_ENTRY.fullmatch(line) for line in text.split("\n"))
    return [ReflogEntry(one["old"], one["new"], int(one["at"]), one["what"] or "") for one in matches if one]


def _tags(folders: GitFolders, since: float) -> tuple[str, ...]:
    folder = folders.common / "refs" / "tags"
    return tuple(sorted(str(path.relative_to(folder)) for path in _changed_files(folder, since)))


def _worktrees(folders: GitFolders, since: float) -> tuple[str, ...]:
    made = []
    for file in _changed_files(folders.common / "worktrees", since):
        if file.name == "gitdir" and file.parent.parent == folders.common / "worktrees":
            try:
                made.append(os.path.normpath(file.parent / read_path(file, links=False).parent))
            except OSError:
                continue
    return tuple(sorted(made))
