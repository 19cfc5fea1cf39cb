"""The daemon as a whole: from the state directory to a served socket, and back in order.

What can be refused is refused before anything is changed: the lock, the journal, the socket. Then agents are adopted,
and only then is the daemon ready. Its end leaves agents alone: they wait at their next tool call for the next daemon.
"""

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256

import anyio
import anyio.to_thread
from pydantic import TypeAdapter

from interventions.approval import ApprovalSettings
from interventions.controller import Controller
from interventions.effectiveness import Record
from monitors.defaults import make_detectors
from monitors.review import make_reviewer
from supervisor import __version__
from supervisor.config.model import Config
from supervisor.config.paths import Places, prepare
from supervisor.core.board import Board, MakeSession
from supervisor.core.session import Session
from supervisor.core.summary import Summary
from supervisor.protocol import events
from supervisor.runtime import server
from supervisor.runtime.clock import Clock
from supervisor.runtime.containment import Containment
from supervisor.runtime.daemon import Daemon
from supervisor.runtime.disk import REAL_DISK, Disk
from supervisor.runtime.incident_feed import IncidentFeed
from supervisor.runtime.incidents import IncidentLog
from supervisor.runtime.journal import Journal, JournalState, Recovery
from supervisor.runtime.launcher import ProcessLauncher
from supervisor.runtime.log import log
from supervisor.runtime.metrics import Metrics
from supervisor.runtime.metrics_api import listen_for_metrics, metrics_routes, serve_metrics
from supervisor.runtime.recovering import Recovering
from supervisor.runtime.reviewing import WatchedReviewer
from supervisor.runtime.sampling import Sampling
from supervisor.runtime.settings import (
    channels,
    controller_settings,
    detector_settings,
    review_settings,
    session_settings,
)
from supervisor.runtime.snapshots import NoSnapshot, read_snapshot, unless_ahead, write_snapshot
from supervisor.runtime.state_directory import take_state_directory

SNAPSHOT_EVERY = 2_000
"""Events between two snapshots: at the 20,000 a second and more that are folded, a start reads 0.1 s of them at most
beside those of live agents."""

SNAPSHOT_VERSION = f"{__version__}/1"

SUMMARIES = TypeAdapter(list[Summary])
APPROVAL = TypeAdapter(ApprovalSettings)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a daemon is started with."""

    config: Config
    places: Places
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """The daemon's environment, from which agents get theirs."""
    listening: socket.socket | None = None
    """A socket that the service manager opened; None: one is made."""
    clock: Clock = field(default_factory=Clock)
    disk: Disk = REAL_DISK
    """What the journal and the incident log are written through; another, in tests."""


@asynccontextmanager
async def run_daemon(setup: Setup) -> AsyncIterator[Daemon]:
    """A daemon that is ready: agents are adopted and the socket is served. It ends in order with the block.

    Raises:
        ChaperonError: It was not started: another daemon has the state directory or the socket, a directory cannot be
            used, or the journal is damaged.
    """
    async with AsyncExitStack() as stack:
        await anyio.to_thread.run_sync(prepare, setup.places, os.getuid())
        stack.enter_context(await anyio.to_thread.run_sync(take_state_directory, setup.places.state))
        listening = setup.listening
        if listening is None:
            listening = await anyio.to_thread.run_sync(server.listen, setup.places.socket, setup.config.socket.mode)
        stack.callback(_stop_listening, listening, setup)
        address = setup.config.metrics.listen
        port = stack.enter_context(listen_for_metrics(address)) if address else None
        record = Record()
        board = Board(_session_maker(setup, record))
        opened = await anyio.to_thread.run_sync(_open, setup, board, record)
        stack.push_async_callback(_close, opened.journal)
        launcher = await anyio.to_thread.run_sync(_make_launcher, setup, board)
        stack.callback(launcher.leave)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        daemon = _make_daemon(setup, board, opened, launcher, tasks, Metrics(record))
        try:
            await _begin(daemon, setup, opened)
            tasks.start_soon(_serve, daemon, listening, setup, name="socket")
            tasks.start_soon(_watch_journal, daemon, name="journal watch")
            tasks.start_soon(_take_snapshots, daemon, setup.places, name="snapshots")
            daemon.notifications.start(tasks)
            tasks.start_soon(Sampling(daemon).run, name="sampling")
            if port is not None:
                tasks.start_soon(serve_metrics, daemon, port, name="metrics")
            yield daemon
            await _end(daemon, setup)
        finally:
            tasks.cancel_scope.cancel()


# ── start ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Opened:
    journal: Journal
    recovery: Recovery
    incidents: IncidentLog
    missed: list[events.IncidentOpened | events.FaultSeen]
    """Incidents of the journal that the log may lack."""
    problem: str
    """What was wrong with the snapshot, if anything."""


def _open(setup: Setup, board: Board, effectiveness: Record) -> _Opened:
    """Read what is there and fold it. Blocks."""
    places = setup.places
    snapshot = read_snapshot(places.state, SNAPSHOT_VERSION)
    begin = 0 if isinstance(snapshot, NoSnapshot) else _first_needed(snapshot.n, snapshot.state)
    journal, recovery = Journal.open(places.journal, trusted=begin, disk=setup.disk, clock=setup.clock)
    snapshot = unless_ahead(snapshot, recovery.n)
    if isinstance(snapshot, NoSnapshot):
        begin = 0
    else:
        board.restore(SUMMARIES.validate_python(snapshot.state["ended"]))
        if known := snapshot.state.get("effectiveness"):
            before = Record.from_json(known)
            effectiveness.tallies, effectiveness.last_seq = before.tallies, before.last_seq
    missed: list[events.IncidentOpened | events.FaultSeen] = []
    for record in journal.read(begin):
        board.remember(record.n, record.event)  # type: ignore[arg-type]
        if isinstance(record.event, events.InterventionJudged):
            effectiveness.remember(record.n, record.event.judgement)
        if isinstance(record.event, events.IncidentOpened | events.FaultSeen):
            missed.append(record.event)
    board.settle()
    incidents = IncidentLog.open(places.state, disk=setup.disk, reserve=journal.reserve)
    problem = snapshot.problem if isinstance(snapshot, NoSnapshot) else ""
    return _Opened(journal, recovery, incidents, missed, problem)


def _first_needed(n: int, state: Mapping[str, int | None]) -> int:
    """The number of the last event that need not be read: live agents are rebuilt from their first."""
    oldest = state["oldest"]
    return n if oldest is None else min(n, oldest - 1)


def _make_daemon(
    setup: Setup,
    board: Board,
    opened: _Opened,
    launcher: ProcessLauncher,
    tasks: anyio.abc.TaskGroup,
    metrics: Metrics,
) -> Daemon:
    feed = IncidentFeed(opened.incidents, setup.places.incident_log)
    config = setup.config
    return Daemon(
        board,
        opened.journal,
        feed,
        launcher,
        setup.clock,
        tasks,
        config.resources.limits(),
        metrics,
        channels(config),
    )


def _make_launcher(setup: Setup, board: Board) -> ProcessLauncher:
    """Say how agents are held, and take away the groups of those that ended. Blocks."""
    owner = sha256(os.fsencode(setup.places.state)).hexdigest()[:8]
    containment = Containment.find(owner)
    launcher = ProcessLauncher(setup.config.agent, setup.environ, setup.places.agents, containment)
    launcher.sweep([session.summary.agent for session in board.live()])
    return launcher


def _session_maker(setup: Setup, record: Record) -> MakeSession:
    """How sessions are made: one reviewer for all, detectors and a controller for each."""
    config = setup.config
    reviewer = WatchedReviewer(make_reviewer(review_settings(config)), setup.clock)
    about = session_settings(config, setup.places, setup.environ)

    def make(submitted: events.TaskSubmitted) -> Session:
        detectors = make_detectors(detector_settings(config), submitted.task)
        controller = Controller(controller_settings(config), submitted.task, record)
        own = submitted.task.approval
        settings = about if own is None else replace(about, approval=APPROVAL.validate_python(own))
        return Session(submitted, reviewer, detectors, controller, settings)

    return make


async def _begin(daemon: Daemon, setup: Setup, opened: _Opened) -> None:
    """Say that a daemon is here, tell of what was found, and adopt."""
    clock = setup.clock
    daemon.happened(
        events.DaemonStarted(
            agent="", at=clock.wall(), mono=clock.mono(), version=__version__, pid=os.getpid(), boot_id=clock.boot_id()
        )
    )
    for event in opened.missed:
        report = event.report if isinstance(event, events.IncidentOpened) else None
        await daemon.incidents.report(event.incident, report)
    if torn := opened.recovery.torn:
        what = f"The journal ended in {torn.size} bytes of a record that was not whole; they were set aside in {torn.path}."
        daemon.fault("", "torn_journal", what, way_out="Nothing is to be done: what was acknowledged is all there.")
    if opened.problem:
        log.warning("%s", opened.problem)
    adopted = await daemon.adopt_all()
    if adopted.found:
        log.info("%s", adopted)


# ── while it runs ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def _serve(daemon: Daemon, listening: socket.socket, setup: Setup) -> None:
    from supervisor.runtime.api import make_api
    from supervisor.runtime.recovery_api import recovery_routes

    api = make_api(daemon)
    metrics_routes(api, daemon)
    recovery_routes(api, Recovering(daemon, setup.places.state))
    await server.serve(api, listening, setup.config.socket.mode, daemon.shim_pids)


async def _watch_journal(daemon: Daemon) -> None:
    """Tell of a disk that is full, and of room that is back."""
    state = JournalState.OPEN
    while True:
        state = await daemon.journal.changed(state)
        if state is JournalState.FULL:
            what = "The disk of the state directory is full. Agents wait at their next tool call; nothing is lost."
            daemon.fault(
                "", "disk_full", what, way_out="Make room there; everything goes on by itself within a second."
            )
        elif state is JournalState.OPEN:
            log.info("there is room again; agents go on")
        else:
            await daemon.journal.room()  # raises why nothing is written any more, which ends the daemon


async def _take_snapshots(daemon: Daemon, places: Places) -> None:
    """Take a snapshot now and then."""
    while True:
        due = daemon.journal.last + SNAPSHOT_EVERY
        await daemon.journal.written(due)
        await take_snapshot(daemon, places)


async def take_snapshot(daemon: Daemon, places: Places) -> None:
    """Write down what ended agents came to, so that the next start need not read of them; a failure is logged."""
    n = daemon.journal.last
    oldest, ended = daemon.board.snapshot()
    state = {
        "oldest": oldest,
        "ended": SUMMARIES.dump_python(ended, mode="json"),
        "effectiveness": daemon.metrics.effectiveness.as_json(),
    }
    try:
        await daemon.journal.synced(n)
        await anyio.to_thread.run_sync(write_snapshot, places.state, n, SNAPSHOT_VERSION, state)
    except OSError as error:
        log.warning("the snapshot could not be written (%s); the journal has everything", error)


# ── end ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _end(daemon: Daemon, setup: Setup) -> None:
    """Take nothing new, and write down that the end was in order."""
    daemon.ending = True
    clock = setup.clock
    daemon.happened(events.DaemonStopped(agent="", at=clock.wall(), mono=clock.mono(), reason="asked to"))
    await take_snapshot(daemon, setup.places)


async def _close(journal: Journal) -> None:
    """Write and sync what was taken, whatever ended the daemon."""
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(journal.close)


def _stop_listening(listening: socket.socket, setup: Setup) -> None:
    """Close the socket, and remove its path where it is ours; one of the service manager's stays."""
    listening.close()
    if setup.listening is None:
        setup.places.socket.unlink(missing_ok=True)
