"""The plan of a restore: paths that change, work that would be lost, and paths that must not be touched."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkpoints.git.objects import EMPTY_TREE, EXECUTABLE, FILE, TreeEntry
from checkpoints.git.trees import Pair, differences, files_in
from checkpoints.model import Change, Checkpoint, Difference, Kept
from checkpoints.paths import bytes_of, is_within, parent_of, text_of
from checkpoints.restore.ignored_then import IgnoredThen
from checkpoints.store.store import Store
from checkpoints.workspace.safe_open import Folders, kind_at, names_in
from checkpoints.workspace.scan import STAGING_PREFIX

UNUSUAL_PATHS = 1_000
"""A restore that changes more paths than this asks twice. Public reports of whole trees reverted from a stale baseline
name tens of thousands; an agent's turn changes tens."""
UNUSUAL_SHARE = 0.5
"""A restore that removes or rewrites more than this share of all files asks twice as well."""
_FEW = 20
"""In a workspace of fewer files, a share says nothing."""


@dataclass(frozen=True, slots=True)
class Work:
    """The changes to make, in terms of trees."""

    pairs: tuple[Pair, ...]
    """Before is what stands there now, after is what shall."""
    kept: tuple[Kept, ...]


def compare(store: Store, before: Checkpoint, after: Checkpoint) -> tuple[Difference, ...]:
    """Return what changed from one checkpoint to another, folders left out unless they are empty."""
    return describe(differences(store, bytes.fromhex(before.tree), bytes.fromhex(after.tree)))


def describe(pairs: Iterator[Pair] | Sequence[Pair]) -> tuple[Difference, ...]:
    """Return the pairs as differences for people."""
    return tuple(Difference(text_of(pair.path), change) for pair in pairs if (change := change_of(pair)) is not None)


def change_of(pair: Pair) -> Change | None:
    """Return how a path changed; None for a folder that only came or went with its content."""
    before, after = (None if _is_full_folder(entry) else entry for entry in (pair.before, pair.after))
    if before is None and after is None:
        return None
    if before is None:
        return Change.ADDED if pair.before is None else Change.TYPE_CHANGED
    if after is None:
        return Change.DELETED if pair.after is None else Change.TYPE_CHANGED
    plain = {FILE, EXECUTABLE}
    if before.mode != after.mode and not {before.mode, after.mode} <= plain:
        return Change.TYPE_CHANGED
    return Change.MODIFIED if before.id != after.id else Change.MODE_CHANGED


def _is_full_folder(entry: TreeEntry | None) -> bool:
    return entry is not None and entry.is_folder and entry.id != EMPTY_TREE


def work_out(store: Store, root: int, present: Checkpoint, target: Checkpoint, ignored: IgnoredThen) -> Work:
    """Return what is to be done to turn the present into the target, and what cannot or must not be done.

    Args:
        store: Where both are.
        root: The workspace, open.
        present: A checkpoint of the workspace as it is.
        target: Where to go.
        ignored: What was ignored there: a path that is captured only since its rule went may be older than the target.
    """
    pairs = list(differences(store, bytes.fromhex(present.tree), bytes.fromhex(target.tree)))
    blocks = _skipped_paths(present, target)
    with Folders(root) as folders:
        for pair in pairs:
            folders.trim()
            if not any(is_within(pair.path, blocked) for blocked in blocks):
                why = _in_the_way(store, folders, pair) or _older(pair, target, ignored)
                if why:
                    blocks[pair.path] = why
    return without(pairs, blocks)


def without(pairs: Sequence[Pair], blocks: dict[bytes, str]) -> Work:
    """Return the work that is left when these paths, and all in them, are not touched."""
    kept: dict[bytes, str] = {}
    left = []
    for pair in pairs:
        blocked = next((path for path in blocks if is_within(pair.path, path)), None)
        if blocked is not None:
            kept[blocked] = blocks[blocked]
        elif any(is_within(path, pair.path) for path in blocks) and not _both_or_gone(pair):
            kept[pair.path] = "It holds paths that are left as they are."
        else:
            left.append(pair)
    return Work(tuple(left), tuple(Kept(text_of(path), kept[path]) for path in sorted(kept)))


def _both_or_gone(pair: Pair) -> bool:
    """Whether a folder can stay for the sake of what is in it: it becomes nothing, not something else."""
    return pair.after is None or pair.after.is_folder


def _skipped_paths(present: Checkpoint, target: Checkpoint) -> dict[bytes, str]:
    blocks = {
        bytes_of(skipped.path): f"Its content then is not in {target.name} ({skipped.why.value})."
        for skipped in target.skipped
    }
    blocks |= {
        bytes_of(skipped.path): f"Its content now cannot be kept ({skipped.why.value}), so it is not replaced."
        for skipped in present.skipped
    }
    return blocks


def _in_the_way(store: Store, folders: Folders, pair: Pair) -> str:
    """Name the obstacle on the disk at the pair's path that is in no checkpoint; empty for none."""
    parent = folders.get(parent_of(pair.path))
    if parent is None:
        return ""
    name = pair.path.rpartition(b"/")[2]
    if pair.before is None:
        kind = kind_at(name, parent)
        if kind is None or (stat.S_ISDIR(kind) and pair.after is not None and pair.after.is_folder):
            return ""
        return "Something that is not captured, an ignored file for one, has this name now."
    if pair.before.is_folder and pair.after is not None and not pair.after.is_folder:
        fd = folders.get(pair.path)
        if fd is not None and _holds_more(store, fd, pair.before.id):
            return "The folder holds files that are not captured, so it is not replaced by a file."
    return ""


def _older(pair: Pair, target: Checkpoint, ignored: IgnoredThen) -> str:
    """Say why what is there now may have been there at the target, which does not have it; empty if it was not."""
    if pair.after is not None or pair.before is None or _is_full_folder(pair.before):
        return ""
    if not ignored.has(pair.path, is_folder=pair.before.is_folder):
        return ""
    return f"It was ignored at {target.name}, so it was not captured there, and may be older."


def _holds_more(store: Store, fd: int, tree: bytes) -> bool:
    """Whether an open folder holds anything that its tree does not."""
    known = store.tree(tree)
    for name, entry in names_in(fd):
        if name not in known:
            return True
        if known[name].is_folder and entry.is_dir(follow_symlinks=False):
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            try:
                if _holds_more(store, below, known[name].id):
                    return True
            finally:
                os.close(below)
    return False


def unusual(store: Store, present: Checkpoint, pairs: Sequence[Pair]) -> str:
    """Say why this is a restore of unusual size; empty if it is not."""
    changed = sum(1 for pair in pairs if pair.before is not None and not pair.before.is_folder)
    if changed > UNUSUAL_PATHS:
        return f"It removes or rewrites {changed:,} files, more than {UNUSUAL_PATHS:,}."
    total = 0
    for _ in files_in(store, bytes.fromhex(present.tree)):
        total += 1
        if changed <= total * UNUSUAL_SHARE:
            return ""
    return f"It removes or rewrites {changed:,} of {total:,} files." if total >= _FEW else ""


def staging_name(undo: str) -> bytes:
    """Return the folder in the workspace where files lie during the restore that this checkpoint undoes."""
    return STAGING_PREFIX + undo.encode()
