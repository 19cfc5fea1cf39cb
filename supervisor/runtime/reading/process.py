"""The reading process: takes connections and jobs from the daemon, and answers from files.

It serves one request a connection, each in a task of its own; what is long is read and sent in pieces, so that all who
read get their turn. It ends when the daemon does: those who follow get what was written last, and then the end.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import TaskGroup

from checkpoints.git.effective_user import ask_as_effective_user
from host import identity
from monitors.contract import anyjson
from monitors.contract.actions import Action, Review, ReviewContext
from supervisor.runtime.journal.index import JournalIndexes
from supervisor.runtime.journal.reader import JournalDamagedError
from supervisor.runtime.log import log, start_log_at
from supervisor.runtime.protection.seals import RecordSeals
from supervisor.runtime.reading.answers import GoneError, ResponseStream
from supervisor.runtime.reading.incident_lines import incident_lines
from supervisor.runtime.reading.jobs import (
    FINISHED,
    JSON,
    LINES,
    Checkpoints,
    Events,
    FileProgress,
    GateReviewing,
    Incidents,
    MetricsText,
    ReadJob,
    ReadPaths,
    Reviewing,
    UseOverTime,
    receive,
)
from supervisor.runtime.reading.journal_lines import JournalLines, files_of
from supervisor.runtime.reading.progress import Follower
from supervisor.runtime.reading.reviews import reviewing
from supervisor.runtime.shim.spawn import refuse_tracers

NICE = 5
"""Niceness by which the daemon's loop precedes this process if there is not enough processor time for both."""

GOODBYE_SECONDS = 2.0
"""How long those who follow may take to get what was written last once the daemon has ended."""

INDEX_SECONDS = 30.0
"""Time between two updates of the indexes, so that a request for an agent's lines waits for little of it."""


class Process:
    """The reading process.

    Args:
        places: The files to read.
        channel: The source of jobs.
    """

    def __init__(self, places: ReadPaths, channel: socket.socket) -> None:
        self._places = places
        self._channel = channel
        self._progress = Follower()
        self._indexes = JournalIndexes(places.journal)
        self._seals = RecordSeals(places.data_keys)
        self._lines = JournalLines(self._indexes, files_of(self._indexes), self._seals)
        self._reviewing: Callable[[Action, ReviewContext | None], Review] | None = None
        self._open = 0
        self._one_text = anyio.Lock()
        self._counted, self._text = b"", b""
        """The last metrics that were written, and their text."""

    async def run(self) -> None:
        """Serve until the daemon has ended, and then a moment longer."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_indexes, name="indexes")
            async with anyio.create_task_group() as answers:
                await self._take_jobs(answers)
                self._progress.tell(FileProgress(self._progress.written, self._progress.incidents, over=True))
                answers.cancel_scope.deadline = anyio.current_time() + GOODBYE_SECONDS
            tasks.cancel_scope.cancel()

    async def _take_jobs(self, tasks: TaskGroup) -> None:
        while True:
            try:
                received = receive(self._channel)
            except BlockingIOError:
                await anyio.wait_readable(self._channel)
                continue
            if received is None:
                return
            message, connection = received
            if isinstance(message, FileProgress):
                self._progress.tell(message)
            elif isinstance(message, ReadPaths):
                self._places, self._reviewing = message, None
            elif isinstance(message, ReadJob) and connection is not None:
                self._open += 1
                tasks.start_soon(self._serve, message, connection, name=type(message.wanted).__name__)

    async def _serve(self, job: ReadJob, connection: socket.socket) -> None:
        """Answer one request. Whatever fails ends its connection and no other."""
        try:
            with connection:
                await self._answer(job, ResponseStream(connection, job.http_version))
        except GoneError:
            pass
        except Exception as error:  # noqa: BLE001 - another reader must not suffer it
            log.error("what a reader asked for could not be read: %s", error)
        finally:
            self._open -= 1
            if job.follows:
                await self._say_finished()

    async def _say_finished(self) -> None:
        with anyio.CancelScope(shield=True), contextlib.suppress(OSError):  # the daemon may have ended
            try:
                self._channel.send(FINISHED)
            except BlockingIOError:
                await anyio.wait_writable(self._channel)
                self._channel.send(FINISHED)

    async def _answer(self, job: ReadJob, answer: ResponseStream) -> None:
        if self._open > self._places.connections:
            await answer.problem(503, "As many readers are served as it takes. Nothing was read.", "Ask again later.")
            return
        match job.wanted:
            case Events() as wanted:
                await _until_gone(answer, self._lines.wanted(wanted, self._progress), follow=wanted.follow)
            case Incidents(follow=follow):
                lines = incident_lines(self._places.incidents, self._progress, follow=follow)
                await _until_gone(answer, lines, follow=follow)
            case MetricsText(counted=counted):
                await answer.whole(*await self._metrics(counted))
            case Checkpoints(agent=agent):
                from supervisor.runtime.reading.checkpoint_list import listed

                await answer.stream(listed(self._places.checkpoints, agent, self._seals), JSON)
            case UseOverTime() as wanted:
                from supervisor.runtime.reading.use import used  # the sessions' fold, which other readers need not pay

                await answer.whole(await used(wanted, self._lines, self._progress, self._places.reviewer), JSON)
            case Reviewing() as wanted:
                await answer.whole(anyjson.dumps(self._review(wanted.read())), JSON)
            case GateReviewing() as wanted:
                await answer.whole(wanted.answer(self._review(wanted.read(), wanted.context)), JSON)
            case unknown:
                raise TypeError(f"{unknown!r} is nothing that can be read")

    async def _metrics(self, counted: bytes) -> tuple[bytes, str]:
        """The metrics' text and its type, written once for all who asked of a moment: it looks at every store."""
        from supervisor.runtime.metrics.exposition import CONTENT_TYPE, exposition

        async with self._one_text:
            if counted != self._counted:
                places = self._places
                text = await anyio.to_thread.run_sync(exposition, counted, places.journal, places.checkpoints)
                self._counted, self._text = counted, text.encode()
            return self._text, CONTENT_TYPE

    def _review(self, action: Action, context: ReviewContext | None = None) -> Review:
        """Review as the gate would, in this loop: only a process's main thread can be interrupted at a time limit."""
        if self._reviewing is None:
            self._reviewing = reviewing(self._places.reviewer)
        return self._reviewing(action, context)

    async def _keep_indexes(self) -> None:
        """Make the indexes that are not there, and keep up that of the file that is written, a piece at a time."""
        while True:
            await self._progress.reach(1)
            try:
                for _ in self._indexes.maintain(self._progress.written):
                    await anyio.lowlevel.checkpoint()
            except (JournalDamagedError, OSError) as error:
                log.error("the journal could not be indexed: %s", error)
            await anyio.sleep(INDEX_SECONDS)


async def _until_gone(answer: ResponseStream, parts: AsyncIterator[bytes], *, follow: bool) -> None:
    """Send a stream to its end; one that follows ends as well when its peer hangs up."""
    failed: Exception | None = None
    async with anyio.create_task_group() as tasks:
        if follow:

            async def watch() -> None:
                await answer.gone()
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch, name="watch for a hang-up")
        try:
            await answer.stream(parts, LINES)
        except Exception as error:  # noqa: BLE001 - raised behind the group, which would wrap it
            failed = error
        tasks.cancel_scope.cancel()
    if failed is not None:
        raise failed


def main() -> None:
    """Serve what comes on standard input, which is the daemon's channel; nothing is printed but the log."""
    identity.keep()
    ask_as_effective_user()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's goes to all; the daemon says when it is over
    os.nice(NICE)
    refuse_tracers()  # it has the keys of records
    gc.freeze()
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as channel:
        first = receive(channel)
        if first is None or not isinstance(first[0], ReadPaths):
            return
        start_log_at(first[0].log_level)
        channel.setblocking(False)
        anyio.run(Process(first[0], channel).run)
