"""Paths that were ignored when a checkpoint was made: it does not have them, and they may have been there."""

from checkpoints.git.objects import EXECUTABLE, FILE
from checkpoints.git.trees import lookup
from checkpoints.paths import parent_of
from checkpoints.store.store import Store
from checkpoints.workspace.ignore import MAX_FILE_BYTES, Rules
from checkpoints.workspace.scan import Scope


class IgnoredThen:
    """The rules of the `.gitignore` files in a checkpoint, over those that git keeps beside it.

    The latter, such as `.git/info/exclude`, are in no checkpoint: they count as they are now.

    Args:
        store: Where the checkpoint is.
        tree: Its tree.
        rules: Those that git keeps outside of the files.
        scope: Paths that are captured although they are ignored.
    """

    def __init__(self, store: Store, tree: bytes, rules: Rules, scope: Scope) -> None:
        self._store = store
        self._tree = tree
        self._scope = scope
        self._known = {b"": rules.inside(b"", self._text(b""))}

    def has(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether a path was ignored, and so was not captured if it was there."""
        return not self._scope.lists(path) and self._rules(parent_of(path)).matches(path, is_folder=is_folder)

    def _rules(self, folder: bytes) -> Rules:
        if folder not in self._known:
            above = self._rules(parent_of(folder))
            ignored = above.matches(folder, is_folder=True)
            self._known[folder] = above.within_ignored() if ignored else above.inside(folder, self._text(folder))
        return self._known[folder]

    def _text(self, folder: bytes) -> bytes:
        entry = lookup(self._store, self._tree, folder + b"/.gitignore" if folder else b".gitignore")
        if entry is None or entry.mode not in (FILE, EXECUTABLE):
            return b""
        text = self._store.read(entry.id)[1]
        return text if len(text) <= MAX_FILE_BYTES else b""
