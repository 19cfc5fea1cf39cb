"""The daemon: every event goes through it once, and all that people ask of agents.

`happened` is the one entrance: an event is journalled, its session decides, the decisions are journalled behind it,
and the commands go to the agent's runner, which performs them once the journal has what led to them.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from interventions.decisions import Incident
from interventions.texts.fields import cut
from monitors.contract.errors import NotFoundError
from monitors.contract.tasks import Limits, Task
from monitors.contract.words import Severity
from supervisor.config.model import Agent
from supervisor.core.board import Board, MakeSession
from supervisor.core.decisions.lifecycle import asked
from supervisor.core.decisions.validation import refuse_illegal
from supervisor.core.fold.conversation.history import subject_of
from supervisor.core.fold.summary import Summary
from supervisor.core.session import Session
from supervisor.core.settings import DiscoverySettings, MergeSettings
from supervisor.core.states import TABLE, Transition
from supervisor.core.timers import RETRY
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp
from supervisor.protocol.identity import Identity
from supervisor.protocol.kinds.tasks import TaskMoved
from supervisor.protocol.tasks import TaskState
from supervisor.protocol.words import AgentState
from supervisor.runtime.attached.attaching import Attaching
from supervisor.runtime.attached.link import HookLink
from supervisor.runtime.checkpointing.captures import Checkpointing
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.checkpointing.worktrees import Worktrees
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.aftermath import Aftermaths
from supervisor.runtime.daemon.hooks import HookRunner
from supervisor.runtime.daemon.intake import Intake
from supervisor.runtime.daemon.orders import carried_out
from supervisor.runtime.daemon.outcomes import Outcomes
from supervisor.runtime.daemon.project_work import ProjectWork
from supervisor.runtime.daemon.running.deferred_reviews import DeferredReviews
from supervisor.runtime.daemon.running.runner import CommandBatch
from supervisor.runtime.daemon.running.runner_tools import Tools
from supervisor.runtime.daemon.running.runners import Runners
from supervisor.runtime.daemon.submission import Claim, Defaults, Submission, UnavailableError
from supervisor.runtime.daemon.usage_turns import UsageTurns
from supervisor.runtime.exporters.delivery import Exporting
from supervisor.runtime.incidents.feed import IncidentFeed
from supervisor.runtime.incidents.notifications import TASK_WIDTH, WAITS, ChannelSettings, Notifications, of_state
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.log import LOGGED_AS, log
from supervisor.runtime.merging.merge_queue import MergeQueue
from supervisor.runtime.merging.merge_rules import MergeRules
from supervisor.runtime.merging.merge_work import MergeWork
from supervisor.runtime.merging.verification import Verifier
from supervisor.runtime.metrics.metrics import Metrics
from supervisor.runtime.processes.earlier_life import let_go
from supervisor.runtime.processes.launcher import Brings, ProcessLauncher
from supervisor.runtime.processes.leftovers import end_launch
from supervisor.runtime.protection.protector import UNPROTECTED, Protector
from supervisor.runtime.shim import process_tree
from supervisor.runtime.socket.admission import RefusedPeer
from supervisor.runtime.socket.refusals import RefusedPeers

if TYPE_CHECKING:
    from supervisor.runtime.projects.checkpoints import ProjectCheckpoints

REPORT_SECONDS = 5.0
"""How long the end may wait for an incident to be written: a line takes milliseconds."""

ROOM_SECONDS = 3.0
"""How long a request waits to be written before it is looked whether the disk is full: a sync takes milliseconds, and
who asks gives up after 5 or 30 s without a word."""

PUT_DOWN_SECONDS = 15.0
"""Longest time until an agent that is ended by force is gone. Freezing and ending take a quarter of a second, and a
launch that is under way comes first."""

STRANGER_SECONDS = 0.05
"""Time between two looks whether an unknown agent has gone: its shim writes down the end within milliseconds."""


class Daemon:
    """Watches over agents for as long as its task group lives.

    Args:
        board: All agents, as rebuilt from the journal.
        journal: Receives every event first.
        incidents: Receives matters for a person.
        launcher: Starts agents.
        manager: Makes checkpoints and goes back to them.
        worktrees: Makes workspaces for agents that do not work in place.
        clock: Gives the time of events.
        tasks: The task group of the runners.
        defaults: Values for tasks without their own.
        metrics: Counts every event.
        channels: Notify people of incidents.
        hooks: The user's scripts for what happens.
        merge_rules: Settings of checks and merges; left out: nothing is proposed.
        protector: Masks what is sent to people, and keeps in full what live agents need.
    """

    def __init__(
        self,
        board: Board,
        journal: Journal,
        incidents: IncidentFeed,
        launcher: ProcessLauncher,
        manager: CheckpointManager,
        worktrees: Worktrees,
        clock: Clock,
        tasks: TaskGroup,
        defaults: Defaults | None = None,
        metrics: Metrics | None = None,
        channels: Sequence[ChannelSettings] = (),
        hooks: HookRunner | None = None,
        merge_rules: MergeRules | None = None,
        protector: Protector = UNPROTECTED,
    ) -> None:
        self.protector = protector
        self.metrics = metrics or Metrics()
        self.notifications = Notifications(channels, self.fault, self._count_message, self._about, protector)
        self.hooks = hooks or HookRunner({}, 0.0, {}, board.summaries)
        self.board = board
        self.journal = journal
        self.incidents = incidents
        self.taken_over: events.WorkTakenOver | None = None
        """Account of the work taken over from the daemon before; None if there was none."""
        self.watchers: list[Callable[[events.AnyEvent], None]] = []
        """Told of each event once it is journalled; it need not be folded in yet."""
        self.outcomes = Outcomes()
        self.unused_configuration = ""
        """Why what the files of the configuration say is not in force, as a clause; empty: it is."""
        self.ending = False
        """Whether no new task is taken any more."""
        self.answering = anyio.Event()
        """Set once the socket is answered, which is the last thing that a start makes."""
        self.exporting: list[Exporting] = []
        """The exporters of the journal to other systems, for reading only."""
        self.checkpoint_manager = manager
        self.worktrees = worktrees
        self._launcher = launcher
        self._clock = clock
        self._tasks = tasks
        self.checkpointing = Checkpointing(
            manager, clock, tasks, self.happened, self.fault, self.beside, self._is_waited_for
        )
        self._aftermaths = Aftermaths(board, manager, journal, incidents, self.happened, self.stamp, launcher.directory)
        self.deferred_reviews = DeferredReviews(clock, tasks, self.happened)
        self.usage_turns = UsageTurns(board, clock.wall, lambda: self.account, self._waits_no_longer)
        """Agents that wait for a usage limit to end, and go on one after the other."""
        tools = Tools(
            journal=journal,
            incidents=incidents,
            launcher=launcher,
            clock=clock,
            happened=self.happened,
            capture=self.checkpointing.capture,
            look=self.checkpointing.look,
            look_again=self.checkpointing.look_again,
            review=self.deferred_reviews.make,
            restore=self.checkpointing.restore,
            fault=self.fault,
            answers_due=self._answers_due,
            reattached=lambda agent: self.runners.reattached(agent),
            account=lambda: self.account,
            had_session=board.had_session,
            before_relaunch=self._before_relaunch,
            in_turn=self.usage_turns.over,
        )
        again: Callable[[Session], HookLink | None] = lambda session: self.attaching.again(session)  # noqa: E731 - made later
        self.runners = Runners(board, tools, tasks, self._journal, again, self._over, launcher.directory)
        rules = merge_rules or MergeRules(merge=MergeSettings(mode="off"))
        self.verifier = Verifier(launcher, rules.notes)
        work = MergeWork(board, journal, self.happened, clock, self.verifier, rules)
        self.merging = MergeQueue(board, work, tasks)
        self.project_work = ProjectWork(self, board, tasks, self.fault)
        """Checkpoints and rollbacks of whole projects."""
        self.intake = Intake(
            self,
            board,
            journal,
            launcher,
            worktrees,
            self.hooks,
            self.runners,
            self.project_work,
            defaults or Defaults(),
        )
        """Takes tasks."""
        self.attaching = Attaching(
            self, launcher.directory, tasks, self.intake.free_name, self.intake.refuse_tasks_for_now
        )
        """The agents whose CLI others started."""
        self.checkpointing.together = self.project_work.together
        self._refusals = RefusedPeers(self.fault, self._count_refusal, clock.mono)

    # ── what happens ──────────────────────────────────────────────────────────────────────────────────────────────

    def has_unused_configuration(self, why: str) -> None:
        """Keep why what the files of the configuration say is not in force, for people who look; empty: it is."""
        self.unused_configuration = why

    def happened(self, event: events.AnyEvent) -> int:
        """Journal an event, decide, and have the commands performed; returns the event's sequence number.

        A session that fails ends its own agent, and not the source of the event, such as a sample of all processes.
        """
        seq = self._journal(event)
        try:
            commands = self.board.see(seq, event)
        except Exception as error:
            if (runner := self.runners.get(event.agent)) is None:
                raise
            runner.perform(CommandBatch(0, [], failure=error))
        else:
            self.runners.hand_over(event.agent, seq, commands)
        if isinstance(event, TaskMoved) and event.after is TaskState.DONE:
            project = self.board.project_of_task(event.task)
            self._tasks.start_soon(self._mark, project, event.task, name=f"milestone after {event.task}")
        return seq

    @property
    def account(self) -> str:
        """The account that pays for the agents that are launched."""
        return self._launcher.account

    def _waits_no_longer(self, agent: str) -> None:
        """Have an agent go on before its wait is over: it waited for an account that does not pay for it any more."""
        self.happened(events.TimerFired(**self.stamp(agent), name=RETRY))

    def take_policy(
        self,
        make_session: MakeSession,
        renew: Callable[[Session], None],
        limits: Limits,
        launched: Agent,
        noted: DiscoverySettings,
    ) -> None:
        """Have another policy in force: for sessions that run, and for tasks from here on.

        Args:
            make_session: Makes their sessions.
            renew: Gives it to a session that runs.
            limits: Their limits.
            launched: Settings of launches.
            noted: Settings of facts that agents note.
        """
        self.take_account(launched)
        self.board.renew(make_session, renew)
        self.intake.defaults = replace(self.intake.defaults, limits=limits, discoveries=noted)

    def take_account(self, launched: Agent) -> None:
        """Have the credential of these settings pay from the next launch on."""
        self._launcher.renew(launched)

    def _journal(self, event: events.AnyEvent) -> int:
        """Journal an event and count it; returns its sequence number."""
        seq = self.journal.append(event)
        self.metrics.saw(seq, event)
        match event:
            case events.IncidentOpened() | events.FaultSeen():
                self.notifications.tell(event.incident)
            case events.ApprovalAsked():
                self.notifications.tell(_waits(seq, event))
            case events.StateChanged() if (notice := of_state(event, seq)) is not None:
                self.notifications.tell(notice)
            case events.ApprovalGiven() | events.ReviewMade():
                self.notifications.withdraw(_id_of_waiting(event))
        self.outcomes.saw(seq, event)
        self.hooks.saw(event, seq)
        for watcher in self.watchers:
            watcher(event)
        return seq

    def fault(
        self, agent: str, type_: str, summary: str, severity: Severity = Severity.HIGH, way_out: str = ""
    ) -> None:
        """Note something that failed outside what agents do, as an incident."""
        id_ = f"{agent or 'daemon'}-{self.journal.last + 1}-{type_}"
        incident = Incident(
            id_, self._clock.wall(), agent, type_, severity, summary, way_out, seq=self.journal.last + 1
        )
        self._journal(events.FaultSeen(**self.stamp(agent), incident=incident))
        log.log(LOGGED_AS[severity], "%s: %s %s", type_, summary, way_out)
        self._tasks.start_soon(self._report, incident, name=f"incident {id_}")

    async def _report(self, incident: Incident) -> None:
        """Write an incident, also while the daemon ends.

        One that the disk does not take by then is written at the next start.
        """
        with anyio.move_on_after(REPORT_SECONDS, shield=True):
            await self.incidents.report(incident, None)

    def refused(self, refusal: RefusedPeer) -> None:
        """Count a peer that was refused on the socket, and report it."""
        self._refusals.saw(refusal)

    def _count_refusal(self, reason: str) -> None:
        self.metrics.add("chaperon_socket_refused_total", reason)

    def _about(self, agent: str) -> str:
        """Say what an agent's task is, and where, for a message to people."""
        try:
            known = self.board.summary(agent)
        except NotFoundError:
            return ""
        return f"{cut(' '.join(known.task.prompt.split()), TASK_WIDTH)} (in {known.workspace})"

    def _count_message(self, channel: str, result: str) -> None:
        self.metrics.add("chaperon_notifications_total", channel, result)

    @property
    def agents_folder(self) -> Path:
        """The directory that has one directory an agent."""
        return self._launcher.directory("any").parent

    def mono(self) -> float:
        """Seconds on the clock that decisions use."""
        return self._clock.mono()

    def wall(self) -> float:
        """Unix time in seconds, for people."""
        return self._clock.wall()

    def boot_id(self) -> str:
        """Id of this boot of the machine; `mono` compares only within one."""
        return self._clock.boot_id()

    def stamp(self, agent: str) -> EventStamp:
        """Return the agent and the times of an event of now."""
        return self._clock.stamp(agent)

    async def brings(self, workspace: str) -> Brings:
        """Return the settings of the repository for a CLI in a workspace, and how it would be started."""
        return await anyio.to_thread.run_sync(self._launcher.brings, "", workspace)

    # ── what people ask ───────────────────────────────────────────────────────────────────────────────────────────

    async def submit(self, wanted: Submission, by: str, claim: Claim | None = None) -> Summary:
        """Take a task; see `Intake.submit`."""
        return await self.intake.submit(wanted, by, claim)

    def refuse_additions_for_now(self) -> None:
        """Refuse what cannot be kept now; raises UnavailableError."""
        self.intake.refuse_additions_for_now()

    def usual(self, task: Task) -> Task:
        """Return a task with the usual limits."""
        return self.intake.usual(task)

    async def _before_relaunch(self, agent: str) -> None:
        known = self.board.summary(agent)
        await self.hooks.before_start(agent, known.task.id, known.workspace, known.project)

    async def end_strangers(self, launches: Sequence[tuple[Path, Identity]]) -> None:
        """End running agents that the journal does not know: they cannot be watched."""
        for launch, identity in launches:
            for _ in range(round(PUT_DOWN_SECONDS / STRANGER_SECONDS)):
                if gone := await end_launch(launch):  # a shim whose CLI went with its group takes a moment
                    break
                await anyio.sleep(STRANGER_SECONDS)
            fate = "It was ended, with all its processes" if gone else "It could not be ended"
            what = f"Agent {identity.agent!r} ran (CLI {identity.cli_pid}, held by process {identity.shim_pid}), and the journal knows nothing of it. {fate}."
            way_out = f"Its workspace is as it left it; {launch} has what it printed."
            self.fault("", "unknown_agent", what, Severity.HIGH, way_out)

    async def request(self, event: events.AgentRequest) -> Summary:
        """Take in what a person asks of an agent; it is in the journal when this returns.

        Raises:
            NotFoundError: There is no such agent, or its session could not be made and the request is no stop.
            IllegalStepError: Its state does not allow it, or it has ended.
            UnavailableError: It has no session, and its processes could not be ended. Or the disk is full, and it is
                done once there is room.
        """
        agent = event.agent
        if carried_out(self.board.orders, event):
            await self._kept(self.journal.last)
            return self.board.summary(agent)
        if isinstance(event, events.StopRequested) and agent in self.board.unmade:
            return await self._stop_unmade(event)
        self.refuse_request(event)
        if isinstance(event, events.ApprovalGiven | events.AllowanceGiven | events.AllowanceRevoked):
            self.board.session(agent).check(event)
        await self._kept(self.happened(event))
        return self.board.summary(agent)

    async def _kept(self, n: int) -> None:
        """Wait until a request is in the journal; with a full disk not for ever, and who asked is told."""
        with anyio.move_on_after(ROOM_SECONDS):
            return await self.journal.written(n)
        if lacks := self.journal.lacks:
            raise UnavailableError(
                f"{lacks} What was asked is taken, and done once there is.",
                way_out="Make room there; it need not be asked again.",
            )
        return await self.journal.written(n)

    def refuse_request(self, event: events.AgentRequest) -> None:
        """Refuse what cannot be asked of an agent now; raises like `request`."""
        self.board.refuse_unmade(event.agent)
        known = self.board.summary(event.agent)
        refuse_illegal(event.agent, known.state, event, pause_asked=known.pause is not None)

    async def _stop_unmade(self, stop: events.StopRequested) -> Summary:
        """End an agent without a session at once, since it cannot be stopped step by step.

        It is in the journal when this returns.
        """
        agent, why = stop.agent, asked(stop)
        known = self.board.summary(agent)
        self.runners.note(stop)
        if Transition.STOP in TABLE[known.state]:
            self.runners.note(
                events.StateChanged(**self.stamp(agent), before=known.state, after=AgentState.STOPPING, why=why)
            )
        for number in (known.launches or 1, known.launches + 1):  # a launch may be known to its shim alone
            if not await end_launch(self._launcher.directory(agent, number)):
                raise UnavailableError(
                    f"Agent {agent!r} has no session, and its processes could not be ended.",
                    way_out=f"End them by hand (CLI {known.cli_pid}, held by process {known.shim_pid}), and ask again.",
                )
        await anyio.to_thread.run_sync(self._launcher.clear, known.containment)
        if not known.state.ended:  # by another who asked meanwhile
            before = known.state
            seq, _ = self.runners.note(
                events.StateChanged(**self.stamp(agent), before=before, after=AgentState.STOPPED, why=why)
            )
            await self.journal.written(seq)
            await self.close_workspace(agent)
        return self.board.summary(agent)

    async def put_down(self, agent: str, reason: str) -> None:
        """End all processes of an agent and wait until they have gone: for callers after which it is not watched.

        Nothing happens if it has ended. Shielded: it is done while its caller is being cancelled.
        """
        runner = self.runners.get(agent)
        with anyio.move_on_after(PUT_DOWN_SECONDS, shield=True):
            if not self.board.summary(agent).state.ended:
                await self.request(events.StopRequested(**self.stamp(agent), by="chaperon", reason=reason, force=True))
            if runner is not None:
                await runner.done.wait()
            # Else its runner was cancelled together with our caller; the next daemon here reads how it ended.
            if not self.board.summary(agent).state.ended:
                session = self.board.session(agent)
                if not await end_launch(self._launcher.directory(agent, session.launch_number), session.identity):
                    log.error("agent %s could not be ended", agent)

    @property
    def projects(self) -> "ProjectCheckpoints":
        """Makes and forgets checkpoints of whole projects."""
        return self.project_work.checkpoints

    def is_watched(self, agent: str) -> bool:
        """Whether something is still to be done for an agent, if only after its end."""
        return self.runners.get(agent) is not None

    async def _mark(self, project: str, done: str) -> None:
        """Make the checkpoint of a project that is due after every so many of its tasks."""
        if not self.ending:
            await self.project_work.mark(project, done, self.intake.defaults.checkpoint_every)

    async def _over(self, agent: str) -> None:
        """Make the checkpoint of a project that may be due, and close the workspace of an agent that ended."""
        await self._mark(self.board.project_of(agent), agent)
        await self.checkpoint_manager.end_kept(agent)
        await self.close_workspace(agent)
        await self._let_go(agent)

    async def _let_go(self, agent: str) -> None:
        """Forget what was kept in full for an agent, once its end is on the disk."""
        if not self.protector.masks or not self.board.summary(agent).state.ended:
            return
        await self.journal.synced(self.journal.last)
        try:
            await anyio.to_thread.run_sync(let_go, self.protector, agent, self._launcher.directory(agent))
        except OSError as error:
            log.warning("what was kept in full for %s could not be removed (%s); the next start tries", agent, error)

    async def close_workspace(self, agent: str) -> None:
        """Look up the remains of a stopped agent, and remove or keep the workspace that was made for it.

        Both are reported.
        """
        await self._aftermaths.look(agent)
        summary = self.board.summary(agent)
        if not summary.branch or summary.workspace_closed or self._is_still_needed(summary):
            return
        await self.merging.propose(agent)  # before it is noted that all was done at this agent's end
        if self.merging.awaits_agent(agent):
            self.merging.go_on()
            return
        await self.checkpoint_manager.release(summary.workspace)
        removed, why = await self.worktrees.close_of(summary, in_use=bool(self.beside(agent)))
        await self.merging.work.tidy(agent)  # before it is noted that all was done: a next daemon would not look again
        where = summary.workspace
        self.happened(events.WorkspaceClosed(**self.stamp(agent), workspace=where, removed=removed, why=why))
        self.merging.go_on()

    def _is_still_needed(self, summary: Summary) -> bool:
        """Whether a stored task may yet need the workspace: to be verified or merged, or for another attempt."""
        task = self.board.tasks.find(summary.stored_task)
        return task is not None and task.state not in (TaskState.DONE, TaskState.CANCELLED)

    async def give_up_workspace(self, workspace: str) -> str:
        """Remove a workspace in which no agent works; returns why it was left, empty if it is gone."""
        await self.checkpoint_manager.release(workspace)
        return await self.worktrees.give_up(workspace)

    def _answers_due(self, agent: str) -> bool:
        session = self.board.find(agent)
        return session is not None and session.answers_due

    def _is_waited_for(self, agent: str) -> bool:
        session = self.board.find(agent)
        return session is not None and session.asks

    def beside(self, agent: str) -> set[str]:
        """The other live agents that work in this agent's workspace."""
        here = self.board.summary(agent).workspace
        return {one.agent for one in self.board.at_work() if one.workspace == here and one.agent != agent}

    def begin_attached(self, submitted: events.TaskSubmitted, link: HookLink) -> None:
        """Have an agent begin whose CLI runs already and comes by its hooks."""
        self.runners.start(submitted.agent, link)
        self.happened(submitted)
        log.info("agent %s attached: %s, process %d", submitted.agent, submitted.origin, link.cli_pid)
        self.intake.tell_of_company(submitted.agent, submitted.workspace)

    def launched_cli(self, lineage: Collection[int], mark: int) -> int | None:
        """The CLI that chaperon launched, of the agent of a process; None if it is no such agent's."""
        agent = self.whose(lineage, mark)
        summary = self.board.summary(agent) if agent else None
        return summary.cli_pid if summary is not None and not summary.origin else None

    def whose(self, lineage: Collection[int], mark: int) -> str:
        """Return the agent of a process; empty if it is none's.

        Its shim, or the CLI of an attached one, is above the process, or the process carries its mark.
        """
        for session in self.board.live():
            known = session.identity or session.attached
            if session.launched and (_is_below(session, lineage) or (known and mark and known.mark == mark)):
                return session.summary.agent
        unmade = (agent for agent, one in self.board.unmade.items() if one.shim_pid and one.shim_pid in lineage)
        return next(unmade, "")

    def unwatched(self) -> list[str]:
        """Live agents without a runner, of which there should be none."""
        live = [session.summary.agent for session in self.board.live()]
        return self.runners.without(live)


def _is_below(session: Session, lineage: Collection[int]) -> bool:
    """Whether the process above all of an agent's is in a lineage.

    Another may have its number: the last steps of an agent come after the end of its processes, and numbers are few.
    """
    pid = session.summary.root_pid
    if pid not in lineage:
        return False
    attached = session.attached.cli_start_ticks if session.attached else 0
    started = session.identity.shim_start_ticks if session.identity else attached
    return not started or process_tree.start_ticks(pid) in (started, 0)  # one that has just ended is still the agent's


def _id_of_waiting(event: events.ApprovalAsked | events.ApprovalGiven | events.ReviewMade) -> str:
    return f"{event.agent}-{event.request_id}"


def _waits(seq: int, asked: events.ApprovalAsked) -> Incident:
    """Return the notice to people about an action that waits for them."""
    what = f"{asked.action.tool} `{subject_of(asked.action)}` waits for a person ({asked.why})"
    return Incident(
        _id_of_waiting(asked),
        asked.at,
        asked.agent,
        WAITS,
        Severity.MEDIUM,
        f"{what}; it is denied in {asked.deadline_seconds:g} s.",
        f"chaperon approve {asked.agent} {asked.request_id}, or chaperon deny {asked.agent} {asked.request_id}",
        seq=seq,
    )
