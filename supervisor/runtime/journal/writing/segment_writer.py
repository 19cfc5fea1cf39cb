"""Writing of the journal's files: the end of the last file, and the start of a new one.

Blocks; owned by the writer's thread.

A failed write for lack of room leaves the file as it was and may be tried again. A failed sync, or half a write that
cannot be taken off again, may not: that is a `JournalPoisonedError`.
"""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from host.disk_errors import NO_SPACE
from host.durable import Disk, replace_file, write_all
from supervisor.protocol import records
from supervisor.runtime.journal.errors import JournalPoisonedError
from supervisor.runtime.journal.reader import segment_path
from supervisor.runtime.journal.recovery import JournalRecovery
from supervisor.runtime.journal.writing.sync_thread import SyncJob

SEGMENT_BYTES = 64 * 1024 * 1024
"""Size at which a new file is begun: 64 MiB are checked at start in half a second, and are 130,000 events of 500
bytes."""

BATCH_BYTES = 4 * 1024 * 1024
"""Most that is written in one call, so that what waits is held in memory once and not twice."""


class WriteBatch(NamedTuple):
    """Lines for one write, and where the journal is behind them."""

    lines: list[bytes]
    size: int
    hash: str
    n: int
    bodies_bytes: int
    """Size of what the lines were made of, in bytes."""


class SegmentFile:
    """The file that is written at present, and its successors.

    Args:
        directory: The journal's directory.
        found: Where to go on.
        disk: Where.
        segment_bytes: Size at which a new file is begun.
    """

    def __init__(self, directory: Path, found: JournalRecovery, disk: Disk, segment_bytes: int) -> None:
        self._directory, self.disk, self._segment_bytes = directory, disk, segment_bytes
        self._path, self._size, self._hash = found.segment, found.size, found.hash
        self._fd: int | None = None
        self.n = found.n
        """Number of the last record written."""
        self.key = b""
        """Signs each line; empty leaves them unsigned."""
        self.before_roll: Callable[[], None] = lambda: None
        """Called before a file is left for the next one; a sync of it in another thread must have ended then."""
        self._written_bytes = self._synced_bytes = 0

    def append(self, pending: Iterable[tuple[int, bytes]]) -> WriteBatch:
        """Write records as far as they go into one call and one file, all of them or none.

        Args:
            pending: Number and body of each; at least one.

        Raises:
            OSError: Nothing was written; may be tried again if it was for lack of room.
            JournalPoisonedError: May not be tried again.
        """
        batch = self._frame(pending)
        if not batch.lines:
            self._roll()
            batch = self._frame(pending)
        self._write(b"".join(batch.lines))
        self._size, self._hash, self.n = batch.size, batch.hash, batch.n
        return batch

    @property
    def unsynced_bytes(self) -> int:
        """How much was written that is not known to be on the disk, in bytes."""
        return self._written_bytes - self._synced_bytes

    def sync(self) -> None:
        """Bring all that was written to the disk.

        Raises:
            JournalPoisonedError: It failed, whatever for.
        """
        if not self.unsynced_bytes:
            return
        job = self.to_sync()
        try:
            self.disk.sync(job.fd)
        except OSError as error:
            raise self.poison(error) from error
        self.synced(job)

    def to_sync(self) -> SyncJob:
        """Say what another thread is to sync; there must be something. The file stays open until `before_roll`."""
        assert self._fd is not None
        return SyncJob(self._fd, self.n, self._written_bytes)

    def synced(self, job: SyncJob) -> None:
        """Note that this is on the disk."""
        self._synced_bytes = max(self._synced_bytes, job.written_bytes)

    def begin_anew(self) -> None:
        """Have the next record begin a new file; the present one is finished."""
        if self._path is not None:
            self._roll()

    def close(self) -> None:
        """Give the file back."""
        fd, self._fd = self._fd, None
        if fd is not None:
            # What matters was synced before, and a descriptor is gone even where closing it fails.
            with contextlib.suppress(OSError):
                self.disk.close(fd)

    def poison(self, error: BaseException) -> JournalPoisonedError:
        """Say that this failed and that the journal cannot go on."""
        return JournalPoisonedError(error, str(self._path or self._directory))

    def _frame(self, pending: Iterable[tuple[int, bytes]]) -> WriteBatch:
        """Make lines of what is pending; none where the first belongs into a new file."""
        lines: list[bytes] = []
        size, last, n, bodies_bytes = self._size, self._hash, self.n, 0
        for number, body in pending:
            if self._fd is None:
                self._open(number)
                size, last = self._size, self._hash
            line, line_hash = records.frame(number, body, last, self.key)
            over = size + len(line) > self._segment_bytes and (lines or self._has_records(number))
            if over or bodies_bytes >= BATCH_BYTES:
                break
            lines.append(line)
            size, last, n, bodies_bytes = size + len(line), line_hash, number, bodies_bytes + len(body)
        return WriteBatch(lines, size, last, n, bodies_bytes)

    def _has_records(self, n: int) -> bool:
        """Whether the present file has a record already, where the next is `n`."""
        return self._path != segment_path(self._directory, n)

    def _open(self, n: int) -> None:
        """Open the file to go on in, or begin one whose first record is `n`."""
        if self._path is None:
            path = segment_path(self._directory, n)
            header, header_hash = records.encode_header(n, self._hash)
            replace_file(path, header, disk=self.disk)
            self._path, self._size, self._hash = path, len(header), header_hash
        self._fd = self.disk.open(self._path, os.O_WRONLY | os.O_APPEND)

    def _roll(self) -> None:
        """Finish the present file; the next record begins a new one."""
        self.before_roll()
        self.sync()
        self.close()
        self._path = None

    def _write(self, data: bytes) -> None:
        assert self._fd is not None
        try:
            write_all(self._fd, data, disk=self.disk)
        except OSError as error:
            if error.errno in NO_SPACE:
                self._cut_back(self._fd)
            raise
        self._written_bytes += len(data)

    def _cut_back(self, fd: int) -> None:
        """Take half a batch off the file again."""
        try:
            self.disk.truncate(fd, self._size)
        except OSError as error:
            raise self.poison(error) from error
