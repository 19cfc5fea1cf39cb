"""The thread that writes the journal. All blocking work of the journal is done here and in the sync thread.

It takes the queued lines, writes them in one call, reports them, and has them synced now and then for all at once,
while it goes on writing. A failure ends it for good (poison), except for a full disk: then the half-written batch is
cut off again, a reserve of room is given up, and the waiting lines are tried again until they fit. The order in the
file is always the order in which events were put.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from queue import Empty, SimpleQueue

from host.disk_errors import NO_SPACE
from host.durable import Reserve
from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.errors import (
    JournalClosedError,
    JournalError,
    JournalPoisonedError,
    JournalUnwrittenError,
)
from supervisor.runtime.journal.writing.segment_writer import BATCH_BYTES, SegmentFile
from supervisor.runtime.journal.writing.sync_thread import SyncThread
from supervisor.runtime.protection.protector import UNPROTECTED, Protector

SYNC_SECONDS = 0.010
"""Longest time from the first unsynced record to a sync. One fdatasync costs some 400 µs on ext4 whether it carries
one record or a hundred (6 µs each then), so 100 a second cost 4 % of one disk's time. Lines written while one is under
way go with the next, which begins when that ends: a power cut takes 10 ms at most, and the time of two syncs."""

SYNC_BYTES = 256 * 1024
"""Unsynced bytes from which on a sync begins at once; beyond it one costs more by what it carries than by being one."""

MOST_UNSYNCED_BYTES = 4 * 1024 * 1024
"""Unsynced bytes with which no more is written until a sync has ended. With a disk that syncs for seconds, they
bound the loss by a power cut."""

RETRY_SECONDS = 1.0
"""Interval at which a full disk is tried again. After a person made room the daemon goes on at once, and the tries
cost nothing."""


class JournalState(StrEnum):
    """The states of the journal."""

    OPEN = "open"
    """It takes events and writes them."""
    FULL = "full"
    """The disk has no room: what was taken waits in memory, and no more should be read from agents."""
    POISONED = "poisoned"
    """The disk failed: nothing more is acknowledged until a new start."""
    CLOSED = "closed"
    """It was closed in order."""


class StopWriting:
    """Put last: write and sync all, then end."""


class BeginFile:
    """Has what follows written into a new file."""


class Poke:
    """Wakes the thread to look at what is wanted."""


Item = tuple[int, bytes] | StopWriting | BeginFile | Poke
"""A record's number and body, or a word to the thread."""

MOST_SYNCS = 6_000
"""Syncs whose times are kept for the metrics: a minute of a journal that is written to all the time, the usual
scrape."""


class JournalWriter:
    """Owns the journal's files while it runs.

    Its public attributes are written by the thread and read by the loop; each is one assignment, so none is torn.

    Args:
        directory: The journal's directory.
        file: What it writes to.
        reserve: Room to give up when there is none.
        clock: Only for the time between syncs.
        on_progress: Called in the thread whenever an attribute changed.
        protector: Masks records, and keeps what is needed of them in full, before they are written.
    """

    def __init__(
        self,
        directory: Path,
        file: SegmentFile,
        reserve: Reserve,
        clock: Clock,
        on_progress: Callable[[], None],
        protector: Protector = UNPROTECTED,
    ) -> None:
        self._directory, self._file, self._reserve, self._clock = directory, file, reserve, clock
        self._protector = protector
        self._on_progress = on_progress
        self._queue: SimpleQueue[Item] = SimpleQueue()
        self._pending: deque[tuple[int, bytes]] = deque()
        self._stopping = False
        self._new_file = False
        """Whether what comes after the pending records belongs into a new file."""
        self._unsynced_since: float | None = None
        """When the first record was written that no sync was begun for."""
        self._sync_wanted = 0
        self.state = JournalState.OPEN if reserve.hold() else JournalState.FULL
        self.failure: JournalError | None = None
        """Why nothing more will be acknowledged; None while more may be."""
        self.written_n = file.n
        """Number of the last record that the kernel has; after a poison, that the disk has."""
        self.synced_n = file.n
        """Number of the last record that the disk has."""
        self.taken_bytes = 0
        """Bodies taken off the caller's account since the start, in bytes."""
        self.sync_seconds: deque[float] = deque(maxlen=MOST_SYNCS)
        """Durations of the latest syncs, oldest first, until they are taken."""
        self._syncing = SyncThread(file.disk.sync, clock, lambda: self._queue.put(Poke()))
        file.before_roll = self._await_sync
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
                self._take_sync()
                self._write_pending()
                self._begin_file()
                if self._sync_is_due():
                    self._begin_sync()
                self._leave_full()
            self._finish()
        except JournalPoisonedError as poison:
            self._fail(poison, JournalState.POISONED)
        except BaseException as error:  # noqa: BLE001 - whatever it is, those who wait must be told
            self._fail(self._file.poison(error), JournalState.POISONED)
        finally:
            self._syncing.close()
            self._file.close()

    def _gather(self) -> None:
        """Wait for something to do, then take all that queued up, as far as one write goes."""
        size = 0
        with contextlib.suppress(Empty):
            item = self._queue.get(timeout=self._patience())
            while True:
                if isinstance(item, tuple):
                    n, body = item
                    masked = self._protector.event(body)
                    self._pending.append((n, masked))
                    size += len(masked)
                    self.taken_bytes += len(body) - len(masked)
                elif isinstance(item, BeginFile):
                    self._new_file = True
                    return
                elif isinstance(item, StopWriting):
                    self._stopping = True
                    return
                if size >= BATCH_BYTES:
                    return
                item = self._queue.get_nowait()

    def _patience(self) -> float | None:
        """Return how long the thread may wait for something to do, in seconds; None for ever."""
        if self.state is JournalState.FULL:
            return RETRY_SECONDS
        if self.synced_n < self.written_n and not self._syncing.busy:
            return max(0.0, (self._unsynced_since or 0.0) + SYNC_SECONDS - self._clock.mono())
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

    def _begin_file(self) -> None:
        if self._new_file and not self._pending:
            self._new_file = False
            self._file.begin_anew()
            self._sync()

    def _write_batch(self) -> None:
        if self._file.unsynced_bytes > MOST_UNSYNCED_BYTES:
            self._sync()
        self._protector.settle()
        batch = self._file.append(self._pending)
        if self._unsynced_since is None:
            self._unsynced_since = self._clock.mono()
        for _ in batch.lines:
            self._pending.popleft()
        self.written_n, self.taken_bytes = batch.n, self.taken_bytes + batch.bodies_bytes
        self._on_progress()

    def _sync_is_due(self) -> bool:
        if self._syncing.busy or self._unsynced_since is None:
            return False
        return (
            self._sync_wanted > self.synced_n
            or self._file.unsynced_bytes >= SYNC_BYTES
            or self._clock.mono() >= self._unsynced_since + SYNC_SECONDS
        )

    def _begin_sync(self) -> None:
        self._unsynced_since = None
        if self._file.unsynced_bytes:
            self._syncing.begin(self._file.to_sync())
        else:  # a new file was begun, for which the one before was synced
            self.synced_n = self.written_n
            self._on_progress()

    def _await_sync(self) -> None:
        """Wait for the sync that is under way, if one is."""
        self._take_sync(wait=True)

    def _take_sync(self, *, wait: bool = False) -> None:
        done = self._syncing.take(wait=wait)
        if done is None:
            return
        if done.error is not None:
            raise self._file.poison(done.error)
        self._file.synced(done.job)
        self._told_synced(done.job.n, done.seconds)

    def _sync(self) -> None:
        """Sync all that was written, here and now."""
        self._await_sync()
        began = self._clock.mono()
        self._file.sync()
        self._unsynced_since = None
        self._told_synced(self.written_n, self._clock.mono() - began)

    def _told_synced(self, n: int, seconds: float) -> None:
        self.sync_seconds.append(seconds)
        self.synced_n = max(self.synced_n, n)
        self._on_progress()

    def _enter_full(self) -> bool:
        """Give up the reserve, then say that there is no room; whether that made room worth another try."""
        freed = self._reserve.free()
        if self.state is not JournalState.FULL:
            self.state = JournalState.FULL
            self._on_progress()
        return freed

    def _leave_full(self) -> None:
        if self.state is JournalState.FULL and not self._pending and self._reserve.hold():
            self.state = JournalState.OPEN
            self._on_progress()

    def _finish(self) -> None:
        self._sync()
        place = str(self._directory)
        waiting = sum(len(body) for _, body in self._pending)
        self._fail(JournalUnwrittenError(waiting, place) if waiting else JournalClosedError(place), JournalState.CLOSED)

    def _fail(self, failure: JournalError, state: JournalState) -> None:
        if state is JournalState.POISONED:
            # What was written but not synced may be gone from the kernel too, so it is acknowledged to nobody any more.
            self.written_n = self.synced_n
        self.state = state
        self.failure = failure
        self._on_progress()
