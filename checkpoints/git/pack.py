"""One capture is one pack: every new object in one file.

Loose objects would be a file and a sync each. The pack holds whole objects, no deltas; `checkpoints.store.packing`
finds those off-peak. The format is git's (gitformat-pack), versions 2 of pack and index.
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

from checkpoints.errors import room_needed
from checkpoints.git.objects import ObjectKind, object_id
from host.durable import replace_file, write_all

_BUFFER_BYTES = 1 << 20
"""Written in pieces of this size, so that a first capture of gigabytes needs no more memory."""

_HEADER_BYTES, _DIGEST_BYTES = 12, 20

_FAST = 1
"""zlib's level: level 6 takes three times as long for a few percent; packing compresses again."""


def _header(kind: ObjectKind, size: int) -> bytes:
    """Type and length as git writes them: 4 bits of length beside the type, then 7 a byte, least first."""
    byte, size = (kind << 4) | (size & 15), size >> 4
    out = bytearray()
    while size:
        out.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    out.append(byte)
    return bytes(out)


class PackWriter:
    """Collects new objects and puts them into a store as one pack, or leaves no trace.

    Few objects stay in memory until `seal`; many go to the disk as they come, and `finish` syncs them.
    Not safe between threads: one capture has one writer.
    """

    def __init__(self, folder: Path, label: str) -> None:
        """Write into this `objects/pack` folder; the label keeps writers of several workspaces apart."""
        self._folder = folder
        self._path = folder / f"tmp_{label}.pack"
        self._fd = -1
        self._pending: dict[bytes, bytes] = {}
        self._pending_bytes = 0
        self._offset = _HEADER_BYTES
        self._objects: dict[bytes, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def size_bytes(self) -> int:
        """How large the pack will be."""
        return self._offset + _DIGEST_BYTES

    @property
    def is_large(self) -> bool:
        """Whether part of it is on the disk already, so that it is to be finished, not sealed."""
        return self._fd >= 0

    @property
    def pending(self) -> dict[bytes, bytes]:
        """The objects that are not on the disk yet, packed; all of them, unless it is large."""
        return self._pending

    def add(self, kind: ObjectKind, content: bytes) -> bytes:
        """Take an object in and return its id; taken in once however often it comes."""
        oid = object_id(kind, content)
        self.add_known(kind, content, oid)
        return oid

    def add_known(self, kind: ObjectKind, content: bytes, oid: bytes) -> None:
        """Take in an object whose id was computed before.

        Raises:
            StoreFullError: There was no room.
        """
        if oid not in self._objects:
            self.add_packed(oid, pack_object(kind, content))

    def add_packed(self, oid: bytes, packed: bytes) -> None:
        """Take in an object as another writer packed it.

        Raises:
            StoreFullError: There was no room.
        """
        self._objects[oid] = (self._offset, zlib.crc32(packed))
        self._offset += len(packed)
        self._pending[oid] = packed
        self._pending_bytes += len(packed)
        if self._pending_bytes > _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        with room_needed("a pack of new objects"):
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o400)
                write_all(self._fd, self._begin())
            write_all(self._fd, self._body(self._pending))
        self._pending = {}
        self._pending_bytes = 0

    def seal(self) -> bytes:
        """Return the pack, if none of it is on the disk yet; empty without objects."""
        return self._whole() if self._objects else b""

    def _begin(self) -> bytes:
        """Return the beginning of the file, until it is known what comes."""
        return bytes(_HEADER_BYTES)

    def _body(self, objects: Mapping[bytes, bytes]) -> bytes:
        """Return objects as they are written."""
        return b"".join(objects.values())

    def _whole(self) -> bytes:
        body = _pack_header(len(self._objects)) + self._body(self._pending)
        return body + hashlib.sha1(body, usedforsecurity=False).digest()

    def finish(self) -> str:
        """Put the pack in place, durably, and return its name without an ending; empty without objects.

        Raises:
            StoreFullError: There was no room; no trace is left.
        """
        if not self._objects:
            return ""
        try:
            self._flush()
            return self._put()
        except BaseException:
            self.abandon()
            raise

    def _put(self) -> str:
        """Put what was written in its place, with the index."""
        digest = self._close_pack()
        final = self._folder / f"pack-{digest.hex()}"
        with room_needed("the index of a pack"):
            self._path.rename(final.with_suffix(".pack"))
            replace_file(final.with_suffix(".idx"), index_of(self._objects, digest))
        return final.name

    def abandon(self) -> None:
        """Forget all of it and remove what was written."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._path.unlink(missing_ok=True)
        self._objects = {}
        self._pending = {}

    def _close_pack(self) -> bytes:
        """Write the header, whose count was not known before, and the checksum over all; sync and close."""
        with room_needed("a pack of new objects"):
            os.pwrite(self._fd, _pack_header(len(self._objects)), 0)
            os.lseek(self._fd, 0, os.SEEK_SET)
            digest = hashlib.sha1(usedforsecurity=False)
            while piece := os.read(self._fd, _BUFFER_BYTES):
                digest.update(piece)
            write_all(self._fd, digest.digest())
            os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1
        return digest.digest()


def put_pack(folder: Path, pack: bytes) -> None:
    """Put a sealed pack and then its index into the folder, durably; without an index a pack is not seen.

    Raises:
        StoreFullError: There was no room; no trace is left.
    """
    final = folder / f"pack-{pack[-_DIGEST_BYTES:].hex()}"
    try:
        with room_needed("a pack of new objects"):
            replace_file(final.with_suffix(".pack"), pack)
            replace_file(final.with_suffix(".idx"), index_of_pack(pack))
    except BaseException:
        final.with_suffix(".pack").unlink(missing_ok=True)
        raise


def pack_object(kind: ObjectKind, content: bytes) -> bytes:
    """Return an object as a writer packs it."""
    return _header(kind, len(content)) + zlib.compress(content, _FAST)


def unpack(packed: bytes) -> tuple[ObjectKind, bytes]:
    """Return type and content of an object as a writer packed it."""
    kind, start = _read_header(packed, 0)
    return kind, zlib.decompress(packed[start:])


def index_of_pack(pack: bytes) -> bytes:
    """Return the index of a pack of whole objects, as `PackWriter` writes them; for one whose index was lost.

    Raises:
        ValueError: These bytes are no such pack.
    """
    if len(pack) < _HEADER_BYTES + _DIGEST_BYTES or pack[:4] != b"PACK":
        raise ValueError("These bytes are no pack.")
    count = struct.unpack(">I", pack[8:12])[0]
    objects: dict[bytes, tuple[int, int]] = {}
    offset = _HEADER_BYTES
    for _ in range(count):
        start = offset
        kind, offset = _read_header(pack, offset)
        inflate = zlib.decompressobj()
        content = inflate.decompress(pack[offset:-_DIGEST_BYTES])
        offset = len(pack) - _DIGEST_BYTES - len(inflate.unused_data)
        objects[object_id(kind, content)] = (start, zlib.crc32(pack[start:offset]))
    return index_of(objects, pack[-_DIGEST_BYTES:])


def _read_header(pack: bytes, offset: int) -> tuple[ObjectKind, int]:
    kind = ObjectKind(pack[offset] >> 4 & 7)
    while pack[offset] & 0x80:
        offset += 1
    return kind, offset + 1


def _pack_header(count: int) -> bytes:
    return struct.pack(">4sII", b"PACK", 2, count)


class NothingWritten:
    """Takes objects in as a writer does, and keeps none: for a look that changes nothing."""

    def add(self, kind: ObjectKind, content: bytes) -> bytes:
        """Return the id that the object would have."""
        return object_id(kind, content)

    def add_known(self, kind: ObjectKind, content: bytes, oid: bytes) -> None:
        """Do nothing."""


def index_of(objects: dict[bytes, tuple[int, int]], pack_digest: bytes) -> bytes:
    """Return the index: a fan-out by first byte, then ids, checksums and offsets in the order of ids."""
    names = sorted(objects)
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    fan, total = [], 0
    for count in counts:
        total += count
        fan.append(total)
    offsets: list[int] = []
    large: list[int] = []
    for name in names:
        offset = objects[name][0]
        if offset < 1 << 31:
            offsets.append(offset)
        else:
            offsets.append(1 << 31 | len(large))
            large.append(offset)
    data = b"".join(
        [
            b"\377tOc\0\0\0\2",
            struct.pack(">256I", *fan),
            b"".join(names),
            struct.pack(f">{len(names)}I", *(objects[name][1] for name in names)),
            struct.pack(f">{len(names)}I", *offsets),
            struct.pack(f">{len(large)}Q", *large),
            pack_digest,
        ]
    )
    return data + hashlib.sha1(data, usedforsecurity=False).digest()
