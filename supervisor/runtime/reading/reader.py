"""The daemon's side of reading: starts the process, hands connections over to it, and reports the files' progress."""

import contextlib
import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from supervisor.runtime.daemon.submission import UnavailableError
from supervisor.runtime.journal.index import index_path
from supervisor.runtime.journal.journal import Journal, JournalError
from supervisor.runtime.journal.reader import list_segments
from supervisor.runtime.log import log
from supervisor.runtime.reading.jobs import FINISHED, FileProgress, ReadJob, ReadPaths, send

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from supervisor.runtime.reading.process import main; main()"
)
"""The program of the process: this program's modules, found as this process found them."""

PROGRESS_SECONDS = 0.02
"""Time between two messages on the files' progress, while a client follows. It is the delay of a follower, and the
loop sends 50 messages a second and not a thousand."""

AGAIN_SECONDS = 1.0
"""Pause before a process that ended by itself is started again."""

INDEX_SECONDS = 30.0
"""Time between two messages while no client follows: the process brings its index up to date by each."""

UNINDEXED_BYTES = 8 << 20
"""Bytes of the journal without an index from which on the process is started with the daemon.

An index of 64 MiB takes a second. With the start of the process, the first client waited for 2.4 s."""

GOODBYE_SECONDS = 5.0
"""How long it may take to end: it gives followers two seconds for what was written last."""


class ReadingService:
    """Has another process answer what is long or costs much. Used from one event loop.

    Args:
        places: What is read.
        journal: Tells how far it is written.
    """

    def __init__(self, places: ReadPaths, journal: Journal) -> None:
        self._places = places
        self._journal = journal
        self._wanted = anyio.Event()
        self._pair: tuple[socket.socket, socket.socket | None] | None = None
        """The channel: our end, and that of a process which is yet to be started."""
        self._following = 0
        """How many jobs that follow were handed over to this process and have not ended."""
        self._followed = anyio.Event()
        self._incidents = 0
        self._told = FileProgress(0, 0)

    def start(self) -> None:
        """Start the process now, so that the first request need not wait for it; else it is started then."""
        self._wanted.set()

    async def start_for_indexes(self) -> None:
        """Start the process now if it has much of the journal to index."""
        if await anyio.to_thread.run_sync(_unindexed_bytes, self._places.journal) >= UNINDEXED_BYTES:
            self.start()

    def take(self, connection: int, job: ReadJob) -> None:
        """Have a job answered on a connection, of which this takes a descriptor of its own.

        Raises:
            UnavailableError: It cannot be, and nothing was answered.
        """
        self.start()
        try:
            channel = self._channel()
            self._tell_progress(channel)
            send(channel, job, connection)
        except OSError as error:
            raise UnavailableError(
                f"What is asked for could not be handed to the process that reads ({error.strerror}).",
                way_out="Ask again in a moment; the daemon's log may say more.",
            ) from error
        if job.follows:
            self._following += 1
            self._followed.set()

    def renew(self, reviewer: bytes) -> None:
        """Have actions reviewed by another configuration from here on; see `ReadPaths.reviewer`."""
        self._places = replace(self._places, reviewer=reviewer)
        if self._pair is not None:
            with contextlib.suppress(OSError):  # a process that is gone is started again with what holds then
                send(self._pair[0], self._places)

    def incident(self) -> None:
        """Note that the incident log grew."""
        self._incidents += 1
        if self._following:
            with contextlib.suppress(OSError):  # it is told again with the journal's next record
                self._tell_progress(self._channel())

    async def run(self) -> None:
        """Keep the process there, once it is wanted, until cancelled; those who follow get what was written last."""
        await self._wanted.wait()
        while True:
            process = await self._spawn()
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._keep_told, name="progress of files")
                    await self._listen()
                    tasks.cancel_scope.cancel()
            finally:
                with anyio.CancelScope(shield=True):
                    code = await self._end(process)
            log.error("the process that reads for others ended by itself (%s); it is started again", code)
            await anyio.sleep(AGAIN_SECONDS)

    # ── the process ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _channel(self) -> socket.socket:
        """Our end of the channel, to a process that is there or yet to be started."""
        if self._pair is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.setblocking(False)
            self._pair = ours, theirs
            self._following, self._followed, self._told = 0, anyio.Event(), FileProgress(0, 0)
            send(ours, self._places)
        return self._pair[0]

    async def _spawn(self) -> anyio.abc.Process:
        ours = self._channel()
        assert self._pair is not None
        theirs = self._pair[1]
        assert theirs is not None
        with anyio.CancelScope(shield=True), theirs:
            process = await start_process(theirs)
        self._pair = ours, None
        return process

    async def _end(self, process: anyio.abc.Process) -> int:
        """Have the process end, with the last word on how far the files are."""
        channel = self._channel()
        with contextlib.suppress(OSError):
            self._tell_progress(channel)
        self._pair = None
        channel.close()
        with anyio.move_on_after(GOODBYE_SECONDS):
            return await process.wait()
        process.kill()
        return await process.wait()

    async def _listen(self) -> None:
        """Take in which jobs that follow have ended; returns when the process has."""
        channel = self._channel()
        while True:
            await anyio.wait_readable(channel)
            try:
                said = channel.recv(1)
            except BlockingIOError:
                continue
            except OSError:
                return
            if said != FINISHED:
                return
            self._following -= 1

    # ── how far the files are ─────────────────────────────────────────────────────────────────────────────────────────

    async def _keep_told(self) -> None:
        """Report the progress of files again and again: at once while a client follows, else now and then."""
        with contextlib.suppress(JournalError):  # its end is told at our own
            while True:
                with contextlib.suppress(OSError):  # it is behind; it is told the next time
                    self._tell_progress(self._channel())
                await anyio.sleep(PROGRESS_SECONDS)
                if not self._following:
                    self._followed = anyio.Event()
                    with anyio.move_on_after(INDEX_SECONDS):
                        await self._followed.wait()
                if self._following:
                    await self._journal.written(self._told.written + 1)

    def _tell_progress(self, channel: socket.socket) -> None:
        now = FileProgress(self._journal.last_written, self._incidents)
        if now != self._told:
            send(channel, now)
            self._told = now


async def start_process(channel: socket.socket) -> anyio.abc.Process:
    """Start the process at the other end of the channel."""
    command = [sys.executable, "-I", "-c", PROGRAM, json.dumps(sys.path)]
    return await anyio.open_process(command, stdin=channel.fileno(), stdout=subprocess.DEVNULL, stderr=None)


def _unindexed_bytes(journal: Path) -> int:
    found = 0
    for segment in list_segments(journal):
        with contextlib.suppress(FileNotFoundError):  # an old one may be dropped meanwhile
            found += 0 if index_path(segment.path).exists() else segment.path.stat().st_size
    return found
