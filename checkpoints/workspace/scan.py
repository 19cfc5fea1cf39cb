"""The full scan of a folder: every file read, every tree written anew, independent of the watcher."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from checkpoints.git.objects import EMPTY_TREE, FOLDER, GITLINK, LINK, ObjectKind, TreeEntry, object_id
from checkpoints.git.trees import Writer, write_tree
from checkpoints.model import Why
from checkpoints.paths import is_within, join
from checkpoints.store.store import Store
from checkpoints.workspace import repository
from checkpoints.workspace.ignore import MAX_FILE_BYTES, Rules
from checkpoints.workspace.index import GitIndexes
from checkpoints.workspace.safe_open import NotCaptured, names_in, open_folder, read
from monitors.contract.progress import Report, unreported

MAX_DEPTH = 200
"""Folders within folders that are followed: each holds a descriptor open, of 1,024 that a process usually has.
The deepest of 20,000 packages of npm is 30."""

MOST_IGNORED = 20_000
"""Ignored folders and files that are remembered, at some 100 bytes each. They are folders as a rule, so a workspace
has tens. If there are more, all folders are listed anew once the index changed."""

REPORTED = 64
"""Files between two reports of how far a scan is: it reads some 20,000 in a second."""

STAGING_PREFIX = b".chaperon-restore-"
"""Prefix of the staging folder of a restore that is under way; never captured."""


@dataclass(slots=True)
class Survey:
    """Facts about a workspace beside its tree."""

    skipped: dict[bytes, NotCaptured] = field(default_factory=dict)
    nested: set[bytes] = field(default_factory=set)
    unsettled: set[bytes] = field(default_factory=set)
    linked: set[bytes] = field(default_factory=set)
    """Files with further names: they change without an event in the workspace, and are read with each capture."""
    ignored: set[bytes] = field(default_factory=set)
    """Ignored folders and files, without their content, at most `MOST_IGNORED`. Git may come to track them."""

    def forget(self, path: bytes) -> None:
        """Forget a path and all below it."""
        self.skipped.pop(path, None)
        for known in (self.nested, self.unsettled, self.linked, self.ignored):
            known.discard(path)

    def ignore(self, path: bytes) -> None:
        """Note that a path is ignored."""
        if len(self.ignored) < MOST_IGNORED:
            self.ignored.add(path)

    @property
    def knows_all_ignored(self) -> bool:
        """Whether every ignored path was noted."""
        return len(self.ignored) < MOST_IGNORED

    def forget_below(self, folder: bytes) -> None:
        """Forget what is found anew whenever a folder is listed."""
        self.skipped = {path: why for path, why in self.skipped.items() if not is_within(path, folder)}
        self.nested = {path for path in self.nested if not is_within(path, folder)}
        if any(is_within(path, folder) for path in self.ignored):
            self.ignored = {path for path in self.ignored if not is_within(path, folder)}

    def copy(self) -> "Survey":
        """Return one that can be changed without this one."""
        return Survey(dict(self.skipped), set(self.nested), set(self.unsettled), set(self.linked), set(self.ignored))


@dataclass(frozen=True, slots=True)
class Scope:
    """The extent of a checkpoint."""

    limit_bytes: int
    """Largest file whose content is kept."""
    limit_new_bytes: int = 1 << 62
    """Most content of files that were not there before that one capture takes."""
    also: frozenset[bytes] = frozenset()
    """Ignored paths, files or folders, that are captured nevertheless. Example: `.env`."""

    def reaches(self, path: bytes) -> bool:
        """Whether something at or below this path is listed."""
        return bool(self.also) and any(is_within(listed, path) for listed in self.also)

    def lists(self, path: bytes) -> bool:
        """Whether this path is listed, or lies in a folder that is."""
        return bool(self.also) and any(is_within(path, listed) for listed in self.also)


def no_watch(_path: bytes, _folder: int) -> None:
    """Watch nothing."""


@dataclass(slots=True)
class Scanner:
    """Reads folders into trees."""

    store: Store
    writer: Writer
    root: Path
    scope: Scope
    survey: Survey
    watch: Callable[[bytes, int], None] = no_watch
    """Called with each folder before it is listed, so that no change after the listing goes unseen."""
    distrusted: Collection[bytes] | None = None
    """Paths that must be read. If given, a file with an entry that is neither among these nor in such a folder is
    taken as unchanged, and not read."""
    changed: list[bytes] = field(default_factory=list)
    """Paths that are not as the tree before had them."""
    files: int = 0
    """Files and links that were read."""
    report: Report = unreported
    """Told how many files were read, every so often."""
    expected: int | None = None
    """How many files there may be, for reports; None if that is not known."""
    new_bytes: int = 0
    """Content of files that were not there before."""
    indexes: GitIndexes = field(default_factory=GitIndexes)
    """The tracked paths of the workspace's repository and of those inside it."""

    def folder(self, fd: int, path: bytes, before: bytes, rules: Rules) -> bytes:
        """Return the tree of an open folder.

        Args:
            fd: The folder; left open.
            path: Where it lies.
            before: The tree that it had; objects in it are in the store already, and what it holds is tracked.
            rules: What is ignored, this folder's own rules included.
        """
        self.watch(path, fd)
        known = self.store.tree(before)
        entries: dict[bytes, TreeEntry] = {}
        for name, is_folder, is_plain in sorted(_listed(fd)):
            if name == b".git" or (not path and name.startswith(STAGING_PREFIX)):
                continue
            entry = self._entry(fd, join(path, name), name, known, rules, is_folder=is_folder, is_plain=is_plain)
            if entry is not None:
                entries[name] = entry
        self.changed.extend(join(path, name) for name in known.keys() - entries.keys())
        return before if entries == known else write_tree(self.store, self.writer, entries)

    def _entry(
        self,
        fd: int,
        path: bytes,
        name: bytes,
        known: Mapping[bytes, TreeEntry],
        rules: Rules,
        *,
        is_folder: bool,
        is_plain: bool,
    ) -> TreeEntry | None:
        before = known.get(name)
        tracked = is_tracked(before, is_folder=is_folder)
        if not tracked and rules.ignores(path, is_folder=is_folder) and not self._is_listed(path, is_folder):
            self.survey.ignore(path)
            return None
        if is_folder:
            return self._below(fd, path, name, before, rules)
        if not is_plain:
            self.survey.skipped[path] = NotCaptured(Why.SPECIAL)
            return None
        if self.distrusted is not None and before is not None and not before.is_folder and path not in self.distrusted:
            return before
        return self.file(fd, path, name, before)

    def _is_listed(self, path: bytes, is_folder: bool) -> bool:
        return self.scope.lists(path) or (is_folder and self.scope.reaches(path))

    def _below(self, fd: int, path: bytes, name: bytes, before: TreeEntry | None, rules: Rules) -> TreeEntry | None:
        try:
            below = open_folder(name, fd) if path.count(b"/") < MAX_DEPTH else None
        except PermissionError:
            self.survey.skipped[path] = NotCaptured(Why.UNREADABLE)
            return None
        if below is None:
            if path.count(b"/") >= MAX_DEPTH:
                self.survey.skipped[path] = NotCaptured(Why.TOO_DEEP)
            return None
        trusting = self.distrusted
        if trusting is not None and path in trusting:
            self.distrusted = None
        try:
            known = before.id if before is not None and before.is_folder else EMPTY_TREE
            tree = self.folder(below, path, known, self.rules_in(below, path, rules))
        finally:
            self.distrusted = trusting
            os.close(below)
        if before is None or not before.is_folder:
            self.changed.append(path)
        return TreeEntry(FOLDER, tree)

    def file(self, fd: int, path: bytes, name: bytes, before: TreeEntry | None) -> TreeEntry | None:
        """Return the entry of a file or link in an open folder, its content written; None if there is none to take."""
        content = read(name, fd, self.scope.limit_bytes)
        if content is None:
            return None
        if isinstance(content, NotCaptured):
            self.survey.skipped[path] = content
            return None
        if before is None:
            self.new_bytes += len(content.data)
            if self.new_bytes > self.scope.limit_new_bytes:
                self.survey.skipped[path] = NotCaptured(Why.TOO_MUCH, len(content.data))
                return None
        if not content.settled:
            self.survey.unsettled.add(path)
        if content.linked:
            self.survey.linked.add(path)
        self.files += 1
        if not self.files % REPORTED:
            self.report(self.files, max(self.expected, self.files) if self.expected else None)
        oid = object_id(ObjectKind.BLOB, content.data)
        entry = TreeEntry(content.mode, oid)
        if before is None or before.id != oid or not self.store.has(oid):
            self.writer.add_known(ObjectKind.BLOB, content.data, oid)
        if entry != before:
            self.changed.append(path)
        return entry

    def rules_in(self, fd: int, path: bytes, above: Rules) -> Rules:
        """Return the rules that hold in a folder right below one where `above` holds.

        A repository inside the workspace has rules of its own: those of the outer one end at its door.
        """
        if self.scope.lists(path):
            return Rules(path)
        ignored = above.matches(path, is_folder=True)
        if path and _has(b".git", fd) and (not ignored or above.is_submodule(path)):
            self.survey.nested.add(path)
            place = self.root / os.fsdecode(path)
            git = repository.find(place)
            index = self.indexes.of(path, git.own if git is not None else None)
            above = repository.ignore_sources(git).rules(path, index)
        elif ignored:
            return above.within_ignored()
        return above.inside(path, own_rules(fd))


def is_tracked(before: TreeEntry | None, *, is_folder: bool) -> bool:
    """Whether this path was captured before as the same kind, so that rules for ignored paths do not apply.

    A file that became a folder is something new, as it is to git.
    """
    return before is not None and (before.mode in (FOLDER, GITLINK)) == is_folder


def own_rules(fd: int) -> bytes:
    """Return the text of an open folder's `.gitignore`; empty if there is none that may be obeyed."""
    content = read(b".gitignore", fd, MAX_FILE_BYTES)
    return b"" if content is None or isinstance(content, NotCaptured) or content.mode == LINK else content.data


def _has(name: bytes, fd: int) -> bool:
    try:
        os.lstat(name, dir_fd=fd)
    except OSError:
        return False
    return True


def _listed(fd: int) -> list[tuple[bytes, bool, bool]]:
    """Return name, whether it is a folder, and whether it is a file or link, of what lies in an open folder."""
    found = []
    for name, entry in names_in(fd):
        is_folder = entry.is_dir(follow_symlinks=False)
        is_plain = not is_folder and (entry.is_symlink() or entry.is_file(follow_symlinks=False))
        found.append((name, is_folder, is_plain))
    return found
