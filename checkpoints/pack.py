"""One capture is one pack: every new object in one file, made durable by one sync.

Loose objects would need a sync each. The pack holds whole objects, no deltas; `store.pack` finds those off-peak.
The format is git's (gitformat-pack), versions 2 of pack and index.
"""

import hashlib
import os
import struct
import zlib
from pathlib import Path

from checkpoints.durable import room_needed, sync_folder, write_all
from checkpoints.objects import Kind, object_id

_BUFFER_BYTES = 1 << 20
"""Written in pieces of this size, so that a first capture of gigabytes needs no more memory."""

_FAST = 1
"""zlib's level: level 6 takes three times as long for a few percent; `store.pack` compresses again."""


def _header(kind: Kind, size: int) -> bytes:
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

    Not safe between threads: one capture has one writer.
    """

    def __init__(self, folder: Path, label: str) -> None:
        """Write into this `objects/pack` folder; the label keeps writers of several workspaces apart."""
        self._folder = folder
        self._path = folder / f"tmp_{label}.pack"
        self._index_path = folder / f"tmp_{label}.idx"
        self._fd = -1
        self._buffer = bytearray()
        self._offset = 12
        self._objects: dict[bytes, tuple[int, int]] = {}
        self.new_bytes = 0

    def __len__(self) -> int:
        return len(self._objects)

    def add(self, kind: Kind, content: bytes) -> bytes:
        """Take an object in and return its id; taken in once however often it comes."""
        oid = object_id(kind, content)
        self.add_known(kind, content, oid)
        return oid

    def add_known(self, kind: Kind, content: bytes, oid: bytes) -> None:
        """Take in an object whose id was computed before."""
        if oid in self._objects:
            return
        packed = _header(kind, len(content)) + zlib.compress(content, _FAST)
        self._objects[oid] = (self._offset, zlib.crc32(packed))
        self._offset += len(packed)
        self._buffer += packed
        if len(self._buffer) > _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        with room_needed("a pack of new objects"):
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o400)
                write_all(self._fd, bytes(12))
            write_all(self._fd, bytes(self._buffer))
        self._buffer.clear()

    def finish(self) -> Path | None:
        """Put the pack in place, durably, and return its path; None where nothing was taken in.

        Raises:
            StoreFullError: There was no room; no trace is left.
        """
        if not self._objects:
            return None
        try:
            self._flush()
            digest = self._close_pack()
            final = (
                self._folder
                / f"pack-{hashlib.sha1(b''.join(sorted(self._objects)), usedforsecurity=False).hexdigest()}"
            )
            self._write_index(digest)
            with room_needed("the names of a pack"):
                self._path.rename(final.with_suffix(".pack"))
                self._index_path.rename(final.with_suffix(".idx"))
                sync_folder(self._folder)
        except BaseException:
            self.abandon()
            raise
        return final.with_suffix(".pack")

    def abandon(self) -> None:
        """Forget all of it and remove what was written."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._path.unlink(missing_ok=True)
        self._index_path.unlink(missing_ok=True)
        self._objects.clear()
        self._buffer.clear()

    def _close_pack(self) -> bytes:
        """Write the header, whose count was not known before, and the checksum over all; sync and close."""
        with room_needed("a pack of new objects"):
            os.pwrite(self._fd, struct.pack(">4sII", b"PACK", 2, len(self._objects)), 0)
            os.lseek(self._fd, 0, os.SEEK_SET)
            digest = hashlib.sha1(usedforsecurity=False)
            while piece := os.read(self._fd, _BUFFER_BYTES):
                digest.update(piece)
            write_all(self._fd, digest.digest())
            os.fsync(self._fd)
            self.new_bytes = self._offset + 20
            os.close(self._fd)
            self._fd = -1
        return digest.digest()

    def _write_index(self, pack_digest: bytes) -> None:
        data = _index(self._objects, pack_digest)
        with room_needed("the index of a pack"):
            fd = os.open(self._index_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o400)
            try:
                write_all(fd, data)
                os.fsync(fd)
            finally:
                os.close(fd)


class NothingWritten:
    """Takes objects in as a writer does, and keeps none: for a look that changes nothing."""

    def add(self, kind: Kind, content: bytes) -> bytes:
        """Return the id that the object would have."""
        return object_id(kind, content)

    def add_known(self, kind: Kind, content: bytes, oid: bytes) -> None:
        """Do nothing."""


def _index(objects: dict[bytes, tuple[int, int]], pack_digest: bytes) -> bytes:
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
