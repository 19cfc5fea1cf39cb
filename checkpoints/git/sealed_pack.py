"""Packs that are sealed: each object by itself, and what there is behind them.

    CHAPPACK | object | object | ... | index | where the index begins, how long it is, CHAPPACK

An object is sealed as git packs it, whole, and bound to its id. The index has the ids, sealed too: they tell which
content is the same as what others have. Everything is in one file, which is named once it is whole.
"""

import bisect
import contextlib
import hashlib
import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from checkpoints.errors import CheckpointError, room_needed
from checkpoints.git.pack import PackWriter
from host.durable import replace_file, sync_path, write_all

SUFFIX = ".sealed"
SEALED = b'{"sealed":"'
"""The beginning of a JSON object that is sealed as a whole."""

_MARK = b"CHAPPACK"
_ENTRY = struct.Struct(">20sQI")
"""Id, beginning and length of an object."""
_FOOT = struct.Struct(">QI8s")
_INDEX = b"index of a pack"
_ID_BYTES = 20
_SEAL_BYTES = 32
"""Added to an object by its seal: 12 bytes of nonce, 16 of tag, 4 for the number of the key."""


class StoreSeals(Protocol):
    """Keys of a store, by which it is sealed and opened."""

    @property
    def seals(self) -> bool:
        """Whether what is new is sealed."""
        ...

    def stored(self, data: bytes) -> bytes:
        """Return a JSON object as it is kept in a line."""
        ...

    def read(self, data: bytes) -> bytes:
        """Return the JSON object of a line, sealed or not; raises an error of chaperon's if that cannot be opened."""
        ...

    def seal(self, plain: bytes, about: bytes) -> bytes:
        """Return bytes sealed, and bound to what they are about."""
        ...

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """Return what was sealed; raises `ValueError` if it cannot be opened."""
        ...


class _Clear:
    """Leaves all as it is, and opens nothing."""

    seals = False

    def stored(self, data: bytes) -> bytes:
        return data

    def read(self, data: bytes) -> bytes:
        if data.startswith(SEALED):
            raise CheckpointError(
                "It is encrypted, and no key is known here. Nothing was changed.",
                way_out="Name the key of records in audit.key, and start the daemon with it.",
            )
        return data

    def seal(self, *_: bytes) -> bytes:
        raise AssertionError("nothing is sealed without a key")

    def open(self, *_: bytes) -> bytes:
        raise ValueError("it is encrypted, and no key is known here")


CLEAR: StoreSeals = _Clear()
"""Leaves a store as it is."""


class SealedPackWriter(PackWriter):
    """Collects new objects as `PackWriter` does, and seals them before they are on the disk.

    Args:
        folder: The folder of the packs.
        label: Unique among writers.
        seals: Seals them.
    """

    def __init__(self, folder: Path, label: str, seals: StoreSeals) -> None:
        super().__init__(folder, label)
        self._seals = seals
        self._index: list[bytes] = []
        self._written = 0

    @property
    def size_bytes(self) -> int:
        """How large the pack will be, about."""
        return super().size_bytes + len(self) * (_ENTRY.size + _SEAL_BYTES)

    def _begin(self) -> bytes:
        self._written = len(_MARK)
        return _MARK

    def _body(self, objects: Mapping[bytes, bytes]) -> bytes:
        parts = []
        for oid, packed in objects.items():
            parts.append(self._seals.seal(packed, oid))
            self._index.append(_ENTRY.pack(oid, self._written, len(parts[-1])))
            self._written += len(parts[-1])
        return b"".join(parts)

    def _end(self) -> bytes:
        index = self._seals.seal(b"".join(sorted(self._index)), _INDEX)
        return index + _FOOT.pack(self._written, len(index), _MARK)

    def _whole(self) -> bytes:
        self._index = []
        return self._begin() + self._body(self._pending) + self._end()

    def _put(self) -> str:
        end = self._end()
        name = _name(end)
        with room_needed("a pack of new objects"):
            write_all(self._fd, end)
            os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._path.rename(self._folder / f"{name}{SUFFIX}")
            sync_path(self._folder)
        return name


def _name(pack: bytes) -> str:
    """Return the name of a pack that ends so: no two indexes are sealed to the same bytes."""
    start, length, _ = _FOOT.unpack(pack[-_FOOT.size :])
    index = pack[-_FOOT.size - length : -_FOOT.size]
    return f"pack-{hashlib.sha1(index + b'%d' % start, usedforsecurity=False).hexdigest()}"


def is_sealed(pack: bytes) -> bool:
    """Whether these are the bytes of a sealed pack."""
    return pack.startswith(_MARK)


def put_sealed_pack(folder: Path, pack: bytes) -> None:
    """Put a whole pack into the folder, durably; no key is needed.

    Raises:
        StoreFullError: There was no room; no trace is left.
    """
    with room_needed("a pack of new objects"):
        replace_file(folder / f"{_name(pack)}{SUFFIX}", pack)


class _SealedPack:
    """One pack, whose index is opened with the first look."""

    def __init__(self, path: Path, seals: StoreSeals) -> None:
        self.path = path
        self._seals = seals
        with path.open("rb") as file:
            empty = os.fstat(file.fileno()).st_size == 0
            self._data = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._entries: bytes | None = None

    def find(self, oid: bytes) -> bytes | None:
        """Return an object as git packs it, or None if it is not here.

        Raises:
            ValueError: It is damaged, or the pack is.
        """
        place = self._place(oid)
        return None if place is None else self._seals.open(self._data[place[0] : sum(place)], oid)

    def has(self, oid: bytes) -> bool:
        """Whether an object is here, by the index; in a damaged pack none is."""
        try:
            return self._place(oid) is not None
        except ValueError:
            return False

    def _place(self, oid: bytes) -> tuple[int, int] | None:
        if self._entries is None:
            self._entries = self._opened()
        entries, size = self._entries, _ENTRY.size
        at = bisect.bisect_left(
            range(len(entries) // size), oid, key=lambda i: entries[i * size : i * size + _ID_BYTES]
        )
        if entries[at * size : at * size + _ID_BYTES] != oid:
            return None
        _, start, length = _ENTRY.unpack_from(entries, at * size)
        return start, length

    def _opened(self) -> bytes:
        if len(self._data) < _FOOT.size:
            raise ValueError(f"{self.path} is cut short")
        start, length, mark = _FOOT.unpack(self._data[-_FOOT.size :])
        if mark != _MARK or start + length + _FOOT.size != len(self._data):
            raise ValueError(f"{self.path} does not end as a pack does")
        try:
            return self._seals.open(self._data[start : start + length], _INDEX)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None


class SealedPacks:
    """The sealed packs of a store. One process writes them, and looks anew after it did."""

    def __init__(self, folder: Path, seals: StoreSeals) -> None:
        self._folder, self._seals = folder, seals
        self._packs: Mapping[str, _SealedPack] = {}
        self.look_anew()

    def __bool__(self) -> bool:
        return bool(self._packs)

    def look_anew(self) -> None:
        """Take note that packs came or went."""
        names = sorted(place.name for place in self._folder.glob(f"pack-*{SUFFIX}"))
        self._packs = {name: self._packs.get(name) or _SealedPack(self._folder / name, self._seals) for name in names}

    def has(self, oid: bytes) -> bool:
        """Whether one of them has an object."""
        return any(pack.has(oid) for pack in self._packs.values())

    def find(self, oid: bytes) -> bytes | None:
        """Return an object as git packs it, or None if none has it that can be opened."""
        for pack in self._packs.values():
            with contextlib.suppress(ValueError):  # who needs the object is told that it is missing
                if (found := pack.find(oid)) is not None:
                    return found
        return None


def names_of(packs: Iterable[Path]) -> frozenset[str]:
    """Return the names of the packs among these files, sealed or not, without their endings."""
    return frozenset(place.stem for place in packs if place.suffix in (".pack", SUFFIX))
