"""Files that programs of people obey later, found in a workspace by a bounded look at the disk. Blocks.

Such a file is new if the kernel changed its entry since a moment: that time cannot be set by a program, unlike the time
of a file's content. Of git's configuration only the keys count whose value git runs, or reads further keys from.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from host.plain_files import open_plain, read_up_to
from supervisor.runtime.sandbox.layout import OF_A_WORKTREE, RUN_LATER

MOST_ENTRIES = 5_000
"""Entries of folders that one look goes through: 15 ms on a warm disk."""

DEEPEST = 4
"""Folders below the workspace in which entries are looked at."""

MOST_FOUND = 50
"""Files that one look returns."""

MOST_WITHIN = 1_000
"""Entries that one look takes up in one folder of an editor and the like; ordinary ones have some dozen."""

MOST_WITHIN_ALL = 20_000
"""Entries that it takes up in all of them: 60 ms on a warm disk."""

MOST_REPOSITORIES = 50
"""Repositories below a workspace whose configuration one look reads."""

MOST_KEYS = 500
"""Keys that one look returns."""

MOST_CONFIGURATION = 65_536
"""Bytes of a configuration of git that are read; ordinary ones have some hundred."""

READ_BY_GIT = (".gitattributes", ".gitignore", ".gitmodules")
"""Files of a folder that git reads. One that is a named pipe holds up a person's git for ever, as one within `.git`
does."""

PASSED_OVER = frozenset(
    {"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", "target", "site-packages"}
)
"""Folders that hold no project of a person's own, and most of the entries of a workspace."""

_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?")

RUN_BY_GIT = re.compile(
    r"core\.(?:hookspath|fsmonitor|sshcommand|pager|editor|askpass|gitproxy|worktree|attributesfile|alternaterefscommand)"
    r"|sequence\.editor|pager\..+|alias\..+|include\.path|includeif\..+\.path|extensions\.worktreeconfig"
    r"|(?:diff|difftool|merge|mergetool|filter|browser|man|guitool|trailer|tar|interactive)\..*"
    r"(?:command|cmd|textconv|driver|clean|smudge|process|external|path|difffilter)"
    r"|diff\.external|gpg\..*program|credential(?:\..+)?\.helper|(?:remote|url)\..+\.(?:vcs|uploadpack|receivepack|insteadof|pushinsteadof)"
    r"|submodule\..+\.update|uploadpack\.packobjectshook|sendemail\..*cmd|web\.browser|instaweb\..+|init\.templatedir"
)
"""Keys of git, in lower case, whose value is a program, or names a place with further keys or programs."""


@dataclass(frozen=True, slots=True)
class Planted:
    """Files and keys that a look found."""

    files: tuple[str, ...] = ()
    """Paths that are new, absolute, at most `MOST_FOUND`."""
    keys: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    """Keys of git whose value is run, each with the file that has it and its value, whenever they came there."""


def look(workspace: Path, checkout: Path, since: float, *, deep: bool) -> Planted:
    """Look for files that are obeyed later, and for git's own.

    Args:
        workspace: Where an agent works.
        checkout: The main checkout of its repository; the same, unless it is a worktree.
        since: Unix time from which entries are new.
        deep: Whether to look into folders below the workspace too.
    """
    seen = _Look(since)
    folders = _folders(workspace) if deep else iter([workspace])
    left, repositories = MOST_ENTRIES, MOST_REPOSITORIES
    for folder in folders:
        for name in RUN_LATER:
            seen.path(folder / name)
        if folder == workspace:
            seen.repository(folder, checkout)
        elif repositories and _kind(folder / ".git") is not None:
            repositories -= 1
            seen.repository(folder, folder)
        left -= 1
        if len(seen.found) >= MOST_FOUND or left < 0:
            break
    return Planted(tuple(seen.found), frozenset(seen.keys))


def _folders(workspace: Path) -> Iterator[Path]:
    """Yield the workspace and folders below it, nearest first; links are not followed."""
    level, left = [workspace], MOST_ENTRIES
    for _ in range(DEEPEST):
        yield from level
        below: list[Path] = []
        for folder in level:
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        left -= 1
                        if left < 0:
                            yield from below
                            return
                        if _may_hold(entry):
                            below.append(Path(entry.path))
            except OSError:
                continue  # it went meanwhile, or its owner lets nobody look
        level = below


def _may_hold(entry: "os.DirEntry[str]") -> bool:
    named = entry.name in PASSED_OVER or entry.name in RUN_LATER or entry.name == ".git"
    return not named and entry.is_dir(follow_symlinks=False)


@dataclass(slots=True)
class _Look:
    """Findings of one look, and the entries that it may still take up."""

    since: float
    found: dict[str, None] = field(default_factory=dict)
    keys: set[tuple[str, str]] = field(default_factory=set)
    left: int = MOST_WITHIN_ALL
    left_here: int = 0

    def repository(self, folder: Path, checkout: Path) -> None:
        """Look at what git obeys in a folder's repository."""
        link = folder / ".git"
        kind = _kind(link)
        if kind is not None and not stat.S_ISDIR(kind):
            self.path(link)
        common = checkout / ".git"
        for name in (*OF_A_WORKTREE[:1], "info/attributes", "objects/info/alternates"):
            self.path(common / name)
        for path in (*_entries(common), *_entries(common / "info"), *(folder / name for name in READ_BY_GIT)):
            if stat.S_ISFIFO(_kind(path) or 0):
                self.path(path)
        hooks = common / "hooks"
        if stat.S_ISLNK(_kind(hooks) or 0):
            self.path(hooks)
        for path in _entries(hooks):
            if not path.name.endswith(".sample"):
                self.path(path)
        for name in ("config", "config.worktree"):
            for key, value in _keys(common / name):
                if len(self.keys) >= MOST_KEYS:
                    return
                self.keys.add((f"{common / name}: {key}", value))

    def path(self, path: Path) -> None:
        """Note a path if its entry changed since then: a file, or what of a folder did, or a folder moved there."""
        about = self._folder(path)
        if about is None:
            return
        before, self.left_here = len(self.found), MOST_WITHIN
        for entry in _entries(path):
            self._within(entry)
        # An entry that is made or taken away sets both times of a folder; a folder that is moved has its own changed
        # alone.
        alone = len(self.found) == before and about.st_ctime_ns > about.st_mtime_ns
        if alone and about.st_ctime >= self.since:
            self._note(path)

    def _within(self, path: Path, depth: int = 2) -> None:
        if min(self.left, self.left_here) <= 0 or len(self.found) >= MOST_FOUND:
            return
        self.left -= 1
        self.left_here -= 1
        if self._folder(path) is not None:
            for entry in _entries(path) if depth else ():
                self._within(entry, depth - 1)

    def _folder(self, path: Path) -> os.stat_result | None:
        """Return what is known of a folder; anything else is noted if it is new, and None."""
        try:
            about = path.lstat()
        except OSError:
            return None
        if stat.S_ISDIR(about.st_mode):
            return about
        if about.st_ctime >= self.since:
            self._note(path)
        return None

    def _note(self, path: Path) -> None:
        if len(self.found) < MOST_FOUND:
            self.found[str(path)] = None


def _entries(folder: Path) -> list[Path]:
    """Return the entries of a folder, at most 200; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry, _ in zip(entries, range(200), strict=False))
    except OSError:
        return []


def _kind(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except OSError:
        return None


def _keys(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the keys of a configuration whose value git runs.

    Each line counts as if it were a key, so that no key hides behind a way of writing that git reads otherwise.
    """
    try:
        with open_plain(path) as fd:
            text = read_up_to(fd, MOST_CONFIGURATION).decode(errors="replace")
    except OSError:
        return
    section = ""
    for line in text.lstrip("\ufeff").splitlines():
        rest = line
        while head := _SECTION.match(rest):
            section = f"{head[1]}.{head[2]}." if head[2] is not None else f"{head[1]}."
            rest = rest[head.end() :]
        key = _KEY.match(rest)
        if key is not None and RUN_BY_GIT.fullmatch(f"{section}{key[1]}".lower()):
            yield f"{section}{key[1]}", (key[2] or "").strip()
