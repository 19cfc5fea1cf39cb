"""The board: every agent there is, live or ended, as a fold over the journal.

Events are handed to the session that they are about; what is left of an ended one is its summary. A snapshot holds the
summaries and where the oldest live agent began: rebuilding reads the journal from there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from interventions.decisions import EndCause
from interventions.effectiveness import EffectRecord
from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from supervisor.core.fold.summary import Summary
from supervisor.core.projects.known import ProjectEvent, Projects
from supervisor.core.registers.costs import TotalCosts
from supervisor.core.registers.known_discoveries import Discoveries
from supervisor.core.registers.learning import Lessons
from supervisor.core.registers.merges import Merges
from supervisor.core.registers.past import KnownEnd, KnownPast
from supervisor.core.registers.standing import StandingOrders
from supervisor.core.registers.trusts import Trusts
from supervisor.core.registers.usage_limits import UsageLimits
from supervisor.core.session import Session
from supervisor.core.tasks.store import TaskEvent, TaskStore
from supervisor.protocol import commands
from supervisor.protocol.commands import Command
from supervisor.protocol.events import (
    AftermathSeen,
    AgentAdopted,
    AgentRemoved,
    AnyEvent,
    DiscoveryForgotten,
    DiscoveryNoted,
    InterventionJudged,
    LineReceived,
    MergeChanged,
    OutcomeGiven,
    PatternAdjusted,
    RecordDamaged,
    RecoveryChosen,
    RecoveryTaken,
    StateChanged,
    TaskSubmitted,
    TrustDecided,
    WorkspaceClosed,
)
from supervisor.protocol.kinds.tasks import TaskMoved
from supervisor.protocol.tasks import TaskState
from supervisor.protocol.words import AgentState

MakeSession = Callable[[TaskSubmitted], Session]

_OF_NO_SESSION = TaskEvent | ProjectEvent | MergeChanged

MOST_NAMED = 20
"""Running agents that an error names: a line or two."""


class RecordDamagedError(ChaperonError):
    """Lines of the journal about an agent are not what was written there."""

    def __init__(self, event: RecordDamaged) -> None:
        """Name the lines, and where they are now."""
        lines = f"{event.lines} lines from {event.begins}" if event.lines > 1 else f"line {event.begins}"
        super().__init__(
            f"{lines} of its journal is not what was written there ({event.why}), and was not believed; see {event.kept}",
            way_out="Look at that file, and at what could write into the state directory; then start the task anew.",
        )


class Board:
    """All agents.

    Args:
        make_session: Makes the session of a submitted task, with reviewer, detectors and controller.
        record: Outcomes of interventions so far; updated here, and read by the controllers that are made with it.
        lessons: Outcomes of issues given by people, and the adjustments that followed; updated here.
    """

    def __init__(
        self, make_session: MakeSession, record: EffectRecord | None = None, lessons: Lessons | None = None
    ) -> None:
        self.trusts = Trusts()
        self.orders = StandingOrders()
        self.discoveries = Discoveries()
        self.merges = Merges()
        """Merges of agents' branches."""
        self.record = record if record is not None else EffectRecord()
        self.lessons = lessons if lessons is not None else Lessons()
        self.costs = TotalCosts()
        """Spending of all agents together."""
        self.usage_limits = UsageLimits()
        """Usage limits that accounts met."""
        self.projects = Projects()
        """Project checkpoints, and rollbacks of projects."""
        self.tasks = TaskStore(self.projects.pins)
        """Stored tasks, which agents claim."""
        self._make_session = make_session
        self.failed: dict[str, Exception] = {}
        """Errors raised by sessions, by agent. A failed session decides nothing any more, so no call of its agent is
        answered."""
        self.unmade: dict[str, Summary] = {}
        """Agents whose session could not be made as the journal was read; `failed` has the error. They wait for a
        daemon that can."""
        self._admitted: dict[str, Session] = {}
        self._live: dict[str, Session] = {}
        self._ended: dict[str, Summary] = {}
        self._began: dict[str, int] = {}
        self._names: list[str] = []
        """All agents, in the order in which they were submitted; made again if there are more or fewer."""
        self.past = KnownPast()
        """The events that are in summaries that were known before the journal was read."""
        self._versions: dict[str, int] = {}
        """How often the summary of an agent may have changed."""

    def renew(self, make_session: MakeSession, renew: Callable[[Session], None]) -> None:
        """Take another policy.

        Args:
            make_session: Makes the sessions of tasks from here on.
            renew: Gives the policy to a session that runs. One that it fails for decides nothing any more.
        """
        self._make_session = make_session
        for agent, session in list(self._live.items()):
            self._guarded(agent, partial(_renewed, renew, session))

    def admit(self, submitted: TaskSubmitted) -> None:
        """Make the session of a task before the journal has it; `see` takes it from here.

        Raises:
            ChaperonError: None can be made.
        """
        try:
            self._admitted[submitted.agent] = self._make_session(submitted)
        except ChaperonError:
            raise
        except Exception as error:
            raise UsageError(
                f"No session could be made for agent {submitted.agent} ({type(error).__name__}: {error}); nothing was started.",
                way_out="Look at what the task brings (approval, limits) and at the configuration and its plugins.",
            ) from error

    def see(self, seq: int, event: AnyEvent) -> list[Command]:
        """Hand the event to its session and return what is to be done; nothing for events of the daemon's own."""
        self._touch(event.agent)
        if isinstance(event, OutcomeGiven | PatternAdjusted):
            self._learn(seq, event)
            return self._adjust(seq, [event])
        self._note(seq, event)
        if isinstance(event, _OF_NO_SESSION):
            return []
        session = self._session_of(seq, event)
        if session is None:
            return []
        return self._guarded(event.agent, lambda: self._noted(seq, event, session, session.see(seq, event)))

    def remember(self, seq: int, event: AnyEvent) -> None:
        """Fold one event of the journal in, deciding nothing."""
        self._touch(event.agent)
        if isinstance(event, InterventionJudged):
            self.record.remember(seq, event.judgement)
        if isinstance(event, OutcomeGiven | PatternAdjusted | InterventionJudged):
            self._learn(seq, event)
        self._note(seq, event)
        if isinstance(event, _OF_NO_SESSION) or self.past.has(event.agent, seq) or self._recognised(seq, event):
            return
        if isinstance(event, RecordDamaged):
            self._distrust(event)
            return
        if event.agent in self.unmade:
            self.unmade[event.agent].remember(event)
        self._guarded(event.agent, lambda: self._fold(seq, event))
        if event.agent in self.failed and isinstance(event, StateChanged) and event.after.ended:
            self.abandon(event)

    def recover(self, seq: int, event: AgentAdopted) -> list[Command]:
        """Return the commands that are still due for the agent of the event after the journal was read."""
        self._touch(event.agent)
        session = self._live.get(event.agent)
        if session is None:
            return []
        return self._guarded(
            event.agent, lambda: self._noted(seq, event, session, session.recover(seq, event, event.outcome))
        )

    def live(self) -> Iterator[Session]:
        """The sessions that have not ended."""
        return iter(list(self._live.values()))

    def at_work(self) -> list[Summary]:
        """The agents that have not ended: those with a session, and those whose session could not be made."""
        return [*(session.summary for session in self._live.values()), *self.unmade.values()]

    def workspaces_beside(self, agent: str) -> tuple[str, ...]:
        """Return the workspaces of the other agents that have not ended, without the one that the agent has too."""
        live = {one.agent: one.workspace for one in self.at_work()}
        own = live.pop(agent, "")
        return tuple(sorted({*live.values()} - {own}))

    def shared_with(self, agent: str) -> list[str]:
        """Return the other agents that were at work in the same workspace since this one started, by name."""
        known = self.summary(agent)
        same = (one for one in self.summaries() if one.workspace == known.workspace and one.agent != agent)
        return sorted(one.agent for one in same if one.ended_at is None or one.ended_at >= known.started_at)

    def find(self, agent: str) -> Session | None:
        """Return the session of a live agent; None if there is none."""
        return self._live.get(agent)

    def session(self, agent: str) -> Session:
        """The live session of that name.

        Raises:
            NotFoundError: There is none.
        """
        try:
            return self._live[agent]
        except KeyError:
            self.refuse_unmade(agent)
            ended = self._ended.get(agent)
            what = f"Agent {agent!r} has ended ({ended.state})." if ended else f"There is no agent {agent!r}."
            raise NotFoundError(what, way_out=_running(list(self._live))) from None

    def summaries(self) -> list[Summary]:
        """All agents, in the order in which they were submitted."""
        return [self.summary(agent) for agent in self.names()]

    def names(self) -> Sequence[str]:
        """The names of all agents, in the order in which they were submitted."""
        if len(self._names) != len(self._ended) + len(self._live) + len(self.unmade):
            known = [*self._ended.values(), *self.at_work()]
            known.sort(key=lambda summary: summary.first_event)  # the wall clock may have gone back meanwhile
            self._names = [summary.agent for summary in known]
        return self._names

    def summary(self, agent: str) -> Summary:
        """The summary of that name.

        Raises:
            NotFoundError: There is none.
        """
        known = self.known(agent)
        if known is None:
            raise NotFoundError(f"There is no agent {agent!r}.", way_out="`chaperon ps --all` lists them.")
        return known

    def version(self, agent: str) -> int:
        """A number that is another one whenever the agent's summary has changed."""
        return self._versions.get(agent, 0)

    def explained(self, agent: str, mono: float) -> Summary:
        """The summary of that name with the reasons of its controller as they are now.

        Args:
            agent: Its name.
            mono: Now, in seconds on the clock that never goes back.

        Raises:
            NotFoundError: There is none.
        """
        session = self._live.get(agent)
        if session is None:
            return self.summary(agent)
        return replace(session.summary, explained=session.controller.explain(mono))

    def refuse_taken(self, agent: str) -> None:
        """Refuse a name that an agent has or had.

        Raises:
            UsageError: It is taken.
        """
        if agent in self._live or agent in self._ended or agent in self.unmade:
            raise UsageError(f"There is an agent {agent!r} already.", way_out="Choose another name, or none.")

    def refuse_unmade(self, agent: str) -> None:
        """Refuse what only a session can do.

        Raises:
            NotFoundError: The agent's session could not be made.
        """
        if agent in self.unmade:
            raise NotFoundError(
                f"Agent {agent!r} has no session: {self.unmade[agent].why}. Its calls wait; nothing was done.",
                way_out=f"Mend that and start the daemon again, or end the agent: chaperon stop {agent}.",
            )

    def snapshot(self) -> tuple[int | None, list[Summary]]:
        """The sequence number of the oldest live agent's first event (None without one), and all ended summaries."""
        return min(self._began.values(), default=None), list(self._ended.values())

    def restore(self, ended: Sequence[KnownEnd]) -> None:
        """Take in the summaries of a snapshot, before the journal is read from where it says."""
        self._ended = {end.summary.agent: end.summary for end in ended}
        self._names = []
        self.past.restore(ended)
        for end in ended:
            self.costs.ended(end.summary)

    def abandon(self, event: StateChanged) -> None:
        """Write an agent off whose session failed: its life is over, whatever the session would still decide."""
        self._touch(event.agent)
        self.failed.pop(event.agent, None)
        session, summary = self._live.pop(event.agent, None), self.unmade.pop(event.agent, None)
        summary = session.summary if session is not None else summary
        if summary is not None:
            summary.changed(event)
            summary.unwatched = False
            self._ended[event.agent] = summary
            self.costs.ended(summary)
            del self._began[event.agent]

    def forget(self, agent: str) -> None:
        """Know nothing of an ended agent any more; what it cost stays in the sums."""
        for known in (self._ended, self._versions, self._began, self.failed, self.unmade):
            known.pop(agent, None)
        self._names = []
        self.past.forget(agent)

    def settle(self) -> None:
        """Retire the sessions that ended, once the journal was read; one that still has an incident to tell stays."""
        for agent, session in list(self._live.items()):
            self._retire(agent, session)
        for agent, summary in self.unmade.items():
            self._touch(agent)
            summary.unwatched = True
            summary.why = f"its session could not be made ({type(self.failed[agent]).__name__}: {self.failed[agent]})"

    def _distrust(self, event: RecordDamaged) -> None:
        """Have an agent ended whose record lacks lines: what it may do cannot be known any more.

        A name that no agent has was damaged itself, so that the lines may be about any that lives.
        """
        known = self.known(event.agent) is not None or self.past.has(event.agent, 1)
        for agent in [event.agent] if known else list(self._live):
            if agent in self._live:
                self.failed.setdefault(agent, RecordDamagedError(event))

    def _recognised(self, seq: int, event: AnyEvent) -> bool:
        """Take the summary of an agent that is submitted here, if it is known what it came to."""
        known = self.past.recognise(seq, event) if isinstance(event, TaskSubmitted) else None
        if known is None:
            return False
        self._ended[event.agent] = known
        self.costs.ended(known)
        return True

    def _touch(self, agent: str) -> None:
        self._versions[agent] = self._versions.get(agent, 0) + 1

    def _note(self, seq: int, event: AnyEvent) -> None:
        """Fold what concerns more than one agent."""
        if isinstance(event, RecoveryChosen):
            self._limited(seq, event)
        elif isinstance(event, TrustDecided):
            self.trusts.remember(seq, event)
        elif isinstance(event, TaskEvent):
            self.tasks.remember(seq, event)
            self._count_done(seq, event)
        elif isinstance(event, ProjectEvent):
            self.projects.remember(seq, event)
        elif isinstance(event, MergeChanged):
            self.merges.remember(seq, event)
        elif isinstance(event, DiscoveryNoted | DiscoveryForgotten):
            self._noted_for_others(seq, event)
        else:
            self.orders.remember(seq, event)
            if isinstance(event, StateChanged):
                self._count_done(seq, event)

    def _count_done(self, seq: int, event: AnyEvent) -> None:
        """Count a stored task that is done, or the end of an agent whose task was given to it alone."""
        if isinstance(event, TaskMoved) and event.after is TaskState.DONE:
            self.projects.count(seq, self.project_of_task(event.task))
        elif isinstance(event, StateChanged) and event.after is AgentState.DONE:
            known = self.known(event.agent)
            if known is not None and not known.stored_task:
                self.projects.count(seq, known.project)

    def project_of_task(self, id_: str) -> str:
        """The project in which a stored task was worked on last; empty if it is not known."""
        task = self.tasks.find(id_)
        return self.project_of(task.last_run.agent) if task and task.last_run else ""

    def project_of(self, agent: str) -> str:
        """The project of an agent; empty if it is not known."""
        known = self.known(agent)
        return known.project if known is not None else ""

    def had_session(self, session: str) -> list[str]:
        """The agents that were in a session of the CLI, the last one first."""
        return [one.agent for one in reversed(self.summaries()) if session and one.session_id == session]

    def known(self, agent: str) -> Summary | None:
        """The summary of that name; None if there is none."""
        live = self._live.get(agent)
        return live.summary if live else self._ended.get(agent) or self.unmade.get(agent)

    def _guarded(self, agent: str, do: Callable[[], list[Command]]) -> list[Command]:
        """Keep what one session raises from all others."""
        if agent in self.failed:
            return []
        try:
            return do()
        except Exception as error:  # noqa: BLE001 - whatever it is, the other agents must not suffer it
            self.failed[agent] = error
            return []

    def _fold(self, seq: int, event: AnyEvent) -> list[Command]:
        try:
            session = self._session_of(seq, event)
        except Exception:
            if isinstance(event, TaskSubmitted):
                self.unmade[event.agent] = replace(Summary.of(event), first_event=seq)
                self._began[event.agent] = seq
            raise
        if session is not None:
            session.remember(seq, event)
            self._count(session, event)
            _keep_reasons(session, event)
        return []

    def _session_of(self, seq: int, event: AnyEvent) -> Session | None:
        if isinstance(event, TaskSubmitted) and event.agent not in self._ended:
            admitted = event.agent in self._admitted
            session = self._admitted.pop(event.agent) if admitted else self._make_session(event)
            session.summary.first_event = seq
            self._live[event.agent] = session
            self._began[event.agent] = seq
        if isinstance(event, WorkspaceClosed):
            self.summary(event.agent).closed(event)
        elif isinstance(event, AgentRemoved):
            self.summary(event.agent).removed_at = event.at
        elif isinstance(event, RecoveryTaken):
            self.summary(event.agent).recovers(event)
        elif isinstance(event, AftermathSeen) and event.agent in self._ended:
            self._ended[event.agent].remember(event)
        return self._live.get(event.agent)

    def _noted(self, seq: int, event: AnyEvent, session: Session, due: list[Command]) -> list[Command]:
        """Take the outcomes among the decisions into the record, under the numbers that the journal gives them."""
        self._count(session, event)
        decisions = [command.event for command in due if isinstance(command, commands.WriteEvent)]
        judged = []
        for number, decision in enumerate(decisions, seq + 1):
            if isinstance(decision, DiscoveryNoted):
                self._noted_for_others(number, decision)
            if isinstance(decision, StateChanged):
                self._count_done(number, decision)
            if isinstance(decision, RecoveryChosen):
                self._limited(number, decision)
            if isinstance(decision, InterventionJudged):
                self.record.remember(number, decision.judgement)
                self._learn(number, decision)
                judged.append(decision)
        _keep_reasons(session, event)
        self._retire(event.agent, session)
        return due + self._adjust(seq + len(decisions), judged)

    def _learn(self, seq: int, event: OutcomeGiven | PatternAdjusted | InterventionJudged) -> None:
        """Take in what became of an issue, and what was made of it."""
        self.lessons.remember(seq, event)
        if isinstance(event, OutcomeGiven):
            live = self._live.get(event.agent)
            about = live.summary if live else self._ended.get(event.agent)
            if about is not None:
                about.told_outcome(event.pattern, event.outcome)

    def _noted_for_others(self, seq: int, event: DiscoveryNoted | DiscoveryForgotten) -> None:
        """Take in a fact that an agent noted, with its repository and its task."""
        about = self.known(event.agent)
        project, task = (about.project, about.task.id) if about else ("", "")
        self.discoveries.remember(seq, event, project, task)

    def _limited(self, seq: int, event: RecoveryChosen) -> None:
        """Note that the account that pays for an agent met its usage limit, if that is why it waits."""
        known = self.known(event.agent)
        if known is not None and event.recovery.cause is EndCause.USAGE_LIMIT:
            self.usage_limits.remember(seq, known.account, event.at + event.recovery.wait_seconds)

    def _adjust(self, seq: int, learned_of: Sequence[AnyEvent]) -> list[Command]:
        """The adjustments that are due after these events; the journal gives them the numbers after `seq`."""
        made: list[Command] = []
        for event in learned_of:
            if (adjusted := self.lessons.due(event)) is not None:
                made.append(commands.WriteEvent(adjusted))
                self.lessons.remember(seq + len(made), adjusted)
        return made

    def _count(self, session: Session, event: AnyEvent) -> None:
        """Count the spending of its agent, which only lines of its CLI report."""
        if isinstance(event, LineReceived):
            self.costs.saw(session.summary)

    def _retire(self, agent: str, session: Session) -> None:
        """Keep only the summary of a session that has ended and has nothing more to tell."""
        if session.over:
            self._ended[agent] = session.summary
            self.costs.ended(session.summary)
            del self._live[agent], self._began[agent]


def _running(agents: Sequence[str]) -> str:
    more = f" and {len(agents) - MOST_NAMED} more" if len(agents) > MOST_NAMED else ""
    return f"Running: {', '.join(agents[:MOST_NAMED]) or 'none'}{more}."


def _keep_reasons(session: Session, event: AnyEvent) -> None:
    """Keep in the summary of a session that is over why it was answered as it was: its controller goes with it."""
    if session.over and not session.summary.explained:
        session.summary.explained = session.controller.explain(event.mono)


def _renewed(renew: Callable[[Session], None], session: Session) -> list[Command]:
    renew(session)
    return []
