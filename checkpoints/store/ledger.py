"""The ledger: one line a checkpoint made or dropped, in order; the truth about which checkpoints there are.

What is durable of it, the write-ahead log says; lines behind that are the log's to write again.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from checkpoints.errors import room_needed
from checkpoints.git.sealed_pack import CLEAR, SEALED, StoreSeals
from checkpoints.model import Checkpoint
from checkpoints.store.records import from_data, to_data
from checkpoints.store.stored import read_line
from host.durable import replace_file, write_all
from monitors.contract.errors import ChaperonError


class Ledger:
    """The checkpoints of one store, in the order of their creation. Not safe between threads; the store guards it."""

    def __init__(self, path: Path, durable_bytes: int, seals: StoreSeals = CLEAR) -> None:
        """Read or create the ledger; what lies behind this size was never settled, and is cut off.

        Raises:
            ChaperonError: It is sealed, and these do not open it; nothing was changed.
        """
        self.path = path
        self.seals = seals
        self.lies_open = False
        """Whether a line is not sealed that would be now."""
        self._made: dict[str, Checkpoint] = {}
        self._dropped: set[str] = set()
        self._last_number = 0
        self.damaged: tuple[str, ...] = ()
        """Lines that are no records; what they said is lost here, and may be found in the commits."""
        self._open()
        try:
            for line in os.pread(self._fd, durable_bytes, 0).splitlines():
                self._take(line)
        except BaseException:
            self.close()
            raise
        if self.size_bytes > durable_bytes:
            os.ftruncate(self._fd, durable_bytes)

    def _open(self) -> None:
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _take(self, line: bytes) -> None:
        try:
            record = read_line(line, self.seals)
            self.lies_open |= self.seals.seals and not line.partition(b" ")[2].startswith(SEALED)
            if "made" in record:
                checkpoint = from_data(record["made"])
                self._made[checkpoint.name] = checkpoint
                self._last_number = max(self._last_number, checkpoint.number)
            if "dropped" in record:
                self._made.pop(record["dropped"], None)
                self._dropped.add(record["dropped"])
            self._last_number = max(self._last_number, record.get("last", 0))
        except ChaperonError:
            raise
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

    def compact(self, announce: Callable[[int], None]) -> None:
        """Write the ledger anew, durably, without what was dropped, so that it does not grow for ever.

        Args:
            announce: Takes the size that counts as durable before it is there: behind that, a crash cuts off.
        """
        lines = [made(checkpoint, self.seals) for checkpoint in self._made.values()]
        data = b"".join([*lines, _encode({"last": self._last_number}, self.seals)])
        if len(data) >= self.size_bytes:
            if not self.lies_open:
                return
            announce(len(data))
        with room_needed("the ledger of checkpoints"):
            replace_file(self.path, data)
        os.close(self._fd)
        self._open()
        self.lies_open = False

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def made(checkpoint: Checkpoint, seals: StoreSeals = CLEAR) -> bytes:
    """Return the line that says that a checkpoint was made."""
    return _encode({"made": to_data(checkpoint)}, seals)


def dropped(name: str, seals: StoreSeals = CLEAR) -> bytes:
    """Return the line that says that a checkpoint was dropped."""
    return _encode({"dropped": name}, seals)


def _encode(record: dict[str, Any], seals: StoreSeals) -> bytes:
    """Return a line: checksum, space, JSON."""
    body = seals.stored(json.dumps(record, separators=(",", ":")).encode())
    return b"%08x %s\n" % (zlib.crc32(body), body)
