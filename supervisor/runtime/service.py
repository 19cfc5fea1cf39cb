"""The daemon as a whole: from the state directory to a served socket, and back in order.

What can be refused is refused before anything is changed: the lock, the journal, the socket. Then agents are adopted,
and only then is the daemon ready. Its end leaves agents alone: they wait at their next tool call for the next daemon.
"""

import os
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread

from checkpoints.workspace.capture import CaptureSettings
from host.durable import REAL_DISK, Disk
from interventions.effectiveness import EffectRecord
from monitors.contract.actions import ReviewContext
from monitors.contract.wording import size
from monitors.contract.words import Severity
from supervisor import __version__
from supervisor.config.embedded import settings_from
from supervisor.config.load import ConfigSource
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths, prepare
from supervisor.core.board import Board
from supervisor.core.learning import Lessons
from supervisor.core.settings import DiscoverySettings
from supervisor.protocol import events
from supervisor.protocol.export import Exporter
from supervisor.protocol.identity import Identity
from supervisor.protocol.rollbacks import RollbackRequest
from supervisor.runtime.assembly.policy import Policy
from supervisor.runtime.assembly.policy_store import keep_policy
from supervisor.runtime.assembly.settings import (
    channels,
    detector_settings,
    gateway_settings,
    has_gateway,
    merge_rules,
    off_limits,
    pattern_names,
    retention,
    sandboxes,
    task_settings,
    worktree_rules,
)
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.checkpointing.worktrees import Worktrees
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.hooks import HookRunner
from supervisor.runtime.daemon.repository_hooks import RepositoryHooks
from supervisor.runtime.daemon.submission import Defaults
from supervisor.runtime.descriptors import allowed, raised
from supervisor.runtime.exporters import make_exporters
from supervisor.runtime.exporters.delivery import Exporting, Positions
from supervisor.runtime.gateway.client import GatewayClient
from supervisor.runtime.gateway.messages import Refused
from supervisor.runtime.incidents.delivered import DeliveryMarks
from supervisor.runtime.incidents.log import latest
from supervisor.runtime.journal.journal import JournalState
from supervisor.runtime.journal.lock import take_state_directory
from supervisor.runtime.journal.past_agents import PastAgents
from supervisor.runtime.log import log
from supervisor.runtime.processes.cgroups import Containment, Uncontained
from supervisor.runtime.processes.earlier_life import living
from supervisor.runtime.processes.launcher import ProcessLauncher
from supervisor.runtime.services.checkpoint_upkeep import CheckpointUpkeep, capture_live, close_left
from supervisor.runtime.services.day_budget import DayBudget
from supervisor.runtime.services.judging import CliJudge, Judging
from supervisor.runtime.services.orders import hold_again
from supervisor.runtime.services.recovery import Recovering
from supervisor.runtime.services.reloading import Reloading
from supervisor.runtime.services.retention import forget_what_is_old
from supervisor.runtime.services.sampling import Sampling
from supervisor.runtime.socket.admission import House, most_connections
from supervisor.runtime.socket.listening import listen, listen_for_metrics
from supervisor.runtime.state_files import OpenedState, StateFiles
from supervisor.runtime.tasks.completion import Completion
from supervisor.runtime.tasks.desk import TaskDesk
from supervisor.runtime.tasks.dispatcher import Dispatcher, TaskTools
from supervisor.runtime.tasks.finished_work import WorkCompletion, end_parked
from supervisor.runtime.tasks.redirecting import Redirecting

if TYPE_CHECKING:
    from fastapi import FastAPI

    from supervisor.runtime.api.turnstile import Turnstile
    from supervisor.runtime.reading.reader import ReadingService

SNAPSHOT_EVERY = 2_000
"""Events between two snapshots: at the 20,000 a second and more that are folded, a start reads 0.1 s of them at most
beside those of live agents."""

LAST_SNAPSHOT_SECONDS = 5.0
"""How long the end may wait for the disk to take a last snapshot; without one the next start reads a little more."""


def complete_work(daemon: Daemon) -> WorkCompletion:
    """Return the completion of a daemon's stored tasks: by the configured checks and merges."""
    daemon.merging.before_merge = daemon.hooks.before_merge
    daemon.merging.merged = partial(end_parked, daemon.board, daemon.happened, daemon.stamp)
    parts = daemon.board, daemon.happened, daemon.stamp, daemon.fault, daemon.verifier, daemon.merging
    return WorkCompletion(*parts)


@dataclass(frozen=True, slots=True)
class Setup:
    """The start parameters of a daemon."""

    config: Config
    places: StatePaths
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """The daemon's environment, from which agents get theirs."""
    listening: socket.socket | None = None
    """A socket that the service manager opened; None: one is made."""
    clock: Clock = field(default_factory=Clock)
    disk: Disk = REAL_DISK
    """The disk of the journal and the incident log; another, in tests."""
    source: ConfigSource | None = None
    """The source that the configuration is read from again if it changes; None: it stays as it is."""
    claims: bool = True
    """Whether agents claim stored tasks."""
    completion: Callable[[Daemon], Completion] = complete_work
    """Makes the completion of the work on stored tasks."""
    last: bool = False
    """Whether no other daemon will ever serve this state directory: agents end with this one, however it ends."""


@asynccontextmanager
async def run_daemon(setup: Setup) -> AsyncIterator[Daemon]:
    """A daemon that is ready: agents are adopted and the socket is served. It ends in order with the block.

    Raises:
        ChaperonError: It was not started: another daemon has the state directory or the socket, a directory cannot be
            used, or the journal is damaged.
    """
    async with AsyncExitStack() as stack:
        await anyio.to_thread.run_sync(prepare, setup.places, os.getuid())
        usual = stack.enter_context(raised())
        stack.enter_context(await anyio.to_thread.run_sync(take_state_directory, setup.places.state))
        listening = setup.listening
        if listening is None:
            listening = await anyio.to_thread.run_sync(listen, setup.places.socket, setup.config.socket.mode)
        stack.push_async_callback(
            _blocking, _stop_listening, listening, setup, await anyio.to_thread.run_sync(_inode, setup.places.socket)
        )
        hooks = await anyio.to_thread.run_sync(listen, setup.places.hooks_socket)
        stack.push_async_callback(_blocking, hooks.close)
        address = setup.config.metrics.listen
        port = stack.enter_context(listen_for_metrics(address)) if address else None
        exporters = await anyio.to_thread.run_sync(make_exporters, setup.config)
        record, lessons = EffectRecord(), Lessons(detector_settings(setup.config).learning)
        make_policy = partial(Policy, places=setup.places, environ=setup.environ, clock=setup.clock, record=record)
        policy = await anyio.to_thread.run_sync(make_policy, setup.config)
        past = PastAgents()
        board = Board(lambda submitted: policy.make_session(submitted, over=submitted.agent in past), record, lessons)
        kept_state = StateFiles(setup.places, setup.disk, setup.clock)
        opened = await anyio.to_thread.run_sync(kept_state.open, board, past)
        # Ended in this order: agents' tasks, the journal, and with it everybody's streams, and then the socket.
        serving = await stack.enter_async_context(_cancelled_at_end())
        stack.push_async_callback(_blocking, opened.journal.close)
        known = [one.agent for one in board.summaries()]
        strangers = await anyio.to_thread.run_sync(living, setup.places.agents, known)  # before their groups go
        gateway = _make_gateway(setup, board)
        launcher = await anyio.to_thread.run_sync(_make_launcher, setup, board, usual, gateway)
        stack.push_async_callback(_blocking, launcher.leave)
        kept = setup.config.checkpoints
        captured = CaptureSettings(limit_bytes=kept.max_file_mb * 2**20, also=kept.also)
        manager = CheckpointManager(setup.places.checkpoints, captured, setup.clock)
        stack.push_async_callback(manager.close)
        async with _cancelled_at_end() as tasks:
            kept_out = await anyio.to_thread.run_sync(off_limits, setup.places, setup.environ)
            daemon = _make_daemon(setup, board, opened, launcher, manager, kept_out, tasks)
            if gateway is not None:
                tasks.start_soon(gateway.run, partial(_host_refused, daemon), name="gateway")
            tasks.start_soon(_watch_journal, daemon, name="journal watch")
            dispatcher = _make_dispatcher(daemon, setup)
            await anyio.to_thread.run_sync(keep_policy, setup.places.policies, policy.config)
            await _begin(daemon, setup, opened, policy.nobody, policy.digest, strangers)
            house = House(setup.config.socket.mode, launcher.groups)
            source, take = setup.source or ConfigSource({}), partial(_take_policy, daemon, dispatcher)

            def make_kept(config: Config) -> Policy:
                made = make_policy(config)
                keep_policy(setup.places.policies, config)
                return made

            in_force = Reloading(policy, source, make_kept, daemon.happened, take, daemon.fault, setup.clock)
            serving.start_soon(
                _serve, daemon, listening, port, hooks, house, setup, in_force, dispatcher, name="socket"
            )
            reports = setup.config.interventions.emergency_stop.preserve_incident_data_days
            days, kept_in = setup.config.audit.retain_days, (setup.places.agents, setup.places.set_aside)
            tasks.start_soon(
                forget_what_is_old, board, daemon.incidents, *kept_in, setup.clock, reports, days, name="retention"
            )
            tasks.start_soon(_take_snapshots, daemon, kept_state, name="snapshots")
            tasks.start_soon(dispatcher.run, name="stored tasks")
            daemon.notifications.start(tasks)
            if exporters:
                positions = await anyio.to_thread.run_sync(Positions, setup.places.state, setup.disk)
                for exporter in exporters:
                    _start_exporting(daemon, exporter, positions, opened.recovery.n, tasks)
            if setup.source is not None:
                tasks.start_soon(in_force.run, name="configuration")
            told = daemon.happened, setup.clock
            budget = DayBudget(daemon, lambda: in_force.policy.config.resources.max_cost_per_day_usd)
            tasks.start_soon(budget.run, name="budget of the day")
            sampling = Sampling(board, opened.journal, manager.operations, *told)
            tasks.start_soon(sampling.run, name="sampling")
            judge = detector_settings(setup.config).judge
            if judge.enabled:
                ask = CliJudge(judge, setup.config.agent, setup.environ, setup.places.state / "judge")
                tasks.start_soon(Judging(board, opened.journal, *told, judge, ask).run, name="judge")
            upkeep = CheckpointUpkeep(board, manager, daemon.fault, setup.clock, retention(setup.config))
            tasks.start_soon(upkeep.run, name="checkpoints")
            async with anyio.create_task_group() as telling:
                telling.start_soon(daemon.hooks.run, name="hooks")
                yield daemon
                daemon.ending = True
                await capture_live(board, daemon.checkpointing.make, setup.clock)
                daemon.hooks.close()
                telling.cancel_scope.deadline = anyio.current_time() + setup.config.hooks.timeout
        await _end(daemon, setup, kept_state)


def _start_exporting(
    daemon: Daemon, exporter: Exporter, positions: Positions, known_to: int, tasks: anyio.abc.TaskGroup
) -> None:
    def count(name: str, result: str, number: int) -> None:
        daemon.metrics.add("chaperon_exported_total", name, result, value=number)

    exporting = Exporting(exporter, daemon.journal, positions, daemon.fault, count, known_to)
    daemon.exporting.append(exporting)
    tasks.start_soon(exporting.run, name=f"exporter {exporter.name}")


@asynccontextmanager
async def _cancelled_at_end() -> AsyncIterator[anyio.abc.TaskGroup]:
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        finally:
            tasks.cancel_scope.cancel()


# ── start ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _make_daemon(
    setup: Setup,
    board: Board,
    opened: OpenedState,
    launcher: ProcessLauncher,
    manager: CheckpointManager,
    kept_out: Mapping[str, str],
    tasks: anyio.abc.TaskGroup,
) -> Daemon:
    config = setup.config
    where, kept = config.workspaces, config.checkpoints
    every = kept.periodic if kept.enabled else 0
    usual = config.agent.permission_mode, config.resources.limits()
    noted = settings_from(DiscoverySettings, config.discoveries.model_dump())
    defaults = Defaults(*usual, where.mode, where.base, every, noted, kept_out)
    trusted = board.trusts.trusted
    copies = setup.places.state / "hooks"
    repositories = RepositoryHooks(copies, trusted) if config.hooks.repositories else None
    return Daemon(
        board,
        opened.journal,
        opened.feed,
        launcher,
        manager,
        Worktrees(worktree_rules(config, setup.places, setup.environ)),
        setup.clock,
        tasks,
        defaults,
        opened.metrics,
        channels(config),
        HookRunner(config.hooks.programs(), config.hooks.timeout, setup.environ, board.summaries, repositories),
        merge_rules(config, setup.places, setup.environ),
    )


def _make_dispatcher(daemon: Daemon, setup: Setup) -> Dispatcher:
    folders = (daemon.worktrees.rules.folder, setup.places.state)
    tools = TaskTools(
        daemon.board,
        daemon.happened,
        daemon.stamp,
        daemon.submit,
        daemon.request,
        daemon.close_workspace,
        daemon.fault,
        lambda: daemon.ending,
        daemon.checkpoint_manager.changed_since_start,
        folders,
    )
    dispatcher = Dispatcher(tools, task_settings(setup.config), setup.completion(daemon), setup.claims)
    daemon.watchers.append(dispatcher.saw)
    return dispatcher


def _host_refused(daemon: Daemon, refused: Refused) -> None:
    what = f"Agent {refused.agent} asked the gateway for {refused.what!r} and was refused: {refused.why}"
    daemon.fault(refused.agent, "request_refused", what, Severity.LOW)


def _make_gateway(setup: Setup, board: Board) -> GatewayClient | None:
    """Return the gateway of this daemon, if agents reach the model through it."""
    if not has_gateway(setup.config):
        return None
    settings = partial(gateway_settings, setup.config, setup.environ, last=setup.last)
    live = lambda: [session.summary.agent for session in board.live()]  # noqa: E731
    return GatewayClient(settings, setup.places.gateway, setup.environ, live)


def _make_launcher(setup: Setup, board: Board, descriptors: int, gateway: GatewayClient | None) -> ProcessLauncher:
    """Say how agents are held, and take away the groups of those that ended. Blocks."""
    owner = sha256(os.fsencode(setup.places.state)).hexdigest()[:8]
    never = Uncontained("agent.cgroups is `never`, so agents are held by walking their processes.")
    containment = Containment.find(owner) if setup.config.agent.cgroups == "auto" else never
    launcher = ProcessLauncher(
        setup.config.agent,
        setup.environ,
        setup.places.agents,
        containment,
        trusted=board.trusts.trusted,
        descriptors=descriptors,
        ends_with_daemon=setup.last,
        sandboxes=sandboxes(setup.config, setup.places, setup.environ),
        gateway=gateway,
    )
    launcher.sweep([one.agent for one in board.at_work()])
    return launcher


async def _begin(
    daemon: Daemon,
    setup: Setup,
    opened: OpenedState,
    about: ReviewContext,
    policy: str,
    strangers: Sequence[tuple[Path, Identity]] = (),
) -> None:
    """Report the start and the findings, adopt agents, and end those that the journal does not know."""
    clock = setup.clock
    daemon.happened(
        events.DaemonStarted(
            **clock.stamp(""),
            version=__version__,
            pid=os.getpid(),
            boot_id=clock.boot_id(),
            home=about.home,
            protected=about.protected,
            policy=policy,
        )
    )
    for event in opened.missed:
        report = event.report if isinstance(event, events.IncidentOpened) else None
        await daemon.incidents.report(event.incident, report)
    await anyio.to_thread.run_sync(_tell_what_was_not_told, daemon, setup)
    if torn := opened.recovery.torn:
        what = f"The journal ended in {size(torn.size)} of a record that was not whole; they were set aside in {torn.path}."
        daemon.fault("", "torn_journal", what, way_out="Nothing is to be done: what was acknowledged is all there.")
    if opened.problem:
        log.warning("%s", opened.problem)
    for problem in await daemon.checkpoint_manager.complete_interrupted():
        daemon.fault("", "rollback_interrupted", problem, way_out="chaperon checkpoints names what is there.")
    for agent, error in daemon.board.failed.items():
        log.error("the session of %s failed", agent, exc_info=error)
    for agent, summary in daemon.board.unmade.items():
        what = f"Nobody watches over agent {agent}: {summary.why}. Its calls wait at the gate; the other agents go on."
        daemon.fault(
            agent,
            "session_not_made",
            what,
            way_out=f"Mend that and start the daemon again, or end it: chaperon stop {agent}.",
        )
    adopted = await daemon.adopt_all()
    if adopted.found:
        log.info("%s", adopted)
    hold_again(daemon)
    await daemon.end_strangers(strangers)
    await close_left(daemon.board, daemon.worktrees, daemon.close_workspace, daemon.fault)
    await daemon.merging.resume()


def _tell_what_was_not_told(daemon: Daemon, setup: Setup) -> None:
    """Have the channels send incidents that the daemon before had no time to send. Blocks."""
    try:
        incidents = latest(setup.places.state)
    except OSError as error:
        log.warning(
            "the incident log could not be read (%s); incidents that were not sent before are not sent now", error
        )
        incidents = []
    daemon.notifications.catch_up(DeliveryMarks(setup.places.state, setup.disk), incidents, daemon.journal.last)


# ── while it runs ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def _serve(
    daemon: Daemon,
    listening: socket.socket,
    metrics: socket.socket | None,
    hooks: socket.socket,
    house: House,
    setup: Setup,
    in_force: Reloading,
    dispatcher: Dispatcher,
) -> None:
    """Answer on the socket, and on the port for metrics if one is configured.

    Its parts are made only now, and beside the loop: they are half of the start, and agents do not wait for them.
    """
    reader = await anyio.to_thread.run_sync(_make_reader, daemon, setup, in_force.policy)
    in_force.renewed = partial(_renew_reader, reader)
    daemon.incidents.on_growth = reader.incident
    from supervisor.runtime.api.turnstile import Turnstile

    turnstile = Turnstile(setup.clock.mono)
    api = await anyio.to_thread.run_sync(_make_api, daemon, reader, turnstile, setup, in_force, dispatcher)
    from supervisor.runtime.api.metrics import serve_metrics
    from supervisor.runtime.api.server import serve
    from supervisor.runtime.attached.door import HookHouse, HookRoute

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, name="reader")
        if metrics is not None:
            tasks.start_soon(serve_metrics, daemon, reader, turnstile, metrics, name="metrics")
        door = HookRoute(daemon.attaching, daemon.launched_cli)
        nobody: Callable[[Collection[int], int], str] = lambda _lineage, _mark: ""  # noqa: E731 - all come to one route
        tasks.start_soon(
            serve, door, hooks, HookHouse(), nobody, daemon.refused, most_connections(allowed()), name="hooks"
        )
        daemon.answering.set()
        await serve(api, listening, house, daemon.whose, daemon.refused, most_connections(allowed()))


def _take_policy(daemon: Daemon, dispatcher: Dispatcher, policy: Policy) -> None:
    dispatcher.settings = task_settings(policy.config)
    daemon.take_policy(policy.make_session, policy.renew, policy.config.resources.limits())


def _renew_reader(reader: "ReadingService", policy: Policy) -> None:
    from supervisor.runtime.reading.reviews import pickled

    reader.renew(pickled(policy.config, policy.nobody))


def _make_reader(daemon: Daemon, setup: Setup, policy: Policy) -> "ReadingService":
    """Make the reading service. Its process is started at the first request."""
    from supervisor.runtime.reading.jobs import ReadPaths as ToRead
    from supervisor.runtime.reading.reader import ReadingService
    from supervisor.runtime.reading.reviews import pickled

    places = ToRead(
        setup.places.journal,
        setup.places.incident_log,
        setup.places.checkpoints,
        pickled(policy.config, policy.nobody),
        log.level,
        most_connections(allowed()),
    )
    return ReadingService(places, daemon.journal)


def _make_api(
    daemon: Daemon,
    reader: "ReadingService",
    turnstile: "Turnstile",
    setup: Setup,
    in_force: Reloading,
    dispatcher: Dispatcher,
) -> "FastAPI":
    """Import and make what answers on the socket. Takes half a second."""
    from supervisor.runtime.api.app import make_api
    from supervisor.runtime.api.metrics import metrics_routes
    from supervisor.runtime.api.outcomes import outcome_routes
    from supervisor.runtime.api.recovery import recovery_routes
    from supervisor.runtime.api.tasks import task_routes
    from supervisor.runtime.services import rollbacks

    api = make_api(daemon, reader, turnstile)
    metrics_routes(api, daemon, reader)
    outcome_routes(api, daemon, lambda: pattern_names(detector_settings(in_force.policy.config)))

    async def restore(agent: str, checkpoint: str, by: str) -> object:
        return await rollbacks.roll_back(daemon, agent, RollbackRequest(checkpoint=checkpoint, files_only=True), by)

    going_on = daemon.happened, daemon.journal, setup.clock, daemon.submit, daemon.give_up_workspace
    recovery_routes(api, Recovering(daemon.board, *going_on, setup.places.state, restore))
    desk = TaskDesk(
        daemon.board.tasks, daemon.happened, daemon.journal.written, daemon.stamp, daemon.refuse_additions_for_now
    )
    redirecting = Redirecting(daemon.board, daemon.happened, daemon.stamp, daemon.request)
    task_routes(api, desk, dispatcher, daemon.board, redirecting)
    return api


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


async def _take_snapshots(daemon: Daemon, kept: StateFiles) -> None:
    """Take a snapshot now and then."""
    while True:
        due = daemon.journal.last + SNAPSHOT_EVERY
        await daemon.journal.written(due)
        await kept.take_snapshot(daemon.journal, daemon.board, daemon.metrics)


# ── end ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _end(daemon: Daemon, setup: Setup, kept: StateFiles) -> None:
    """Write down that the end was in order; agents are no longer watched."""
    clock = setup.clock
    daemon.happened(events.DaemonStopped(agent="", at=clock.wall(), mono=clock.mono(), reason="asked to"))
    if daemon.journal.state is JournalState.OPEN:  # a full disk takes no snapshot, and would be waited for without end
        with anyio.move_on_after(LAST_SNAPSHOT_SECONDS):
            await kept.take_snapshot(daemon.journal, daemon.board, daemon.metrics)


async def _blocking(do: Callable[..., object], *arguments: object) -> None:
    """Do something that blocks, off the loop, whatever else is being ended."""
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(do, *arguments)


def _inode(path: Path) -> int:
    try:
        return path.lstat().st_ino
    except FileNotFoundError:  # the service manager's socket is elsewhere
        return 0


def _stop_listening(listening: socket.socket, setup: Setup, inode: int) -> None:
    """Close the socket, and remove its path if it is still ours; one of the service manager's stays."""
    listening.close()
    if setup.listening is None and _inode(setup.places.socket) == inode:
        setup.places.socket.unlink(missing_ok=True)
