"""From changed paths to edits of the last tree: only those paths are looked at."""

import stat
from collections.abc import Collection, Iterable

from checkpoints.git.objects import EMPTY_TREE, FOLDER, TreeEntry
from checkpoints.git.trees import lookup
from checkpoints.model import Why
from checkpoints.paths import parent_of, self_and_above
from checkpoints.workspace.ignore import Rules
from checkpoints.workspace.safe_open import Folders, NotCaptured, kind_at
from checkpoints.workspace.scan import STAGING_PREFIX, Scanner, is_tracked


class Update:
    """One capture's look at what changed. Its survey is what is known afterwards."""

    def __init__(
        self, scanner: Scanner, folders: Folders, tree: bytes, outside: Rules, rules: dict[bytes, Rules]
    ) -> None:
        """Begin with the last tree.

        Args:
            scanner: Reads files, and folders that are to be looked at whole; its survey is brought up to date.
            folders: Opens folders below the workspace.
            tree: What is believed.
            outside: Rules that come from outside the tree.
            rules: Rules by folder, kept between captures.
        """
        self.survey = scanner.survey
        self._scanner = scanner
        self._folders = folders
        self._tree = tree
        self._outside = outside
        self._rules = rules
        self._edits: dict[bytes, TreeEntry | None] = {}
        self._whole: set[bytes] = set()
        """Folders that were looked at with all that is in them."""

    def edits(self, changed: Collection[bytes]) -> dict[bytes, TreeEntry | None]:
        """Return what becomes of these paths, and of those that change without a note."""
        waiting = (path for path, refusal in self.survey.skipped.items() if refusal.why is Why.TOO_MUCH)
        paths = {*changed, *self.survey.unsettled, *self.survey.linked, *waiting}
        self.survey.unsettled.clear()
        for folder in sorted(ruled_anew(paths)):
            self._rules.clear()
            if not any(above in paths for above in self_and_above(folder)) and self._is_known(folder):
                self._scan(folder, trusting=paths)
        for path in sorted(paths):
            self._folders.trim()
            if not self._is_done(path) and not _is_ours(path):
                self._look_at(path)
        return self._edits

    def _is_known(self, folder: bytes) -> bool:
        found = lookup(self._scanner.store, self._tree, folder)
        return found is not None and found.is_folder

    def _is_done(self, path: bytes) -> bool:
        return b"" in self._whole or any(above in self._whole for above in self_and_above(path))

    def _look_at(self, path: bytes) -> None:
        missing = self._first_missing_folder(path)
        if missing is not None:
            path = missing
        parent = parent_of(path)
        folder = self._folders.get(parent)
        if folder is None:
            return
        name = path[len(parent) + 1 :] if parent else path
        kind = kind_at(name, folder)
        before = lookup(self._scanner.store, self._tree, path)
        self.survey.forget(path)
        if before is not None and before.is_folder:
            self.survey.forget_below(path)
        if kind is None:
            self._edits[path] = None
            return
        is_folder = stat.S_ISDIR(kind)
        if not is_tracked(before, is_folder=is_folder) and self._is_ignored(parent, path, is_folder=is_folder):
            self.survey.ignore(path)
            self._edits[path] = None
            return
        if is_folder:
            self._scan(path)
        elif stat.S_ISREG(kind) or stat.S_ISLNK(kind):
            self._edits[path] = self._scanner.file(folder, path, name, before)
        else:
            self.survey.skipped[path] = NotCaptured(Why.SPECIAL)
            self._edits[path] = None

    def _first_missing_folder(self, path: bytes) -> bytes | None:
        """Return the topmost folder above a path that the tree does not have: it has to be looked at whole."""
        for folder in reversed(list(self_and_above(parent_of(path)))):
            if not self._is_known(folder):
                return folder
        return None

    def _is_ignored(self, parent: bytes, path: bytes, *, is_folder: bool) -> bool:
        scope = self._scanner.scope
        if scope.lists(path) or (is_folder and scope.reaches(path)):
            return False
        return self._rules_in(parent).ignores(path, is_folder=is_folder)

    def _rules_in(self, folder: bytes) -> Rules:
        found = self._rules.get(folder)
        if found is None:
            fd = self._folders.get(folder)
            above = self._rules_in(parent_of(folder)) if folder else self._outside
            found = above if fd is None else self._scanner.rules_in(fd, folder, above)
            self._rules[folder] = found
        return found

    def _scan(self, path: bytes, *, trusting: Collection[bytes] | None = None) -> None:
        """Scan a folder with all its content; a folder that may not be read is skipped."""
        self._folders.forget()
        self._rules.clear()
        self.survey.forget_below(path)
        self._scanner.distrusted = trusting
        fd = self._folders.get(path)
        before = lookup(self._scanner.store, self._tree, path)
        if fd is None:
            self.survey.skipped[path] = NotCaptured(Why.UNREADABLE)
            self._edits[path] = None
            return
        known = before.id if before is not None and before.is_folder else EMPTY_TREE
        self._whole.add(path)
        self._edits[path] = TreeEntry(FOLDER, self._scanner.folder(fd, path, known, self._rules_in(path)))
        self._scanner.distrusted = None


def ruled_anew(paths: Iterable[bytes]) -> set[bytes]:
    """Return the folders in which other paths may be ignored than before: their rules, or their repository, changed."""
    found = set()
    for path in paths:
        name = path.rpartition(b"/")[2]
        if name in (b".gitignore", b".git"):
            found.add(parent_of(path))
    if b"" in found:
        return {b""}
    return {path for path in found if not any(above in found for above in self_and_above(parent_of(path)))}


def _is_ours(path: bytes) -> bool:
    return path.startswith(STAGING_PREFIX) or b"/.git/" in path
