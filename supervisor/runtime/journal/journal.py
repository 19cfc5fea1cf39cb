"""The journal: every event, in order, once, on disk before anything follows from it.

    journal, recovery = Journal.open(state / "journal")
    n = journal.append(event)        # never blocks
    await journal.written(n)         # outlives this process; what must come before a tool call is answered
    await journal.synced(n)          # outlives the machine going down
    for record in journal.read():
    async for line in journal.follow(after=n): …

Disk full: the state becomes `full` and `accepting` False. Appended events wait in memory and are not reported as
written, so agents wait at their next tool call; a reserve of room is given up for what is most urgent. The daemon reads
no more from agents (their shims keep all they say in files) until `room` returns, which it does within a second of room
being made. Any other failure of the disk poisons the journal: see `JournalPoisonedError`.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

import anyio.to_thread

from host.durable import REAL_DISK, Disk, Reserve
from supervisor.protocol import records
from supervisor.protocol.events import AnyEvent
from supervisor.protocol.records import JournalRecord
from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.errors import (
    JournalClosedError,
    JournalDamagedError,
    JournalError,
    JournalFullError,
    JournalPoisonedError,
    JournalUnwrittenError,
)
from supervisor.runtime.journal.reader import Cursor, StoredLine, StoredLines, read_again, read_records
from supervisor.runtime.journal.recovery import JournalRecovery, TornTail, recover
from supervisor.runtime.journal.signing import SigningKey
from supervisor.runtime.journal.writing.segment_writer import SEGMENT_BYTES, SegmentFile
from supervisor.runtime.journal.writing.waiters import Wakeups
from supervisor.runtime.journal.writing.writer import BeginFile, JournalState, JournalWriter, StopWriting
from supervisor.runtime.protection.protector import UNPROTECTED, Protector

__all__ = [
    "Journal",
    "JournalClosedError",
    "JournalDamagedError",
    "JournalError",
    "JournalFullError",
    "JournalPoisonedError",
    "JournalRecovery",
    "JournalState",
    "JournalUnwrittenError",
    "StoredLine",
    "TornTail",
]

RESERVE_BYTES = 4 * 1024 * 1024
"""Room kept for the time when there is none: an emergency's records and report are some KiB, and the events under
way in 200 agents at that moment some MiB."""

RESERVE_NAME = "reserve"
"""The file that takes that room, in the journal's directory."""

PRESSURE_BYTES = 8 * 1024 * 1024
"""How much may wait to be written before callers should read no more, in bytes: the disk is that far behind."""

QUEUE_BYTES = 128 * 1024 * 1024
"""How much may wait at most, in bytes: four of the longest lines there are, for callers who had begun."""


class Journal:
    """The one writer of a journal, used from one event loop. Made by `Journal.open`."""

    def __init__(
        self,
        directory: Path,
        found: JournalRecovery,
        disk: Disk,
        clock: Clock,
        segment_bytes: int,
        protector: Protector = UNPROTECTED,
    ) -> None:
        self.directory = directory
        self.opened = protector.seals.opened
        """Returns a line in the clear, as it is for those who read it."""
        self._last = found.n
        self._put_bytes = 0
        self.reserve = Reserve(directory / RESERVE_NAME, RESERVE_BYTES, disk)
        """Room that is given up when there is none; the incident log shares it."""
        self._wakeups = Wakeups(lambda: self._writer.failure)
        file = SegmentFile(directory, found, disk, segment_bytes)
        self._file = file
        self._writer = JournalWriter(directory, file, self.reserve, clock, self._wakeups.notify, protector)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        trusted: int = 0,
        look: Callable[[list[bytes]], object] | None = None,
        key: SigningKey | None = None,
        disk: Disk = REAL_DISK,
        clock: Clock | None = None,
        segment_bytes: int = SEGMENT_BYTES,
        protector: Protector = UNPROTECTED,
    ) -> tuple["Journal", JournalRecovery]:
        """Check what is there, set a torn tail aside, and start the writer. Blocks; hold the state directory's lock.

        Args:
            directory: Where its files are, or will be.
            trusted: The number of a record known from a snapshot; files that end before it are not checked now.
            look: Called with the lines that are checked, without their newlines, some at a time.
            key: The key that lines must be signed with, and new ones are; None for an unsigned journal.
            disk: Another, in tests.
            clock: Another, in tests.
            segment_bytes: Size at which a new file is begun.
            protector: Masks records before they are written.

        Raises:
            JournalDamagedError: A record is damaged and intact ones follow; nothing was changed.
            JournalPoisonedError: The disk failed.
        """
        try:
            found = recover(directory, disk, trusted, look, key)
        except OSError as error:
            raise JournalPoisonedError(error, str(directory)) from error
        journal = cls(directory, found, disk, clock or Clock(), segment_bytes, protector)
        if key is not None:
            journal.sign_with(key)
        return journal, found

    def sign_with(self, key: SigningKey) -> None:
        """Sign the lines from here on; before the first is appended."""
        self._file.key = key.key

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def append(self, event: AnyEvent) -> int:
        """Take an event and return its sequence number. Never blocks; the order of calls is the order in the file.

        Raises:
            JournalPoisonedError: The disk failed; nothing is taken any more.
            JournalClosedError: It was closed.
            JournalFullError: More waits than may wait; callers who mind `accepting` never see it.
        """
        if self._writer.failure is not None:
            raise self._writer.failure.with_traceback(None)
        if self.queued_bytes > QUEUE_BYTES:
            raise JournalFullError(self.queued_bytes, str(self.directory))
        body = records.spell(event)
        self._last += 1
        self._put_bytes += len(body)
        self._writer.put((self._last, body))
        return self._last

    def begin_file(self) -> None:
        """Have the next event begin a new file: those before grow no more once it is written. Never blocks."""
        self._writer.put(BeginFile())

    async def written(self, n: int) -> None:
        """Wait until a record is with the kernel: it outlives this process. `n` may be one yet to come.

        Raises:
            JournalError: It never will be; says why.
        """
        await self._wakeups.until(lambda: self._writer.written_n >= n)

    def when_written(self, n: int, do: Callable[[], object]) -> None:
        """Call `do` in the loop once a record is with the kernel, or never will be; not before this returns.

        The answers of the gate are sent so: after a wait they would be sent a whole round of the loop later.

        Args:
            n: The record's number.
            do: Must not raise; `last_written` and `state` say what came of the record.
        """
        self._wakeups.call(lambda: self._writer.written_n >= n, do)

    async def synced(self, n: int) -> None:
        """Have a record synced now, and wait for it: it outlives the machine going down.

        Raises:
            JournalError: It never will be; says why.
        """
        if self._writer.synced_n < n:
            self._writer.want_synced(n)
            await self._wakeups.until(lambda: self._writer.synced_n >= n)

    @property
    def last(self) -> int:
        """Number of the last record taken."""
        return self._last

    @property
    def last_written(self) -> int:
        """Number of the last record that is with the kernel; after a poison, that is on the disk."""
        return self._writer.written_n

    def take_sync_seconds(self) -> list[float]:
        """How long each sync took since this was asked before, oldest first; of very many, the latest."""
        taken: list[float] = []
        with contextlib.suppress(IndexError):
            while True:
                taken.append(self._writer.sync_seconds.popleft())
        return taken

    @property
    def last_synced(self) -> int:
        """Number of the last record that is on the disk."""
        return self._writer.synced_n

    @property
    def queued_bytes(self) -> int:
        """How much waits to be written, in bytes."""
        return self._put_bytes - self._writer.taken_bytes

    @property
    def state(self) -> JournalState:
        """The journal's present state."""
        return self._writer.state

    @property
    def lacks(self) -> str:
        """Sentence that says where room is missing, and how much; empty if it is not."""
        if self.state is not JournalState.FULL:
            return ""
        return f"The disk of the state directory is full: {RESERVE_BYTES // 2**20} MiB and an inode must be free for {self.directory}."

    @property
    def accepting(self) -> bool:
        """Whether more should be read from agents: there is room on disk, and the disk keeps up."""
        return self.state is JournalState.OPEN and self.queued_bytes <= PRESSURE_BYTES

    async def room(self) -> None:
        """Wait until `accepting`.

        Raises:
            JournalError: It never will be again; says why.
        """
        while not self.accepting:
            await self._wakeups.until(lambda: self.accepting)

    async def changed(self, state: JournalState) -> JournalState:
        """Wait until the state is another than this one, and return it. Never raises: it is for telling people."""
        with contextlib.suppress(JournalError):
            await self._wakeups.until(lambda: self.state is not state)
        return self.state

    def close(self) -> None:
        """Write and sync what was taken, and end. Blocks, so call it in a thread or behind the loop.

        Raises:
            JournalPoisonedError: The disk had failed, or failed now.
            JournalUnwrittenError: Some of what was taken could not be written for lack of room.
        """
        self._writer.put(StopWriting())
        self._writer.join()
        failure = self._writer.failure
        if failure is not None and not isinstance(failure, JournalClosedError):
            raise failure.with_traceback(None)

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, after: int = 0) -> Iterator[JournalRecord]:
        """Read the records behind `after` that are written now, in order. Blocks.

        Raises:
            JournalDamagedError: A line is damaged; the records before it were yielded.
        """
        return read_records(self.directory, after, self._writer.written_n, self.opened)

    def lines(self, after: int = 0) -> Iterator[StoredLines]:
        """Read the lines of `read`, which `open` has just checked, for the fold at start; raises and blocks as that."""
        return read_again(self.directory, after, self._writer.written_n)

    async def follow(self, after: int = 0, *, live: bool = True) -> AsyncGenerator[StoredLine, None]:
        """Yield the lines behind `after`, one by one, as `follow_chunks` does, and in the clear."""
        async for lines in self.follow_chunks(after, live=live):
            for line in lines:
                yield line._replace(data=self.opened(line.data))

    async def follow_chunks(self, after: int = 0, *, live: bool = True) -> AsyncGenerator[list[StoredLine], None]:
        """Yield the lines after `after`, from the files, at the reader's own pace, one read's lines at a time.

        A slow reader holds at most one chunk (`segments.CHUNK_BYTES`) and stalls no other.

        Args:
            after: The number of the last record not wanted.
            live: Whether to wait for more; ends when the journal is closed. Otherwise ends with what is written now.

        Raises:
            JournalDamagedError: A line is damaged; the lines before it were yielded.
            JournalPoisonedError: The disk failed; what was written before was yielded.
        """
        cursor = Cursor(self.directory, after)
        passed = after
        while True:
            upto = self._writer.written_n
            while passed < upto and (lines := await anyio.to_thread.run_sync(cursor.take, upto)):
                yield lines
                passed = lines[-1].n
            if not live:
                return
            try:
                await self.written(max(passed, upto) + 1)
            except JournalClosedError:
                return
