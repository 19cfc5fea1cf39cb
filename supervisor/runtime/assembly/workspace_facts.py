"""Facts about a workspace for agents: similar names, moves and changes by git, owners and modes, installed packages.

They are looked up during the choice of an intervention, in the event loop, so each lookup is bounded: a few thousand
directory entries, a few hundred commits. Facts beyond the bounds are not found, and the agent gets nothing about them.
"""

import difflib
import os
import re
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from grp import getgrgid
from pathlib import Path
from pwd import getpwuid

import orjson
import pygit2

from checkpoints.workspace.repository import open_worktree
from host.cut_waits import waits_cut
from host.plain_files import read_plain

MOST_PACKAGE_BYTES = 2**20
"""Most of a `package.json` that is read for a version; those of large packages have some 20 KB."""

MOST_ENTRIES = 3_000
"""Directory entries looked at for names alike, nearest directories first: 40 ms on a warm disk."""

MOST_COMMITS = 300
"""Commits looked through for one that moved a file; each costs two look-ups in trees, some 20 microseconds."""

MOST_DELTAS = 500
"""Changed files of a commit among which a move is looked for: comparing contents grows with their product."""

MOST_TRACKED = 10_000
"""Files of a workspace that are compared with the last commit: 60 ms when measured, 150 ms for twice as many."""

MOST_TRACKED_BYTES = 256 * 1024 * 1024
"""Size of all these files together: git hashes those that changed, half a gigabyte a second, and an agent can have a
file of a terabyte that takes no room."""

MOST_OF_A_SUBJECT = 100
"""Characters of a commit's subject."""

MOST_SIMILAR = 5

ALIKE = 0.6
"""Least likeness of two names, 0 to 1: difflib's own figure for a close match."""

PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", "target"})
"""Directories that hold no files a person means, and most of the entries of a workspace."""

ENVIRONMENTS = (".venv", "venv", "env")
"""Folders in which projects keep their Python environment."""


class Lookups:
    """Facts of one workspace. Nothing is kept between two questions, for the agent changes what is there.

    Args:
        workspace: The directory in which the agent works.
    """

    def __init__(self, workspace: str) -> None:
        self._root = Path(workspace)

    def similar_paths(self, path: str) -> Sequence[str]:
        """Paths of the workspace named much like this one, best first, at most 5, relative to it."""
        wanted = self._relative(path)
        if not wanted:
            return ()
        likeness = _Likeness(wanted)
        scored = ((likeness.of(found), found) for found in self._files(wanted.rpartition("/")[0]))
        best = sorted((-score, found) for score, found in scored if score >= ALIKE)
        return tuple(found for _, found in best[:MOST_SIMILAR])

    @waits_cut()
    def moved_to(self, path: str) -> str:
        """Return the path's new place by git's index, or by the commit that moved it; empty if neither has it."""
        wanted = self._relative(path)
        repository = open_worktree(self._root)
        if repository is None or not wanted:
            return ""
        with suppress(pygit2.GitError, KeyError, ValueError, OSError):
            found = _staged_move(repository, wanted) or _committed_move(repository, wanted)
            return found if found and (self._root / found).exists() else ""
        return ""

    def owner_and_mode(self, path: str) -> str:
        """Owner, group and mode as `ls -l` shows them; the empty string where the path cannot be looked at."""
        try:
            known = (self._root / path).lstat()
        except (OSError, ValueError):
            return ""
        return f"{_user(known.st_uid)}:{_group(known.st_gid)} {stat.filemode(known.st_mode)}"

    def installed(self, module: str) -> str:
        """Return the package of the module in the project's own environment, with its version.

        A package of a similar name counts as well.
        """
        if "/" in module and not module.startswith("@"):
            return ""
        return self._python(module.partition(".")[0]) or self._node(module)

    @waits_cut()
    def changed_files(self) -> Sequence[str] | None:
        """Return the paths that differ from the last commit, with new files and folders.

        None without git, and in too large a workspace.
        """
        repository = open_worktree(self._root)
        if repository is None:
            return None
        with suppress(pygit2.GitError, OSError, ValueError):
            if len(repository.index) <= MOST_TRACKED and self._size(repository.index) <= MOST_TRACKED_BYTES:
                return sorted(repository.status(untracked_files="normal"))
        return None

    @waits_cut()
    def last_commit(self) -> str:
        """Return the last commit and its subject, shortened; the empty string if there is none."""
        repository = open_worktree(self._root)
        if repository is None:
            return ""
        with suppress(pygit2.GitError, OSError, ValueError, LookupError):
            commit = repository.head.peel(pygit2.Commit)
            return f"{commit.short_id} {commit.message.strip().partition(chr(10))[0][:MOST_OF_A_SUBJECT]}"
        return ""

    def _size(self, index: pygit2.Index) -> int:
        return sum(found.st_size for entry in index if (found := _looked_at(self._root / entry.path)) is not None)

    def _relative(self, path: str) -> str:
        """The path as seen from the workspace; empty if it lies outside."""
        seen, root = os.path.normpath(self._root / path), str(self._root)
        return seen.removeprefix(f"{root}/") if seen.startswith(f"{root}/") and "\0" not in seen else ""

    def _files(self, near: str) -> Iterator[str]:
        """Files of the workspace, relative to it, those in the directory itself and around it first."""
        ancestors = [Path(near), *Path(near).parents]
        due, seen, left = deque(str(each) for each in ancestors), set[str](), MOST_ENTRIES
        while due and left > 0:
            directory = due.popleft()
            if directory in seen:
                continue
            seen.add(directory)
            for entry in _entries(self._root / directory):
                left -= 1
                relative = entry.name if directory == "." else f"{directory}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in PASSED_OVER:
                        due.append(relative)
                else:
                    yield relative

    def _python(self, module: str) -> str:
        found = {
            _folded(name): f"{name} {version}"
            for environment in ENVIRONMENTS
            for packages in (self._root / environment / "lib").glob("python3*/site-packages")
            for entry in _entries(packages)
            if (parts := re.fullmatch(r"(.+?)-([^-]+)\.dist-info", entry.name)) is not None
            for name, version in [parts.groups()]
        }
        wanted = _folded(module)
        holds = next((name for name in found if wanted and wanted in name), "")
        near = difflib.get_close_matches(wanted, found, n=1, cutoff=ALIKE)
        best = wanted if wanted in found else holds or (near[0] if near else "")
        return found.get(best, "")

    def _node(self, package: str) -> str:
        modules = self._root / "node_modules"
        there = {entry.name for entry in _entries(modules)}
        near = difflib.get_close_matches(package, there, n=1, cutoff=ALIKE)
        name = package if package.startswith("@") or package in there else (near[0] if near else "")
        if not name or ".." in name:
            return ""
        try:
            about = orjson.loads(read_plain(modules / name / "package.json", MOST_PACKAGE_BYTES))
        except (OSError, ValueError):
            return ""
        return f"{name} {about.get('version', '')}".strip() if isinstance(about, dict) else ""


def told_by_git(workspace: str) -> tuple[Sequence[str] | None, str]:
    """Return the uncommitted paths, None if they are not known, and the last commit. Blocks."""
    found = Lookups(workspace)
    return found.changed_files(), found.last_commit()


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a directory, by name; none if it cannot be read."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (OSError, ValueError):
        return []


class _Likeness:
    """How alike paths are to one: by their last names, and where those are the same by the rest."""

    def __init__(self, wanted: str) -> None:
        self._wanted, self._name = wanted, wanted.rpartition("/")[2]
        self._matcher = difflib.SequenceMatcher(None, "", self._name.lower())

    def of(self, found: str) -> float:
        """0 to 1 for another name, and up to 2 for the same."""
        name = found.rpartition("/")[2]
        if name == self._name:
            return 1.0 + difflib.SequenceMatcher(None, self._wanted, found).ratio()
        matcher = self._matcher
        matcher.set_seq1(name.lower())
        if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
            return 0.0
        return matcher.ratio()


def _folded(name: str) -> str:
    """A distribution's name as PEP 503 compares it, without what joins its words."""
    return re.sub(r"[-_.]+", "", name).lower()


def _staged_move(repository: pygit2.Repository, path: str) -> str:
    """Return the path at which the index has the content that the last commit has at the path."""
    head = repository.head.peel(pygit2.Commit).tree
    if path not in head:
        return ""
    id_ = head[path].id
    return next((entry.path for entry in repository.index if entry.id == id_ and entry.path != path), "")


def _committed_move(repository: pygit2.Repository, path: str) -> str:
    """Return the path to which the last commit that removed the path moved it."""
    walker = repository.walk(repository.head.target)
    for commit, _ in zip(walker, range(MOST_COMMITS), strict=False):
        parent = commit.parents[0] if commit.parents else None
        if parent is not None and path in parent.tree and path not in commit.tree:
            return _new_place(repository.diff(parent, commit), path)
    return ""


def _new_place(diff: pygit2.Diff, path: str) -> str:
    if sum(1 for _ in diff.deltas) > MOST_DELTAS:
        return ""
    diff.find_similar()
    moves = (delta for delta in diff.deltas if delta.status is pygit2.enums.DeltaStatus.RENAMED)
    return next((delta.new_file.path for delta in moves if delta.old_file.path == path), "")


def _user(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    try:
        return getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _looked_at(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None
