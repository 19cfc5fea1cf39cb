"""The ledger: one line a checkpoint made or dropped, in order; the truth about which checkpoints there are.

What is durable of it, the write-ahead log says; lines behind that are the log's to write again.
"""

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from checkpoints.errors import room_needed
from checkpoints.model import Checkpoint
from checkpoints.store.records import from_data, to_data
from checkpoints.store.stored import read_line
from host.durable import replace_file, write_all


class Ledger:
    """The checkpoints of one store, in the order of their creation. Not safe between threads; the store guards it."""

    def __init__(self, path: Path, durable_bytes: int) -> None:
        """Read or create the ledger; what lies behind this size was never settled, and is cut off."""
        self.path = path
        self._made: dict[str, Checkpoint] = {}
        self._dropped: set[str] = set()
        self._last_number = 0
        self.damaged: tuple[str, ...] = ()
        """Lines that are no records; what they said is lost here, and may be found in the commits."""
        self._open()
        if self.size_bytes > durable_bytes:
            os.ftruncate(self._fd, durable_bytes)
        for line in path.read_bytes().splitlines():
            self._take(line)

    def _open(self) -> None:
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _take(self, line: bytes) -> None:
        try:
            record = read_line(line)
            if "made" in record:
                checkpoint = from_data(record["made"])
                self._made[checkpoint.name] = checkpoint
                self._last_number = max(self._last_number, checkpoint.number)
            if "dropped" in record:
                self._made.pop(record["dropped"], None)
                self._dropped.add(record["dropped"])
            self._last_number = max(self._last_number, record.get("last", 0))
        except (ValueError, KeyError, TypeError) as error:
            self.damaged += (f"{line[:80]!r}: {error}",)

    @property
    def size_bytes(self) -> int:
        """How long the ledger is."""
        return os.fstat(self._fd).st_size

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Every checkpoint there is, oldest first."""
        return tuple(self._made.values())

    @property
    def next_number(self) -> int:
        """The number that the next checkpoint gets."""
        return self._last_number + 1

    def get(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of this name, or None."""
        return self._made.get(name)

    def was_dropped(self, name: str) -> bool:
        """Whether a checkpoint of this name was once dropped on purpose."""
        return name in self._dropped and name not in self._made

    def append(self, lines: Iterable[bytes]) -> None:
        """Add lines, not yet durably.

        Raises:
            StoreFullError: There was no room; the ledger is as it was.
        """
        before = self.size_bytes
        lines = list(lines)
        try:
            with room_needed("the ledger of checkpoints"):
                write_all(self._fd, b"".join(lines))
        except BaseException:
            os.ftruncate(self._fd, before)
            raise
        for line in lines:
            self._take(line.removesuffix(b"\n"))

    def take_back(self, checkpoint: Checkpoint, size_bytes: int) -> None:
        """Remove the line last added: it could not be announced. The ledger had this size before."""
        os.ftruncate(self._fd, size_bytes)
        self._made.pop(checkpoint.name, None)

    def sync(self) -> None:
        """Make all of it durable."""
        os.fsync(self._fd)

    def compact(self) -> None:
        """Write the ledger anew, durably, without what was dropped, so that it does not grow for ever."""
        lines = [made(checkpoint) for checkpoint in self._made.values()]
        data = b"".join([*lines, _encode({"last": self._last_number})])
        if len(data) >= self.size_bytes:
            # What the log takes for durable must not be less than what is written here, or a crash cuts it off.
            return
        with room_needed("the ledger of checkpoints"):
            replace_file(self.path, data)
        os.close(self._fd)
        self._open()

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def made(checkpoint: Checkpoint) -> bytes:
    """Return the line that says that a checkpoint was made."""
    return _encode({"made": to_data(checkpoint)})


def dropped(name: str) -> bytes:
    """Return the line that says that a checkpoint was dropped."""
    return _encode({"dropped": name})


def _encode(record: dict[str, Any]) -> bytes:
    """Return a line: checksum, space, JSON."""
    body = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)
