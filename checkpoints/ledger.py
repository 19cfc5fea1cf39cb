"""The ledger: one line a checkpoint made or dropped. A checkpoint exists from the moment its line is durable.

An append and one sync announce a checkpoint; refs follow from the ledger and are mended from it.
A line that was torn by a crash was never announced, and is cut off when the next one is written.
"""

import fcntl
import json
import os
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from checkpoints.durable import replace_file, room_needed, sync_folder, write_all
from checkpoints.model import Checkpoint
from checkpoints.records import from_data, to_data


class Ledger:
    """The checkpoints of one store, in the order in which they were made. Safe between threads and processes."""

    def __init__(self, path: Path) -> None:
        """Read or create the ledger at this path."""
        self.path = path
        self._mutex = threading.RLock()
        self._made: dict[str, Checkpoint] = {}
        self._dropped: set[str] = set()
        self._read_to = 0
        self._inode = 0
        self._last_number = 0
        self.damaged: tuple[str, ...] = ()
        """Lines that are no records; what they said is lost here, and may be found in the commits."""
        if not path.exists():
            path.touch(0o600)
            sync_folder(path.parent)
        self.refresh()

    def refresh(self) -> None:
        """Take in what was appended since, by this or another process."""
        with self._mutex:
            state = self.path.stat()
            if state.st_ino != self._inode or state.st_size < self._read_to:
                self._made.clear()
                self._dropped.clear()
                self._read_to, self._inode, self.damaged = 0, state.st_ino, ()
            if state.st_size == self._read_to:
                return
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                data = file.read()
            whole = data.rfind(b"\n") + 1
            for line in data[:whole].splitlines():
                self._take(line)
            self._read_to += whole

    def _take(self, line: bytes) -> None:
        try:
            record = _decode(line)
            if "made" in record:
                checkpoint = from_data(record["made"])
                self._made[checkpoint.name] = checkpoint
                self._last_number = max(self._last_number, checkpoint.number)
            else:
                self._made.pop(record["dropped"], None)
                self._dropped.add(record["dropped"])
            self._last_number = max(self._last_number, record.get("last", 0))
        except (ValueError, KeyError, TypeError) as error:
            self.damaged += (f"{line[:80]!r}: {error}",)

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Every checkpoint there is, oldest first."""
        with self._mutex:
            return tuple(self._made.values())

    @property
    def next_number(self) -> int:
        """The number that the next checkpoint gets."""
        with self._mutex:
            return self._last_number + 1

    def get(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of this name, or None."""
        with self._mutex:
            return self._made.get(name)

    def was_dropped(self, name: str) -> bool:
        """Whether a checkpoint of this name was once dropped on purpose."""
        with self._mutex:
            return name in self._dropped and name not in self._made

    def add(self, checkpoint: Checkpoint) -> None:
        """Announce a checkpoint. It is durable when this returns.

        Raises:
            StoreFullError: There was no room; the ledger is as it was.
        """
        self._append([{"made": to_data(checkpoint)}])

    def drop(self, names: Iterable[str]) -> None:
        """Forget checkpoints, durably; names that are not there do no harm."""
        self._append([{"dropped": name} for name in names])

    def _append(self, records: list[dict[str, Any]]) -> None:
        if not records:
            return
        data = b"".join(_encode(record) for record in records)
        with self._mutex, self.path.open("r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refresh()
            os.ftruncate(file.fileno(), self._read_to)
            os.lseek(file.fileno(), 0, os.SEEK_END)
            try:
                with room_needed("the ledger of checkpoints"):
                    write_all(file.fileno(), data)
                    os.fdatasync(file.fileno())
            except BaseException:
                os.ftruncate(file.fileno(), self._read_to)
                raise
            self.refresh()

    def compact(self) -> None:
        """Write the ledger anew without what was dropped, so that it does not grow for ever."""
        with self._mutex:
            self.refresh()
            lines = [_encode({"made": to_data(checkpoint)}) for checkpoint in self._made.values()]
            if not lines:
                return
            last = self._last_number
            lines[-1] = _encode({"made": to_data(self.checkpoints[-1]), "last": last})
            with room_needed("the ledger of checkpoints"):
                replace_file(self.path, b"".join(lines))
            self.refresh()


def _encode(record: dict[str, Any]) -> bytes:
    """Return a line: checksum, space, JSON."""
    body = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _decode(line: bytes) -> dict[str, Any]:
    """Return what a line says.

    Raises:
        ValueError: The line is damaged.
    """
    checksum, _, body = line.partition(b" ")
    if int(checksum, 16) != zlib.crc32(body):
        raise ValueError("its checksum does not match")
    record = json.loads(body)
    if not isinstance(record, dict):
        raise TypeError("it is no object")
    return record
