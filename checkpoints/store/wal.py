"""The write-ahead log: what announces a checkpoint with a single, cheap sync.

New objects and the ledger's line go into this file together, which is synced. Its blocks were written before, so the
sync waits for these bytes alone and for no commit of the file system's journal (ext4 here: 0.2 ms quiet; four syncs of
new files take 1.1 ms quiet and 16 ms beside a busy build).
`Store.settle` puts the rest in its place, off-peak or when the log is full, and begins it anew: one pack for many
captures. After a crash it is replayed.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from checkpoints.errors import room_needed
from host.durable import replace_file

FIRST_BYTES = 64 << 10
"""The size of a new log. A project with little work needs no more, and a thousand of them may start at once on one
disk."""

MOST_BYTES = 4 << 20
"""The size to which a log grows. A capture of ten files takes about 40 KB, so the log settles after some hundred."""

SIZES = tuple(size << 10 for size in (64, 256, 1024, 4096))
"""The sizes that a log may have; one of another was cut."""

_HEADER = struct.Struct(">8sQQI")
"""Mark, generation, size of the ledger that is durable without this log, checksum."""
_RECORD = struct.Struct(">QIII")
"""Generation, length of the line, length of the pack, checksum of both and of the generation."""
_MARK = b"CHAPWAL1"
_HEAD_BYTES = 512
"""The header has a sector of its own: it is written whole or not at all."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One checkpoint that was announced: its line in the ledger, and the pack with what is new in it."""

    line: bytes
    pack: bytes


class WriteAheadLog:
    """One file, all of whose blocks are written. Not safe between threads; the store guards it."""

    def __init__(self, path: Path, ledger_bytes: int) -> None:
        """Open the log, or create it for a ledger of this size, all of which then counts as durable.

        A log whose header is damaged is moved aside, never taken for an empty one: `problem` says so.

        Raises:
            StoreFullError: There was no room to create it.
        """
        self.path = path
        self.problem = ""
        """The fault of the log that was found; empty for none."""
        if not path.exists():
            self._create(blank(ledger_bytes))
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        header = self._read_header()
        if header is None:
            header = self._put_aside(ledger_bytes)
        self._generation, self.settled_bytes = header
        self._end = _HEAD_BYTES

    def _put_aside(self, ledger_bytes: int) -> tuple[int, int]:
        aside = self.path.with_name("wal.damaged")
        self.problem = (
            f"{self.path} did not begin as a write-ahead log does and was moved to {aside}; files of checkpoints made "
            "since the store was last settled may be lost."
        )
        os.close(self._fd)
        self.path.rename(aside)
        self._create(blank(ledger_bytes))
        self._fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        return 1, ledger_bytes

    def _create(self, content: bytes) -> None:
        with room_needed("the write-ahead log"):
            replace_file(self.path, content)

    def _read_header(self) -> tuple[int, int] | None:
        data = os.pread(self._fd, _HEADER.size, 0)
        if len(data) == _HEADER.size and self.size_bytes in SIZES:
            mark, generation, settled, _ = _HEADER.unpack(data)
            if mark == _MARK and data == _header(generation, settled):
                return generation, settled
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_empty(self) -> bool:
        """Whether nothing in the store relies on this log."""
        return self._end == _HEAD_BYTES

    @property
    def size_bytes(self) -> int:
        """How large the file is."""
        return os.fstat(self._fd).st_size

    def fits(self, size: int) -> bool:
        """Whether a promise of so many bytes has room without settling."""
        return self._end + _RECORD.size + size <= self.size_bytes

    def grow(self, size: int) -> None:
        """Become larger, and so large that a promise of so many bytes has room, if a log may be. It must be empty.

        Raises:
            StoreFullError: There was no room; the log is as it was.
        """
        needed = _HEAD_BYTES + _RECORD.size + size
        larger = next((one for one in SIZES if one > self.size_bytes and one >= needed), None)
        if larger is None:
            return
        self._create(blank(self.settled_bytes, larger))
        os.close(self._fd)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        self._generation = 1

    def append(self, promise: Promise) -> None:
        """Make a promise durable: this announces the checkpoint.

        Raises:
            OSError: The disk failed; the promise counts as not made.
        """
        body = promise.line + promise.pack
        head = _RECORD.pack(
            self._generation, len(promise.line), len(promise.pack), _checksum(self._generation, len(promise.line), body)
        )
        os.pwrite(self._fd, head + body, self._end)
        os.fdatasync(self._fd)
        self._end += len(head) + len(body)

    def replay(self) -> Iterator[Promise]:
        """Return each promise since the log was begun anew, in order; a torn one was never announced."""
        while promise := self._read_at(self._end):
            self._end += _RECORD.size + len(promise.line) + len(promise.pack)
            yield promise

    def _read_at(self, offset: int) -> Promise | None:
        head = os.pread(self._fd, _RECORD.size, offset)
        if len(head) < _RECORD.size:
            return None
        generation, line_bytes, pack_bytes, checksum = _RECORD.unpack(head)
        if generation != self._generation or offset + line_bytes + pack_bytes > self.size_bytes:
            return None
        body = os.pread(self._fd, line_bytes + pack_bytes, offset + _RECORD.size)
        if _checksum(generation, line_bytes, body) != checksum:
            return None
        return Promise(body[:line_bytes], body[line_bytes:])

    def begin_anew(self, settled_bytes: int) -> None:
        """Forget all promises: everything is durable without them, the ledger up to this size."""
        os.pwrite(self._fd, _header(self._generation + 1, settled_bytes), 0)
        os.fdatasync(self._fd)
        self._generation += 1
        self.settled_bytes = settled_bytes
        self._end = _HEAD_BYTES

    def blank(self) -> None:
        """Write the log anew, so that no bytes of earlier promises are left in it. It must be empty.

        Raises:
            StoreFullError: There was no room; the log is as it was.
        """
        self._create(blank(self.settled_bytes, self.size_bytes))
        os.close(self._fd)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        self._generation = 1

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def blank(ledger_bytes: int, size: int = FIRST_BYTES) -> bytes:
    """Return what a log without promises is, for a ledger of this size, all of which counts as durable."""
    return _header(1, ledger_bytes).ljust(size, b"\0")


def _header(generation: int, settled: int) -> bytes:
    return _HEADER.pack(_MARK, generation, settled, zlib.crc32(struct.pack(">8sQQ", _MARK, generation, settled)))


def _checksum(generation: int, line_bytes: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack(">QI", generation, line_bytes)))
