"""The daemon as a whole: from the state directory to a served socket, and back in order.

What can be refused is refused before anything is changed: the lock, the journal, the socket. Then agents are adopted,
and only then is the daemon ready. Its end leaves agents alone: they wait at their next tool call for the next daemon.
"""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from checkpoints.workspace.capture import CaptureSettings
from host.threads import wait_for_threads
from interventions.effectiveness import EffectRecord
from monitors.contract.actions import ReviewContext
from monitors.contract.wording import size
from supervisor import __version__
from supervisor.config.load import ConfigSource
from supervisor.config.model import Config
from supervisor.config.paths import prepare, remake_runtime
from supervisor.core.board import Board
from supervisor.core.registers.learning import Lessons
from supervisor.protocol import events
from supervisor.protocol.identity import Identity
from supervisor.protocol.tasks import TaskState
from supervisor.runtime.assembly.policy import Policy
from supervisor.runtime.assembly.policy_store import keep_policy
from supervisor.runtime.assembly.protection import make_protector
from supervisor.runtime.assembly.settings import (
    check_credential,
    detector_settings,
    off_limits,
    retention,
)
from supervisor.runtime.assembly.trusted_programs import TrustedPrograms
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.taken_over import taken_over
from supervisor.runtime.descriptors import raised
from supervisor.runtime.exporters import make_exporters
from supervisor.runtime.exporters.delivery import Positions
from supervisor.runtime.incidents.delivered import DeliveryMarks
from supervisor.runtime.incidents.log import latest
from supervisor.runtime.journal.journal import JournalState
from supervisor.runtime.journal.lock import take_state_directory
from supervisor.runtime.journal.mending import damage_words
from supervisor.runtime.journal.past_agents import PastAgents
from supervisor.runtime.log import log, mask_log
from supervisor.runtime.long_work import LongWork
from supervisor.runtime.parts import Setup as Setup
from supervisor.runtime.parts import (
    account_taken,
    host_reached,
    host_refused,
    login_failed,
    make_daemon,
    make_dispatcher,
    make_gateway,
    make_launcher,
    signing_of,
    start_exporting,
    tell_of_allowances,
    with_trusted,
)
from supervisor.runtime.parts import complete_work as complete_work
from supervisor.runtime.processes.earlier_life import living
from supervisor.runtime.services.budgets import Budgets
from supervisor.runtime.services.checkpoint_upkeep import CheckpointUpkeep, capture_live, close_left
from supervisor.runtime.services.credentials import Credentials
from supervisor.runtime.services.judging import CliJudge, Judging
from supervisor.runtime.services.people.orders import hold_again, hold_all
from supervisor.runtime.services.planting import Planting
from supervisor.runtime.services.quiet_checks import QuietChecks
from supervisor.runtime.services.reloading import Reloading, tell_of_programs
from supervisor.runtime.services.retention import forget_what_is_old
from supervisor.runtime.services.sampling import Sampling
from supervisor.runtime.services.telling import Telling
from supervisor.runtime.serving import serve, take_credential, take_policy
from supervisor.runtime.socket.admission import House
from supervisor.runtime.socket.listening import listen, listen_for_metrics
from supervisor.runtime.state_files import OpenedState, StateFiles

AUTOPILOT_SECONDS = 2.0
"""Between two looks at the clock and the costs of an autopilot: a call of the model takes about as long."""

SNAPSHOT_EVERY = 2_000
"""Events between two snapshots: at the 20,000 a second and more that are folded, a start reads 0.1 s of them at most
beside those of live agents."""

LAST_SNAPSHOT_SECONDS = 5.0
"""How long the end may wait for the disk to take a last snapshot; without one the next start reads a little more."""


@asynccontextmanager
async def run_daemon(setup: Setup) -> AsyncIterator[Daemon]:
    """A daemon that is ready: agents are adopted and the socket is served. It ends in order with the block.

    Raises:
        ChaperonError: It was not started: another daemon has the state directory or the socket, a directory cannot be
            used, or the journal is damaged.
    """
    wait_for_threads(log.error)
    async with AsyncExitStack() as stack:
        await anyio.to_thread.run_sync(prepare, setup.places, os.geteuid())
        usual = stack.enter_context(raised())
        stack.enter_context(await anyio.to_thread.run_sync(take_state_directory, setup.places.state))
        programs = TrustedPrograms(setup.places.programs, setup.places.copies / "programs")
        setup, distrusted = await anyio.to_thread.run_sync(with_trusted, setup, programs)
        listening, remake = setup.listening, partial(remake_runtime, setup.places, os.geteuid())
        if listening is None:
            listening = own = await anyio.to_thread.run_sync(
                listen, setup.places.socket, setup.config.socket.mode, remake
            )
            stack.push_async_callback(_blocking, own.leave)
        else:  # the service manager's, whose path stays
            stack.push_async_callback(_blocking, listening.close)
        hooks = await anyio.to_thread.run_sync(listen, setup.places.hooks_socket, 0o600, remake)
        stack.push_async_callback(_blocking, hooks.close)
        address = setup.config.metrics.listen
        port = stack.enter_context(listen_for_metrics(address)) if address else None
        exporters = await anyio.to_thread.run_sync(make_exporters, setup.config)
        record, lessons = EffectRecord(), Lessons(detector_settings(setup.config).learning)
        make_policy = partial(
            Policy,
            places=setup.places,
            environ=setup.environ,
            clock=setup.clock,
            record=record,
            beside=lambda agent: board.workspaces_beside(agent),
        )
        policy = await anyio.to_thread.run_sync(make_policy, setup.config)
        past = PastAgents()
        board: Board = Board(
            lambda submitted: policy.make_session(submitted, over=submitted.agent in past), record, lessons
        )
        protector = await anyio.to_thread.run_sync(
            make_protector, setup.config, setup.places, setup.environ, setup.clock, setup.disk
        )
        mask_log(protector.text)
        stack.callback(mask_log)
        kept_state = StateFiles(
            setup.places, setup.disk, setup.clock, protector, setup.segment_bytes, signing=signing_of(setup)
        )
        opened = await anyio.to_thread.run_sync(kept_state.open, board, past)
        # Ended in this order: agents' tasks, the journal, and with it everybody's streams, and then the socket.
        serving = await stack.enter_async_context(_cancelled_at_end())
        stack.push_async_callback(_blocking, opened.journal.close)
        known = [one.agent for one in board.summaries()]
        strangers = await anyio.to_thread.run_sync(living, setup.places.agents, known)  # before their groups go
        credentials = Credentials(board, setup.config, setup.environ, setup.clock)
        paid = replace(setup, config=credentials.config)
        gateway = make_gateway(paid, board)
        launcher = await anyio.to_thread.run_sync(make_launcher, paid, board, usual, gateway, protector)
        stack.push_async_callback(_blocking, launcher.leave)
        kept = setup.config.checkpoints
        captured = CaptureSettings(limit_bytes=kept.max_file_mb * 2**20, also=kept.also)
        manager = CheckpointManager(setup.places.checkpoints, captured, setup.clock, protector.seals)
        stack.push_async_callback(manager.close)
        async with _cancelled_at_end() as tasks:
            kept_out = await anyio.to_thread.run_sync(off_limits, setup.places, setup.environ)
            daemon = make_daemon(setup, board, opened, launcher, manager, kept_out, tasks, programs, protector)
            hears = (
                partial(host_refused, daemon),
                partial(host_reached, daemon),
                partial(account_taken, daemon),
                partial(login_failed, daemon, credentials.pass_over),
            )
            tasks.start_soon(gateway.run, *hears, name="gateway")
            tell_of_allowances(daemon, gateway)
            tasks.start_soon(_watch_journal, daemon, name="journal watch")
            dispatcher = make_dispatcher(daemon, setup)
            await anyio.to_thread.run_sync(keep_policy, setup.places.policies, policy.config)
            await _begin(daemon, setup, opened, policy.nobody, policy.digest, strangers)
            if opened.forgetting:
                from supervisor.runtime.services.people.forgetting import Forgetting  # which few starts need

                await Forgetting(daemon, kept_state, setup.places, setup.disk).resume()
            tell_of_programs(daemon.fault, distrusted, programs.trusted_digest, board.trusts.latest(""))
            house = House(setup.config.socket.mode, launcher.groups)
            source, take = (
                setup.source or ConfigSource({}),
                partial(take_policy, daemon, dispatcher, gateway, credentials, setup),
            )

            def make_kept(config: Config) -> Policy:
                made = make_policy(programs.running(config))
                wanted, known = made.config.agent, in_force.policy.config.agent
                if (wanted.credential, wanted.credentials) != (known.credential, known.credentials):
                    paid_by_it = Credentials(board, made.config, setup.environ, setup.clock).config
                    check_credential(paid_by_it, setup.environ, setup.clock)
                keep_policy(setup.places.policies, config)
                return made

            tells = daemon.happened, take, daemon.fault
            unused = daemon.has_unused_configuration
            in_force = Reloading(policy, source, make_kept, *tells, setup.clock, programs, unused)
            in_force.has_reported(distrusted)
            serving.start_soon(
                serve,
                daemon,
                listening,
                port,
                hooks,
                house,
                setup,
                in_force,
                dispatcher,
                kept_state,
                credentials,
                name="socket",
            )
            reports = setup.config.interventions.emergency_stop.preserve_incident_data_days
            days, kept_in = setup.config.audit.retain_days, (setup.places.agents, setup.places.set_aside)
            cut = partial(_cut_journal, daemon, kept_state)
            tasks.start_soon(
                forget_what_is_old, board, daemon.incidents, *kept_in, setup.clock, cut, reports, days, name="retention"
            )
            tasks.start_soon(_take_snapshots, daemon, kept_state, name="snapshots")
            tasks.start_soon(dispatcher.run, name="stored tasks")
            daemon.notifications.start(tasks)
            if exporters:
                positions = await anyio.to_thread.run_sync(Positions, setup.places.state, setup.disk)
                for exporter in exporters:
                    start_exporting(daemon, exporter, positions, opened.recovery.n, tasks)
            if setup.source is not None:
                tasks.start_soon(in_force.run, name="configuration")
            told = daemon.happened, setup.clock
            take_another = partial(take_credential, daemon, gateway, setup)
            tasks.start_soon(credentials.run, daemon, take_another, name="credentials")
            budgets = Budgets(daemon, credentials.limits, credentials.has_another)
            tasks.start_soon(budgets.run, name="budgets of the day")
            tasks.start_soon(_watch_autopilot, daemon, setup.places.state, name="autopilot")
            sampling = Sampling(board, opened.journal, manager.operations, *told)
            tasks.start_soon(sampling.run, name="sampling")
            judge = detector_settings(setup.config).judge
            if judge.enabled:
                ask = CliJudge(judge, setup.config.agent, setup.environ, setup.places.reached / "judge")
                tasks.start_soon(Judging(board, opened.journal, *told, judge, ask).run, name="judge")
            rules = lambda: daemon.merging.work.rules  # noqa: E731 - others may be in force later
            checks = QuietChecks(board, daemon.verifier, rules, daemon.happened, setup.clock, tasks)
            planting = Planting(board, daemon.fault, setup.clock.wall, tasks)
            facts = lambda: daemon.intake.defaults.discoveries.most_at_work  # noqa: E731 - as above
            telling_others = Telling(board, daemon.happened, daemon.stamp, facts, tasks)
            daemon.watchers += [checks.saw, planting.saw, telling_others.saw]
            telling_others.tell_owed()
            upkeep = CheckpointUpkeep(board, manager, daemon.fault, setup.clock, retention(setup.config))
            tasks.start_soon(upkeep.run, name="checkpoints")
            async with anyio.create_task_group() as telling:
                telling.start_soon(daemon.hooks.run, daemon.fault, name="hooks")
                yield daemon
                daemon.ending = True
                gateway.ending()
                if in_force.policy.config.agent.at_daemon_end == "pause" and not setup.last:
                    await hold_all(daemon, "the daemon ended, and agent.at_daemon_end is `pause`")
                await capture_live(board, daemon.checkpointing.make, setup.clock)
                daemon.hooks.close()
                telling.cancel_scope.deadline = anyio.current_time() + setup.config.hooks.timeout
        await _end(daemon, setup, kept_state)


@asynccontextmanager
async def _cancelled_at_end() -> AsyncIterator[anyio.abc.TaskGroup]:
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        finally:
            tasks.cancel_scope.cancel()


START_TOLD_SECONDS = 2.0
"""Between two lines of the log about how far a start is: most take less than one, and say nothing of it."""


# ── start ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    await anyio.to_thread.run_sync(_forget_ended, daemon)
    for event in opened.missed:
        report = event.report if isinstance(event, events.IncidentOpened) else None
        await daemon.incidents.report(event.incident, report)
    await anyio.to_thread.run_sync(_tell_what_was_not_told, daemon, setup)
    for damage in opened.recovery.damage:
        daemon.fault("", "record_damaged", *damage_words(damage))
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
        what = f"Nobody watches over agent {agent}: {summary.why}. None of its calls runs meanwhile; the other agents go on."
        daemon.fault(
            agent,
            "session_not_made",
            what,
            way_out=f"Mend that and start the daemon again, or end it: chaperon stop {agent}.",
        )
    with daemon.checkpoint_manager.work.under_way(
        "adopting", "the agents of the daemon before", "agent"
    ) as adopted_so_far:
        async with _cancelled_at_end() as telling:
            telling.start_soon(_tell_how_far, daemon.checkpoint_manager.work, name="progress of the adoption")
            adopted = await daemon.runners.adopt_all(adopted_so_far)
    if adopted.found:
        log.info("%s", adopted)
    if (taken := taken_over(daemon.board, adopted, opened.recovery, daemon.stamp(""))) is not None:
        daemon.taken_over = taken
        daemon.happened(taken)
    hold_again(daemon)
    await daemon.end_strangers(strangers)
    await close_left(daemon.board, daemon.worktrees, daemon.close_workspace, daemon.fault)
    await daemon.merging.resume()
    daemon.project_work.resume()


async def _tell_how_far(work: LongWork) -> None:
    """Say in the log how far the start is: its socket does not answer yet."""
    while True:
        await anyio.sleep(START_TOLD_SECONDS)
        for each in work.rows().values():
            log.info("%s", each.sentence)


def _forget_ended(daemon: Daemon) -> None:
    """Forget what was kept in full for agents and tasks whose end the daemon before had no time for. Blocks."""
    live = [one.agent for one in daemon.board.at_work()]
    tasks = [task.spec.id for task in daemon.board.tasks if task.state not in (TaskState.DONE, TaskState.CANCELLED)]
    try:
        daemon.protector.forget_ended(live, tasks)
    except OSError as error:
        log.warning("what was kept in full for ended agents could not be removed (%s); the next start tries", error)


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


async def _watch_journal(daemon: Daemon) -> None:
    """Tell of a disk that is full, and of room that is back."""
    state = JournalState.OPEN
    while True:
        state = await daemon.journal.changed(state)
        if state is JournalState.FULL:
            what = f"{daemon.journal.lacks} Agents wait at their next tool call; nothing is lost."
            daemon.fault(
                "", "disk_full", what, way_out="Make room there; everything goes on by itself within a second."
            )
        elif state is JournalState.OPEN:
            log.info("there is room again; agents go on")
        else:
            await daemon.journal.room()  # raises why nothing is written any more, which ends the daemon


async def _cut_journal(daemon: Daemon, kept: StateFiles, before: float) -> int:
    """Remove what is older than a Unix time and was sent by every exporter; return how many files went."""
    sent = min((exporting.position for exporting in daemon.exporting), default=None)
    return await kept.cut(daemon.journal, daemon.board, daemon.metrics, before, sent)


async def _watch_autopilot(daemon: Daemon, state: Path) -> None:
    """Look whether a stretch without a person is over, if one is under way."""
    while True:
        if daemon.board.orders.autopilot is not None:
            from supervisor.runtime.services.people.autopilot import Autopilot  # which few daemons need

            await Autopilot(daemon, state).look()
        await anyio.sleep(AUTOPILOT_SECONDS)


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
