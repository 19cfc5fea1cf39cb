"""The daemon: every event goes through it once, and all that people ask of agents.

`happened` is the one entrance: an event is journalled, its session decides, the decisions are journalled behind it,
and the commands go to the agent's runner, which performs them once the journal has what led to them.
"""

import itertools
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from anyio import create_task_group, sleep
from anyio.abc import TaskGroup

from supervisor.core.board import Board
from supervisor.core.session import Session
from supervisor.core.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.commands import Command, Record
from supervisor.protocol.errors import ChaperonError
from supervisor.protocol.interventions import Incident
from supervisor.protocol.tasks import Limits
from supervisor.protocol.words import Severity
from supervisor.runtime import shims
from supervisor.runtime.adoption import Adopted, Finding, find
from supervisor.runtime.clock import Clock
from supervisor.runtime.incident_feed import IncidentFeed
from supervisor.runtime.journal import Journal, JournalError
from supervisor.runtime.launcher import ProcessLauncher
from supervisor.runtime.log import log
from supervisor.runtime.metrics import Metrics
from supervisor.runtime.notifications import ChannelSettings, Notifications
from supervisor.runtime.runner import Batch, Runner, Tools
from supervisor.runtime.submission import Submission

RETRY_SECONDS = 1.0
"""Between two attempts to reach a shim that does not answer: the attempt itself waits ten seconds."""


class UnavailableError(ChaperonError):
    """The daemon cannot do it now."""


class Daemon:
    """Watches over agents for as long as its task group lives.

    Args:
        board: All agents, as rebuilt from the journal.
        journal: Where every event goes first.
        incidents: What is worth a person's eye.
        launcher: Starts agents.
        clock: Tells the time that events carry.
        tasks: Where runners live.
        limits: What a task may use, unless it says otherwise.
        metrics: Counts every event.
        channels: By which people are told of incidents.
    """

    def __init__(
        self,
        board: Board,
        journal: Journal,
        incidents: IncidentFeed,
        launcher: ProcessLauncher,
        clock: Clock,
        tasks: TaskGroup,
        limits: Limits | None = None,
        metrics: Metrics | None = None,
        channels: Sequence[ChannelSettings] = (),
    ) -> None:
        self._limits = limits or Limits()
        self.metrics = metrics or Metrics()
        self.notifications = Notifications(channels, self.fault, self._count_message)
        self.board = board
        self.journal = journal
        self.incidents = incidents
        self.adopted = Adopted()
        self.ending = False
        """Whether no new task is taken any more."""
        self._launcher = launcher
        self._clock = clock
        self._tasks = tasks
        self._runners: dict[str, Runner] = {}
        self._silent: set[str] = set()
        self._tools = Tools(journal, incidents, launcher, clock, self.happened, self.fault, self._answers_due)
        self._numbers = itertools.count(1)

    # ── what happens ──────────────────────────────────────────────────────────────────────────────────────────────

    def happened(self, event: events.AnyEvent) -> int:
        """Journal an event, decide, and have the commands performed; returns the event's sequence number."""
        seq = self._journal(event)
        self._hand_over(event.agent, seq, self.board.see(seq, event))
        return seq

    def _journal(self, event: events.AnyEvent) -> int:
        """Journal an event and count it; returns its sequence number."""
        seq = self.journal.append(event)
        self.metrics.saw(seq, event)
        if isinstance(event, events.IncidentOpened | events.FaultSeen):
            self.notifications.tell(event.incident)
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
        log.error("%s: %s %s", type_, summary, way_out)
        self._tasks.start_soon(self.incidents.report, incident, None, name=f"incident {id_}")

    def _count_message(self, channel: str, result: str) -> None:
        self.metrics.add("chaperon_notifications_total", channel, result)

    def _hand_over(self, agent: str, seq: int, commands: list[Command]) -> None:
        last = seq
        for command in commands:
            if isinstance(command, Record):
                last = self._journal(command.event)
        if (runner := self._runners.get(agent)) is not None and commands:
            runner.perform(Batch(last, commands))

    def mono(self) -> float:
        """Seconds on the clock that decisions use."""
        return self._clock.mono()

    def stamp(self, agent: str) -> dict[str, Any]:
        """Whom an event of now is about, and when now is."""
        return {"agent": agent, "at": self._clock.wall(), "mono": self._clock.mono()}

    # ── what people ask ───────────────────────────────────────────────────────────────────────────────────────────

    async def submit(self, wanted: Submission, by: str) -> Summary:
        """Take a task; its agent is launched once the journal has it.

        Raises:
            UsageError: The task cannot be: see `Submission.check`; or the name is taken.
            UnavailableError: The daemon is ending.
        """
        if self.ending:
            raise UnavailableError(
                "The daemon is ending and takes no new task.", way_out="Start it again, and then ask."
            )
        workspace = await wanted.check()
        name = wanted.name or self._free_name()
        self.board.refuse_taken(name)
        task = wanted.task(f"t-{uuid4().hex[:8]}", workspace, self._limits)
        submitted = events.TaskSubmitted(
            **self.stamp(name), task=task, workspace=workspace, session_id=task.resume_session or str(uuid4())
        )
        self._start_runner(name)
        seq = self.happened(submitted)
        log.info("%s submitted %s for agent %s in %s", by, task.id, name, workspace)
        await self.journal.written(seq)
        return self.board.summary(name)

    async def wish(self, agent: str, kind: type[events.AnyEvent], **facts: object) -> Summary:
        """Take in what a person wishes of an agent; it is in the journal when this returns.

        Raises:
            NotFoundError: There is no such agent, or it has ended.
            IllegalStepError: Its state does not allow it.
        """
        event = kind(**self.stamp(agent), **facts)  # type: ignore[arg-type]
        self.board.session(agent).check(event)
        await self.journal.written(self.happened(event))
        return self.board.summary(agent)

    def _free_name(self) -> str:
        taken = {summary.agent for summary in self.board.summaries()}
        return next(name for number in self._numbers if (name := f"a{number}") not in taken)

    def _answers_due(self, agent: str) -> bool:
        return any(session.answers_due for session in self.board.live() if session.summary.agent == agent)

    def shim_pids(self) -> frozenset[int]:
        """The process ids of all living shims: what is below one is an agent's."""
        return frozenset(session.summary.shim_pid for session in self.board.live() if session.launched)

    def unwatched(self) -> list[str]:
        """Live agents that nobody watches over, of which there should be none."""
        return [name for session in self.board.live() if (name := session.summary.agent) not in self._watched()]

    def _watched(self) -> set[str]:
        return {*self._runners, *self._silent}

    # ── runners ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _start_runner(self, agent: str, shim: shims.Shim | None = None, offset: int = 0) -> Runner:
        runner = Runner(agent, self._tools, lambda: self.board.summary(agent).state.ended, offset)
        self._runners[agent] = runner
        self._tasks.start_soon(self._keep, runner, shim, name=f"agent {agent}")
        return runner

    async def _keep(self, runner: Runner, shim: shims.Shim | None) -> None:
        """Run one agent's runner; a failure in it ends that agent and no other."""
        try:
            await runner.run(shim)
        except* JournalError:
            raise  # without a journal nothing may go on: the daemon ends, agents wait, the next start adopts them
        except* Exception as errors:  # noqa: BLE001 - whatever failed, the other agents must not suffer it
            log.exception("the runner of %s failed", runner.agent)
            what = (
                f"Chaperon failed while it watched over agent {runner.agent}: {errors.exceptions[0]!r}. It was ended."
            )
            self.fault(runner.agent, "runner_failed", what, way_out="Please report this; the log has the traceback.")
            await runner.give_up(repr(errors.exceptions[0]))
        finally:
            self._runners.pop(runner.agent, None)

    # ── adoption ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def adopt_all(self) -> Adopted:
        """Take over every agent that was live when the daemon before this one ended; returns once each is found."""
        sessions = list(self.board.live())
        self.adopted.found = len(sessions)
        async with create_task_group() as finding:
            for session in sessions:
                finding.start_soon(self._find, session, name=f"finding {session.summary.agent}")
        return self.adopted

    async def _find(self, session: Session) -> None:
        finding = await find(session, self._launcher.directory(session.summary.agent))
        self.adopted.count(finding.outcome)
        if finding.outcome == "silent":
            self._tasks.start_soon(self._try_again, session, name=f"silent {session.summary.agent}")
        else:
            await self._adopt(session, finding)

    async def _try_again(self, session: Session) -> None:
        """Ask a shim that does not answer until it does, or is gone."""
        agent = session.summary.agent
        what = f"The shim of agent {agent} lives and does not answer. It is asked again until it does; the agent waits."
        self.fault(agent, "shim_silent", what, way_out=f"Where that lasts: chaperon stop --force {agent}.")
        self._silent.add(agent)
        finding = Finding("silent")
        while finding.outcome == "silent":
            await sleep(RETRY_SECONDS)
            finding = await find(session, self._launcher.directory(agent))
        await self._adopt(session, finding)
        self._silent.discard(agent)

    async def _adopt(self, session: Session, finding: Finding) -> None:
        agent = session.summary.agent
        runner = self._start_runner(agent, finding.shim, session.offset)
        if finding.shim is not None and not session.launched:
            runner.launched(finding.shim)
        event = events.AgentAdopted(**self.stamp(agent), outcome=finding.outcome)
        seq = self._journal(event)
        self.board.remember(seq, event)
        self._hand_over(agent, seq, self.board.recover(seq, event))
        log.info("agent %s: %s", agent, finding.outcome)
        if finding.outcome in ("exited", "lost"):
            await runner.read_what_is_left(self._launcher.directory(agent))
