"""Git objects as bytes: trees taken apart and put together, commits written. Nothing here reads or writes a disk.

Trees are handled as raw bytes instead of through a library because names are bytes, any bytes.
"""

import hashlib
import re
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

FILE, EXECUTABLE, LINK, FOLDER, GITLINK = 0o100644, 0o100755, 0o120000, 0o40000, 0o160000
"""The modes that git knows."""

_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)


class ObjectKind(IntEnum):
    """Types of objects, by their number in a pack."""

    COMMIT = 1
    TREE = 2
    BLOB = 3


_NAMES = {ObjectKind.COMMIT: b"commit", ObjectKind.TREE: b"tree", ObjectKind.BLOB: b"blob"}


class TreeEntry(NamedTuple):
    """The object that a name in a folder stands for."""

    mode: int
    id: bytes
    """20 bytes."""

    @property
    def is_folder(self) -> bool:
        """Whether it has entries of its own here; a gitlink has not."""
        return self.mode == FOLDER


Tree = Mapping[bytes, TreeEntry]
"""A folder: names and what they stand for."""


def object_id(kind: ObjectKind, content: bytes) -> bytes:
    """Return the 20 bytes that name this object."""
    digest = hashlib.sha1(b"%s %d\0" % (_NAMES[kind], len(content)), usedforsecurity=False)
    digest.update(content)
    return digest.digest()


EMPTY_TREE = object_id(ObjectKind.TREE, b"")


def parse_tree(raw: bytes) -> dict[bytes, TreeEntry]:
    """Return the entries of a tree object."""
    return {name: TreeEntry(int(mode, 8), oid) for mode, name, oid in _ENTRY.findall(raw)}


def _place(item: tuple[bytes, TreeEntry]) -> bytes:
    """Git sorts folders as if their names ended in a slash."""
    name, entry = item
    return name + b"/" if entry.mode == FOLDER else name


def encode_tree(tree: Tree) -> bytes:
    """Return the tree object that holds these entries."""
    return b"".join(b"%o %s\0%s" % (entry.mode, name, entry.id) for name, entry in sorted(tree.items(), key=_place))


def encode_commit(tree: bytes, at: float, message: str) -> bytes:
    """Return a commit of this tree, without parents: a checkpoint that is dropped must not be held by a later one."""
    who = f"chaperon <chaperon@localhost> {int(at)} +0000"
    return f"tree {tree.hex()}\nauthor {who}\ncommitter {who}\n\n{message}".encode("utf-8", "backslashreplace")


def tree_of_commit(raw: bytes) -> bytes:
    """Return the id of the tree of a commit object.

    Raises:
        ValueError: The bytes are no commit.
    """
    if not raw.startswith(b"tree "):
        raise ValueError("This object is no commit: it does not begin with its tree.")
    return bytes.fromhex(raw[5:45].decode("ascii"))
