"""Folders as trees: change some paths in one, and say what differs between two. Cost follows from what changed."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from checkpoints.git.objects import EMPTY_TREE, FOLDER, ObjectKind, Tree, TreeEntry, encode_tree
from checkpoints.paths import join


class Trees(Protocol):
    """A source of trees."""

    def tree(self, oid: bytes) -> Mapping[bytes, TreeEntry]:
        """Return a folder's entries."""
        ...

    def remember_tree(self, oid: bytes, entries: dict[bytes, TreeEntry]) -> None:
        """Keep a folder that is likely to be read soon."""
        ...


class Writer(Protocol):
    """A destination of new objects."""

    def add(self, kind: ObjectKind, content: bytes) -> bytes:
        """Take an object in and return its id."""
        ...

    def add_known(self, kind: ObjectKind, content: bytes, oid: bytes) -> None:
        """Take in an object whose id was computed before."""
        ...


Edits = Mapping[bytes, TreeEntry | None]
"""New entries of paths; None removes a path. The empty path is the whole tree."""


def write_tree(trees: Trees, writer: Writer, entries: dict[bytes, TreeEntry]) -> bytes:
    """Write a folder and return its id."""
    oid = writer.add(ObjectKind.TREE, encode_tree(entries))
    trees.remember_tree(oid, entries)
    return oid


def apply(trees: Trees, writer: Writer, tree: bytes, edits: Edits) -> bytes:
    """Return the id of the tree with these paths changed; only folders on the way to them are read and written.

    A folder that loses its last entry stays, empty: it is gone only once it is edited away itself.
    """
    whole = edits.get(b"")
    return _apply(trees, writer, tree, _by_folder(edits)) if whole is None else whole.id


_Node = dict[bytes, "TreeEntry | _Node | None"]


def _by_folder(edits: Edits) -> _Node:
    root: _Node = {}
    for path in sorted(edits):
        *folders, name = path.split(b"/")
        node = root
        for folder in folders:
            below = node.setdefault(folder, {})
            if not isinstance(below, dict):
                # The folder itself was edited: gone, or rewritten whole with all that is in it.
                break
            node = below
        else:
            node[name] = edits[path]
    return root


def _apply(trees: Trees, writer: Writer, tree: bytes, node: _Node) -> bytes:
    before = trees.tree(tree)
    entries = dict(before)
    for name, change in node.items():
        if change is None:
            entries.pop(name, None)
        elif isinstance(change, TreeEntry):
            entries[name] = change
        else:
            old = entries.get(name)
            below = old.id if old is not None and old.is_folder else EMPTY_TREE
            new = _apply(trees, writer, below, change)
            if old is not None or new != EMPTY_TREE:
                entries[name] = TreeEntry(FOLDER, new)
    return tree if entries == before else write_tree(trees, writer, entries)


def lookup(trees: Trees, tree: bytes, path: bytes) -> TreeEntry | None:
    """Return what stands at a path, or None."""
    entry = TreeEntry(FOLDER, tree)
    for name in path.split(b"/") if path else ():
        if not entry.is_folder:
            return None
        found = trees.tree(entry.id).get(name)
        if found is None:
            return None
        entry = found
    return entry


class Pair(NamedTuple):
    """A path that differs, and what it was and is; None if there is nothing."""

    path: bytes
    before: TreeEntry | None
    after: TreeEntry | None


def differences(trees: Trees, before: bytes, after: bytes, folder: bytes = b"") -> Iterator[Pair]:
    """Return each path that differs, folders before what is in them. Folders that are equal are not opened.

    A folder itself is among them only if it came or went, beside its content.
    """
    if before == after:
        return
    old, new = trees.tree(before), trees.tree(after)
    for name in sorted(old.keys() | new.keys()):
        was, is_now = old.get(name), new.get(name)
        if was == is_now:
            continue
        path = join(folder, name)
        both_folders = was is not None and is_now is not None and was.is_folder and is_now.is_folder
        if not both_folders:
            yield Pair(path, was, is_now)
        below_was = was.id if was is not None and was.is_folder else EMPTY_TREE
        below_is = is_now.id if is_now is not None and is_now.is_folder else EMPTY_TREE
        yield from differences(trees, below_was, below_is, path)


def files_in(trees: Trees, tree: bytes, folder: bytes = b"") -> Iterator[tuple[bytes, TreeEntry]]:
    """Return every path below a tree that is no folder, and every folder that is empty."""
    entries: Tree = trees.tree(tree)
    for name in sorted(entries):
        entry = entries[name]
        path = join(folder, name)
        if entry.is_folder and entry.id != EMPTY_TREE:
            yield from files_in(trees, entry.id, path)
        else:
            yield path, entry
