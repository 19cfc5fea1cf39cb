"""One agent's session: events in, commands out, and nothing else touched.

`see` folds an event into what is known, makes the decisions that are due, and returns what is to be done, in order.
`remember` only folds, for rebuilding from the journal; `recover` then does what a crash left undone.
"""

from collections.abc import Sequence

from interventions.controller import Controller
from supervisor.core.decide import Decider, SessionSettings
from supervisor.core.memory import HELLO, LADDER, SETTLE, Memory
from supervisor.core.states import Step, legal
from supervisor.core.summary import Summary
from supervisor.protocol.actions import Reviewer
from supervisor.protocol.commands import (
    CloseInput,
    Command,
    EndTree,
    Freeze,
    Launch,
    Record,
    ReportIncident,
    SendLine,
    StartTimer,
    StopTimer,
    Terminate,
)
from supervisor.protocol.control import interrupt
from supervisor.protocol.errors import IllegalStepError
from supervisor.protocol.events import (
    AgentLaunched,
    AnyEvent,
    IncidentOpened,
    PauseRequested,
    RedirectRequested,
    ResumeRequested,
    RungReached,
    SayRequested,
    StateChanged,
    StopRequested,
    TaskSubmitted,
)
from supervisor.protocol.issues import Detector
from supervisor.protocol.words import AgentState, Rung

LISTENING = frozenset({AgentState.STARTING, AgentState.RUNNING, AgentState.IDLE, AgentState.PAUSED})
"""The states in which something said reaches the model."""


def refuse_illegal(agent: str, state: AgentState, wish: AnyEvent) -> None:
    """Refuse a person's wish that the state does not allow.

    Raises:
        IllegalStepError: It does not.
    """
    match wish:
        case SayRequested() | RedirectRequested() if state not in LISTENING:
            raise IllegalStepError(agent, state, "be told anything", legal(state))
        case PauseRequested() if Step.PAUSE not in legal(state):
            raise IllegalStepError(agent, state, Step.PAUSE, legal(state))
        case ResumeRequested() if Step.RESUME not in legal(state):
            raise IllegalStepError(agent, state, Step.RESUME, legal(state))
        case StopRequested() if state.ended:
            raise IllegalStepError(agent, state, Step.STOP, legal(state))
        case _:
            return


class Session:
    """An agent, from the task that was submitted to the end of its last process.

    Args:
        submitted: The event that began it.
        reviewer: Reviews each action.
        detectors: Watch the run, in order.
        controller: Chooses interventions.
        settings: What the user decided.
    """

    def __init__(
        self,
        submitted: TaskSubmitted,
        reviewer: Reviewer,
        detectors: Sequence[Detector],
        controller: Controller,
        settings: SessionSettings,
    ) -> None:
        self._known = Memory(submitted, detectors, controller)
        self._decider = Decider(reviewer, controller, settings)
        self._settings = settings
        self._sent: set[str] = set()

    @property
    def summary(self) -> Summary:
        """What is known at a glance."""
        return self._known.summary

    @property
    def state(self) -> AgentState:
        """Where the agent is in its life."""
        return self._known.state

    @property
    def launched(self) -> bool:
        """Whether its processes were started, now or before a restart."""
        return self._known.launched

    @property
    def processes_ended(self) -> bool:
        """Whether the end of its processes is known, though what follows from it may still be due."""
        return self._known.ending is not None

    @property
    def owes_incidents(self) -> bool:
        """Whether something that happened to it has not been told as an incident."""
        return bool(self._known.incidents_due)

    @property
    def offset(self) -> int:
        """Where in the agent's output reading resumes."""
        return self._known.offset

    def check(self, wish: AnyEvent) -> None:
        """Refuse a person's wish that the agent's state does not allow, before it is journalled.

        Raises:
            IllegalStepError: It does not.
        """
        refuse_illegal(self.summary.agent, self.state, wish)

    def remember(self, seq: int, event: AnyEvent) -> None:
        """Fold one event of the journal into what is known, deciding nothing."""
        self._known.remember(seq, event)

    def see(self, seq: int, event: AnyEvent) -> list[Command]:
        """Take in what happened and return what is to be done, in order."""
        greeted, owed = self._known.greeted, self._known.owed_a_turn
        self._known.remember(seq, event)
        commands = [*self._effects(event), *self._decide(seq, event)]
        if self._known.greeted and not greeted:
            commands.append(StopTimer(HELLO))
        if self._known.owed_a_turn and not owed:
            commands.append(StartTimer(SETTLE, self._settings.settle_seconds))
        return commands

    def recover(self, seq: int, event: AnyEvent) -> list[Command]:
        """What is still due after `remember` rebuilt the session, or after the shim was lost and found again.

        The event says when, and that it was adopted. Lines that may have been sent before are sent again under their keys.
        """
        known = self._known
        self._sent.clear()
        commands = self._decide(seq, event)
        match known.state:
            case AgentState.STARTING if not known.launched:
                commands.append(self._launch())
            case AgentState.STARTING:
                commands.append(StartTimer(HELLO, self._settings.hello_seconds))
            case AgentState.RUNNING if known.owed_a_turn:
                commands.append(StartTimer(SETTLE, self._settings.settle_seconds))
            case AgentState.FINISHING:
                commands.append(CloseInput())
            case AgentState.STOPPING if known.rung is not None:
                commands += self._climb(known.rung)
            case _:
                pass
        return commands

    def _decide(self, seq: int, event: AnyEvent) -> list[Command]:
        """Make every decision that is due, and send what is in the outbox."""
        commands: list[Command] = []
        while (decision := self._decider.next(self._known, event, seq)) is not None:
            self._known.remember(seq, decision)
            commands += [Record(decision), *self._effects(decision)]
        commands += [SendLine(key, line) for key, line in self._known.outbox.items() if key not in self._sent]
        self._sent = set(self._known.outbox)
        return commands

    def _effects(self, event: AnyEvent) -> list[Command]:
        """What one event asks for beside lines to the CLI."""
        match event:
            case TaskSubmitted():
                return [self._launch()]
            case AgentLaunched():
                return [StartTimer(HELLO, self._settings.hello_seconds)]
            case StateChanged(after=AgentState.FINISHING):
                return [CloseInput()]
            case StateChanged(after=after) if after.ended:
                return [StopTimer(HELLO), StopTimer(SETTLE), StopTimer(LADDER)]
            case RungReached():
                return self._climb(event.rung)
            case IncidentOpened():
                return [ReportIncident(event.incident, event.report)]
            case _:
                return []

    def _launch(self) -> Launch:
        submitted = self._known.submitted
        return Launch(submitted.task, submitted.workspace, submitted.session_id)

    def _climb(self, rung: Rung) -> list[Command]:
        """What a rung does, and when the next is climbed."""
        following = self._settings.ladder.after(rung)
        timer: list[Command] = [StartTimer(LADDER, following[1])] if following else []
        match rung:
            case Rung.INTERRUPT:
                return [SendLine("interrupt:stop", interrupt("interrupt-stop")), *timer]
            case Rung.END_OF_INPUT:
                return [CloseInput(), *timer]
            case Rung.TERMINATE:
                return [Terminate(), *timer]
            case Rung.FREEZE:
                return [Freeze(), *timer]
            case Rung.KILL:
                return [EndTree()]
