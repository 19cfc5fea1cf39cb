"""The thread that writes the journal. All that blocks happens here, and nowhere else in the journal.

It takes what queued up, writes it in one call, says so, and syncs now and then for all at once. A failure ends it for
good (poison), except for a full disk: then the half-written batch is cut off again, a reserve of room is given up, and
what waits is tried again until it fits. The order in the file is the order in which events were put, always.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from supervisor.protocol import records
from supervisor.runtime.clock import Clock
from supervisor.runtime.disk import NO_SPACE, Disk, Reserve, replace_file, write_all
from supervisor.runtime.journal_errors import (
    JournalClosedError,
    JournalError,
    JournalFullError,
    JournalPoisonedError,
)
from supervisor.runtime.journal_recovery import Recovery
from supervisor.runtime.segments import segment_path

SEGMENT_BYTES = 64 * 1024 * 1024
"""Size at which a new file is begun: 64 MiB is checked at start in some 0.2 s, and is 130,000 events of 500 bytes."""

BATCH_BYTES = 4 * 1024 * 1024
"""Most that is written in one call, so that what waits is held in memory once and not twice."""

SYNC_SECONDS = 0.010
"""Longest time that written records stay unsynced. One fdatasync costs some 400 µs on ext4 whether it carries one record
or a hundred (6 µs each then), so 100 a second cost 4 % of one disk's time, and a power cut loses 10 ms at most."""

SYNC_BYTES = 256 * 1024
"""Most bytes that stay unsynced; beyond it a sync costs more by what it carries than by being one."""

RETRY_SECONDS = 1.0
"""How often a full disk is tried again: a person who made room sees the daemon go on at once, and the tries cost nothing."""


class JournalState(StrEnum):
    """What the journal can do."""

    OPEN = "open"
    """It takes events and writes them."""
    FULL = "full"
    """The disk has no room: what was taken waits in memory, and no more should be read from agents."""
    POISONED = "poisoned"
    """The disk failed: nothing more is acknowledged until a new start."""
    CLOSED = "closed"
    """It was closed in order."""


class Stop:
    """Put last: write and sync all, then end."""


class Poke:
    """Wakes the thread to look at what is wanted."""


class _Batch(NamedTuple):
    """Lines for one write, and where the journal is behind them."""

    lines: list[bytes]
    size: int
    hash: str
    n: int
    bodies_bytes: int


Item = tuple[int, bytes] | Stop | Poke
"""A record's number and body, or a word to the thread."""


class JournalWriter:
    """Owns the journal's files while it runs.

    Its public attributes are written by the thread and read by the loop; each is one assignment, so none is torn.

    Args:
        directory: The journal's directory.
        found: Where to go on.
        disk: Where.
        reserve: Room to give up when there is none.
        clock: Only for the time between syncs.
        segment_bytes: Size at which a new file is begun.
        on_progress: Called in the thread whenever an attribute changed.
    """

    def __init__(
        self,
        directory: Path,
        found: Recovery,
        disk: Disk,
        reserve: Reserve,
        clock: Clock,
        segment_bytes: int,
        on_progress: Callable[[], None],
    ) -> None:
        self._directory, self._disk, self._reserve, self._clock = directory, disk, reserve, clock
        self._segment_bytes, self._on_progress = segment_bytes, on_progress
        self._queue: SimpleQueue[Item] = SimpleQueue()
        self._pending: deque[tuple[int, bytes]] = deque()
        self._stopping = False
        self._fd: int | None = None
        self._segment, self._size, self._hash = found.segment, found.size, found.hash
        self._unsynced_bytes = 0
        self._unsynced_since = 0.0
        self._sync_wanted = 0
        self.state = JournalState.OPEN if reserve.hold() else JournalState.FULL
        self.failure: JournalError | None = None
        """Why nothing more will be acknowledged; None while more may be."""
        self.written_n = found.n
        """Number of the last record that the kernel has; after a poison, that the disk has."""
        self.synced_n = found.n
        """Number of the last record that the disk has."""
        self.taken_bytes = 0
        """Bodies taken off the caller's account since the start, in bytes."""
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Queue something; never blocks."""
        self._queue.put(item)

    def want_synced(self, n: int) -> None:
        """Ask that this record is synced at once and not when its time has come."""
        self._sync_wanted = max(self._sync_wanted, n)
        self._queue.put(Poke())

    def join(self) -> None:
        """Wait until the thread has ended; blocks."""
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._gather()
                self._write_pending()
                if self._sync_is_due():
                    self._sync()
                self._leave_full()
            self._finish()
        except JournalPoisonedError as poison:
            self._fail(poison, JournalState.POISONED)
        except BaseException as error:  # noqa: BLE001 - whatever it is, those who wait must be told
            self._fail(self._poison(error), JournalState.POISONED)
        finally:
            self._close()

    def _gather(self) -> None:
        """Wait for something to do, then take all that queued up, as far as one write goes."""
        size = 0
        with contextlib.suppress(Empty):
            item = self._queue.get(timeout=self._patience())
            while True:
                if isinstance(item, tuple):
                    self._pending.append(item)
                    size += len(item[1])
                elif isinstance(item, Stop):
                    self._stopping = True
                    return
                if size >= BATCH_BYTES:
                    return
                item = self._queue.get_nowait()

    def _patience(self) -> float | None:
        """Return how long the thread may wait for something to do, in seconds; None for ever."""
        if self.state is JournalState.FULL:
            return RETRY_SECONDS
        if self._unsynced_bytes:
            return max(0.0, self._unsynced_since + SYNC_SECONDS - self._clock.mono())
        return None

    def _write_pending(self) -> None:
        while self._pending:
            try:
                self._write_batch()
            except OSError as error:
                if error.errno not in NO_SPACE:
                    raise
                if not self._enter_full():
                    return

    def _write_batch(self) -> None:
        """Write what is pending as far as it goes into one call and one file; it counts whole or not at all."""
        if self._fd is None:
            self._open_segment(self._pending[0][0])
        batch = self._frame_batch()
        if not batch.lines:
            self._roll()
            return
        self._write(b"".join(batch.lines))
        for _ in batch.lines:
            self._pending.popleft()
        self._size, self._hash = batch.size, batch.hash
        self.written_n, self.taken_bytes = batch.n, self.taken_bytes + batch.bodies_bytes
        self._on_progress()

    def _frame_batch(self) -> _Batch:
        """Make lines of what is pending; none where the first belongs into a new file."""
        lines: list[bytes] = []
        size, last, n, bodies_bytes = self._size, self._hash, self.written_n, 0
        for number, body in self._pending:
            line, line_hash = records.frame(number, body, last)
            over = size + len(line) > self._segment_bytes and (lines or self._has_records(number))
            if over or bodies_bytes >= BATCH_BYTES:
                break
            lines.append(line)
            size, last, n, bodies_bytes = size + len(line), line_hash, number, bodies_bytes + len(body)
        return _Batch(lines, size, last, n, bodies_bytes)

    def _has_records(self, n: int) -> bool:
        """Whether the present file has a record already, where the next is `n`."""
        return self._segment != segment_path(self._directory, n)

    def _write(self, data: bytes) -> None:
        assert self._fd is not None
        try:
            write_all(self._disk, self._fd, data)
        except OSError as error:
            if error.errno in NO_SPACE:
                self._cut_back()
            raise
        if not self._unsynced_bytes:
            self._unsynced_since = self._clock.mono()
        self._unsynced_bytes += len(data)

    def _cut_back(self) -> None:
        """Take half a batch off the file again."""
        assert self._fd is not None
        try:
            self._disk.truncate(self._fd, self._size)
        except OSError as error:
            raise self._poison(error) from error

    def _open_segment(self, n: int) -> None:
        """Open the file to go on in, or begin one whose first record is `n`."""
        if self._segment is None:
            path = segment_path(self._directory, n)
            header, header_hash = records.encode_header(n, self._hash)
            replace_file(self._disk, path, header)
            self._segment, self._size, self._hash = path, len(header), header_hash
        self._fd = self._disk.open(self._segment, os.O_WRONLY | os.O_APPEND)

    def _roll(self) -> None:
        """Finish the present file; the next record begins a new one."""
        if self._unsynced_bytes:
            self._sync()
        self._close()
        self._segment = None

    def _sync_is_due(self) -> bool:
        if not self._unsynced_bytes:
            return False
        return (
            self._sync_wanted > self.synced_n
            or self._unsynced_bytes >= SYNC_BYTES
            or self._clock.mono() >= self._unsynced_since + SYNC_SECONDS
        )

    def _sync(self) -> None:
        assert self._fd is not None
        try:
            self._disk.sync(self._fd)
        except OSError as error:
            # Not an OSError from here on: a sync that found no room is no reason to try again.
            raise self._poison(error) from error
        self._unsynced_bytes = 0
        self.synced_n = self.written_n
        self._on_progress()

    def _enter_full(self) -> bool:
        """Note that there is no room and give up the reserve; whether that made room worth another try."""
        if self.state is not JournalState.FULL:
            self.state = JournalState.FULL
            self._on_progress()
        return self._reserve.free()

    def _leave_full(self) -> None:
        if self.state is JournalState.FULL and not self._pending and self._reserve.hold():
            self.state = JournalState.OPEN
            self._on_progress()

    def _finish(self) -> None:
        if self._unsynced_bytes:
            self._sync()
        place = str(self._directory)
        waiting = sum(len(body) for _, body in self._pending)
        self._fail(JournalFullError(waiting, place) if waiting else JournalClosedError(place), JournalState.CLOSED)

    def _poison(self, error: BaseException) -> JournalPoisonedError:
        return JournalPoisonedError(error, str(self._segment or self._directory))

    def _fail(self, failure: JournalError, state: JournalState) -> None:
        if state is JournalState.POISONED:
            # What was written but not synced may be gone from the kernel too, so it is acknowledged to nobody any more.
            self.written_n = self.synced_n
        self.state = state
        self.failure = failure
        self._on_progress()

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            # What matters was synced before, and a descriptor is gone even where closing it fails.
            with contextlib.suppress(OSError):
                self._disk.close(fd)
