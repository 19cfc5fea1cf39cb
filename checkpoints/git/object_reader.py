"""The objects of a store, read from its packs, from the project's repository that it borrows from, or from the log."""

from pathlib import Path

import pygit2

from checkpoints.errors import StoreDamagedError
from checkpoints.git.objects import EMPTY_TREE, ObjectKind, TreeEntry, parse_tree, tree_of_commit
from checkpoints.git.pack import PackWriter, pack_object, unpack
from checkpoints.git.sealed_pack import CLEAR, SealedPacks, SealedPackWriter, StoreSeals

_CACHED_TREES = 4_096
"""Folders kept in memory, parsed: a capture reads those on the way to what changed, and they are mostly the same."""


class ObjectBase:
    """Reads objects by their ids, and begins packs of new ones."""

    def __init__(self, objects: Path, seals: StoreSeals = CLEAR) -> None:
        """Read from this repository, which has a git repository's folders, and write what is sealed with these."""
        self.objects = objects
        self.seals = seals
        self._odb = pygit2.Odb(str(objects / "objects"))
        self._unsettled: dict[bytes, bytes] = {}
        """Objects that only the write-ahead log has yet, packed."""
        self.sealed = SealedPacks(self.packs, seals)
        self._trees: dict[bytes, dict[bytes, TreeEntry]] = {}

    @property
    def packs(self) -> Path:
        """The folder of the packs."""
        return self.objects / "objects" / "pack"

    def read(self, oid: bytes) -> tuple[ObjectKind, bytes]:
        """Return an object's type and content; the content was checked against the id.

        Raises:
            StoreDamagedError: The object is missing or damaged.
        """
        packed = self._unsettled.get(oid) or self.sealed.find(oid)
        return unpack(packed) if packed is not None else self._read_open(oid)

    def packed(self, oid: bytes) -> bytes:
        """Return an object as a writer packs it; raises like `read`."""
        return self._unsettled.get(oid) or self.sealed.find(oid) or pack_object(*self._read_open(oid))

    def _read_open(self, oid: bytes) -> tuple[ObjectKind, bytes]:
        """Return an object of git's own packs, or of the project."""
        try:
            kind, content = self._odb.read(pygit2.Oid(raw=oid))
        except (KeyError, pygit2.GitError, ValueError) as error:
            raise StoreDamagedError(
                f"The store {self.objects.parent} cannot give object {oid.hex()}: {error}.", object_id=oid.hex()
            ) from error
        return ObjectKind(int(kind)), content

    def has(self, oid: bytes) -> bool:
        """Whether the store can give this object."""
        return oid in self._unsettled or self.sealed.has(oid) or bool(self._odb.exists(pygit2.Oid(raw=oid)))

    def tree(self, oid: bytes) -> dict[bytes, TreeEntry]:
        """Return a folder's entries; not to be changed by the caller.

        Raises:
            StoreDamagedError: The object is missing or damaged.
        """
        if oid == EMPTY_TREE:
            return {}
        found = self._trees.get(oid)
        if found is None:
            found = self.read_tree(oid)
            self.remember_tree(oid, found)
        return found

    def read_tree(self, oid: bytes) -> dict[bytes, TreeEntry]:
        """Return a folder's entries as they are on the disk.

        Raises:
            StoreDamagedError: The object is missing or damaged.
        """
        return parse_tree(self.read(oid)[1])

    def remember_tree(self, oid: bytes, entries: dict[bytes, TreeEntry]) -> None:
        """Keep a folder in memory that is likely to be read soon."""
        if len(self._trees) >= _CACHED_TREES:
            self._trees.clear()
        self._trees[oid] = entries

    def tree_of(self, commit: bytes) -> bytes:
        """Return the id of a commit's tree.

        Raises:
            StoreDamagedError: The commit is missing or damaged.
        """
        return tree_of_commit(self.read(commit)[1])

    def writer(self, label: str) -> PackWriter:
        """Return what new objects are written with; the label is unique among captures under way."""
        return SealedPackWriter(self.packs, label, self.seals) if self.seals.seals else PackWriter(self.packs, label)

    def _look_anew(self) -> None:
        """Packs came and went."""
        self.sealed.look_anew()
        self._odb = pygit2.Odb(str(self.objects / "objects"))
