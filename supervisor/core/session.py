"""One agent's session: events in, commands out, and nothing else touched.

`see` folds an event into the session's memory, makes the decisions that are due, and returns the commands, in order.
`remember` only folds, for rebuilding from the journal; `recover` then does what a crash left undone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from checkpoints.model import Reason
from interventions.choice.controller import Controller
from interventions.decisions import LimitsInForce
from interventions.recovery.after_end import RecoveryAnswer
from interventions.words import InterventionKind
from monitors.contract.actions import Reviewer
from monitors.contract.issues import Detector
from monitors.contract.tasks import Task
from monitors.review.allowances import Allowance
from supervisor.core.decisions import validation
from supervisor.core.decisions.adoption import TABLE, Found, Todo
from supervisor.core.decisions.decide import AgentSurroundings, Decider, SessionSettings
from supervisor.core.fold.asked_hosts import AskedHosts
from supervisor.core.fold.life.checkpoints import END
from supervisor.core.fold.life.rollback import Phase
from supervisor.core.fold.memory import Memory
from supervisor.core.fold.summary import Summary
from supervisor.core.timers import (
    APPROVAL,
    COMMANDS,
    FINISH,
    HELLO,
    INTERVENE,
    OF_A_SESSION,
    RETRY,
    SETTLE,
    STANDSTILL,
    STOP_STEP,
)
from supervisor.protocol.claude.control import interrupt
from supervisor.protocol.commands import (
    ApplyLimits,
    Capture,
    CloseInput,
    Command,
    EndTree,
    Freeze,
    Launch,
    LookAtSettings,
    ReportIncident,
    RestoreCheckpoint,
    ReviewElsewhere,
    SendLine,
    StartTimer,
    StopTimer,
    Terminate,
    Thaw,
    WriteEvent,
)
from supervisor.protocol.events import (
    AgentAttached,
    AgentLaunched,
    AnyEvent,
    ApprovalAsked,
    IncidentOpened,
    InputAccepted,
    InterventionChosen,
    LimitsEased,
    LineReceived,
    ReviewDeferred,
    ReviewMade,
    RollbackRequested,
    RungReached,
    StateChanged,
    TaskSubmitted,
)
from supervisor.protocol.identity import Identity
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.rollbacks import RollbackOptions
from supervisor.protocol.words import AgentState, StopStep

_NOTHING_AWAITED: Mapping[str, float] = {}


class Session:
    """An agent, from the task that was submitted to the end of its last process.

    Args:
        submitted: The event that began it.
        reviewer: Reviews each action.
        detectors: Watch the run, in order.
        controller: Chooses interventions.
        settings: The user's settings.
        surroundings: Facts from outside about the agent; none if left out.
    """

    def __init__(
        self,
        submitted: TaskSubmitted,
        reviewer: Reviewer,
        detectors: Sequence[Detector],
        controller: Controller,
        settings: SessionSettings,
        surroundings: AgentSurroundings | None = None,
    ) -> None:
        self._memory = Memory(
            submitted,
            detectors,
            controller,
            settings.captures,
            asynchronous=settings.asynchronous,
            prices=settings.prices,
            own_rules=settings.own_rules,
        )
        self._surroundings = surroundings or AgentSurroundings()
        self._decider = Decider(reviewer, controller, settings, self._surroundings)
        self._controller = controller
        self._wakes_at: float | None = None
        self._settings = settings
        self._captures_asked: set[str] = set()
        self._launches_asked = 0

    @property
    def summary(self) -> Summary:
        """The summary of the agent."""
        return self._memory.summary

    @property
    def task(self) -> Task:
        """The task that it was given."""
        return self._memory.task

    @property
    def state(self) -> AgentState:
        """The state of the agent."""
        return self._memory.state

    @property
    def approvals(self) -> tuple[ApprovalAsked, ...]:
        """The actions that wait for a person, oldest first."""
        return tuple(self._memory.requests.approvals.values())

    def allowances(self, now: float) -> tuple[Allowance, ...]:
        """Return the allowances in force at this moment, oldest first."""
        return self._memory.allowances.holding(now)

    @property
    def hosts(self) -> AskedHosts:
        """The hosts that it was refused and a person can open to it; for reading only."""
        return self._memory.hosts

    @property
    def open_issues(self) -> tuple[str, ...]:
        """The types of the issues that are open, one for each."""
        return tuple(type_ for type_, _ in self._memory.issues.open)

    @property
    def asks(self) -> bool:
        """Whether the CLI waits for an answer."""
        return bool(self._memory.requests.waiting)

    @property
    def answers_due(self) -> bool:
        """Whether the CLI waits for something: an answer, or a line that the shim has yet to take."""
        return bool(self._memory.requests.waiting or self._memory.outbox)

    @property
    def controller(self) -> Controller:
        """The interventions of the run, and their reasons; for reading only."""
        return self._controller

    @property
    def launched(self) -> bool:
        """Whether its processes were started, now or before a restart."""
        return self._memory.processes.launched

    @property
    def identity(self) -> Identity | None:
        """Identity of its processes; None before they were launched, and if an older chaperon did."""
        return self._memory.processes.identity

    @property
    def attached(self) -> AgentAttached | None:
        """The CLI that came by its hooks, if chaperon did not start it."""
        return self._memory.processes.attached

    @property
    def turn_under_way(self) -> bool:
        """Whether a turn began and has not ended."""
        return self.state in (AgentState.RUNNING, AgentState.PAUSED) and not self._memory.turns.idle

    def waits_for(self, request_id: str) -> bool:
        """Whether a request of the CLI has no answer yet."""
        return request_id in self._memory.requests.waiting

    def given_answer(self, request_id: str) -> bytes | None:
        """Return the line that answered a request of an attached CLI lately; None if there is none."""
        return self._memory.outbox.given(request_id)

    def may_hear(self, text: str, most: int) -> bool:
        """Whether it can be told a fact that another agent noted: it does not know it, and heard fewer than so many."""
        return not self.state.ended and self._memory.heard.may_hear(text, most)

    def has_reviewed(self, tool_use_id: str) -> bool:
        """Whether the gate has answered about this call."""
        return self._memory.calls.verdict(tool_use_id) is not None

    @property
    def processes_ended(self) -> bool:
        """Whether its processes ended, though what follows from that may still be due."""
        return self._memory.processes.ending is not None

    @property
    def goes_back(self) -> bool:
        """Whether a rollback of it is under way."""
        return self._memory.going_back.cause is not None

    @property
    def goes_back_with(self) -> str:
        """The rollback of its project that it is part of; empty if it goes back alone, or not at all."""
        return self._memory.going_back.together

    @property
    def launch_number(self) -> int:
        """Number of the launch of its processes, or of the next one."""
        return self._memory.going_back.launches + (0 if self._memory.processes.launched else 1)

    @property
    def over(self) -> bool:
        """Whether it has ended and nothing more is due: no incident, no judgement of an intervention."""
        return self.state.ended and not self._memory.pending_incidents and not self._controller.watching

    @property
    def offset(self) -> int:
        """Position in the agent's output at which reading resumes."""
        return self._memory.processes.offset

    @property
    def errors_offset(self) -> int:
        """Position in the agent's error output at which reading resumes."""
        return self._memory.processes.errors_offset

    def renew(self, reviewer: Reviewer, settings: SessionSettings, recoveries: tuple[RecoveryAnswer, ...]) -> None:
        """Take another policy between two events: what is decided from here on is decided by it.

        Prices and the rules of captures stay, since what was counted by them stays too.
        """
        self._surroundings = replace(self._surroundings, recoveries=recoveries)
        self._decider = Decider(reviewer, self._controller, settings, self._surroundings)
        self._settings = settings
        self._memory.renew(asynchronous=settings.asynchronous, own_rules=settings.own_rules)

    def check(self, request: AnyEvent) -> None:
        """Refuse a person's request that cannot be, before it is journalled; raises like `validation.check`."""
        validation.check(self._memory, request)

    def capture_now(self, key: str, note: str, mono: float) -> Capture | None:
        """Return the capture of the present for a stretch without a daemon; None if there is nothing to be captured.

        Args:
            key: The key under which its outcome comes.
            note: A sentence for the list of checkpoints.
            mono: Now, in seconds on the clock of decisions.
        """
        memory = self._memory
        if not memory.captures.rules.enabled or not memory.processes.launched or memory.going_back.cause is not None:
            return None
        return Capture(key, Reason.UNATTENDED, self.position(mono), memory.task, memory.submitted.workspace, "", note)

    def position(self, mono: float) -> RunMoment:
        """Return the position in the conversation and the health of the run now.

        Args:
            mono: Now, in seconds on the clock of decisions.
        """
        memory = self._memory
        return memory.captures.moment(memory.last_seq, mono, memory.state)

    def remember(self, seq: int, event: AnyEvent) -> None:
        """Fold one event of the journal into the state, deciding nothing."""
        self._memory.remember(seq, event)

    def see(self, seq: int, event: AnyEvent) -> list[Command]:
        """Take in what happened and return what is to be done, in order."""
        memory, back = self._memory, self._memory.going_back
        greeted, awaited, asked, phase = memory.processes.greeted, self._awaited(), back.asked_seq, back.phase
        memory.remember(seq, event)
        commands = self._effects(event)
        self._decide(seq, event, commands)
        if memory.processes.greeted and not greeted:
            commands += [StopTimer(HELLO), LookAtSettings(memory.submitted.workspace)]
        if memory.turns.ended is not None:
            commands += [StartTimer(name, seconds) for name, seconds in self._awaited().items() if name not in awaited]
        if back.phase is not phase or back.asked_seq != asked:
            commands += self._go_back(event.mono)
        self._wake(event.mono, commands)
        return commands

    def recover(self, seq: int, event: AnyEvent, found: Found = "reattached") -> list[Command]:
        """Return the commands that are due for a restored session.

        That is one rebuilt by `remember`, or one whose shim was lost and found again.

        The event says when, and that it was adopted. Lines that may have been sent before are sent again under their
        keys.
        """
        self._memory.outbox.lost()
        self._memory.requests.ask_again()
        self._memory.predicted.take()  # nobody noted what changed before the restart
        commands: list[Command] = []
        self._decide(seq, event, commands)
        for todo in TABLE[self.state].get(found, ()):
            commands += self._taking_over(todo, event)
        self._wake(event.mono, commands)
        return commands

    def _taking_over(self, todo: Todo, event: AnyEvent) -> list[Command]:
        memory, mono = self._memory, event.mono
        match todo:
            case Todo.LAUNCH:
                return self._launch()
            case Todo.AWAIT_RETRY:
                return [StartTimer(RETRY, memory.retries.seconds_left(event.at))]
            case Todo.AWAIT_HELLO:
                return [StartTimer(HELLO, self._settings.hello_seconds)]
            case Todo.AWAIT_TURN:
                return [StartTimer(name, seconds) for name, seconds in self._awaited().items()]
            case Todo.CLOSE:
                return self._close()
            case Todo.STOP_STEP if memory.stopping.step is not None:
                return self._take_stop_step(memory.stopping.step)
            case Todo.WATCH:
                deadlines: list[Command] = [self._deadline(asked, mono) for asked in memory.requests.approvals.values()]
                lowered = self._controller.limits != LimitsInForce(memory.task.limits)
                return [*deadlines, self._apply_limits()] if lowered else deadlines
            case Todo.GO_ON:
                # Without a rollback too: the daemon before may have ended with the tree standing still, for a stop that
                # was not written yet, or for its share of processor time.
                return self._go_back(mono)
            case _:
                return []

    def _awaited(self) -> Mapping[str, float]:
        """Return the timers of work that may start another turn after the one that ended, each with its time."""
        turns = self._memory.turns
        if turns.ended is None:
            return _NOTHING_AWAITED
        awaited: dict[str, float] = {}
        if turns.owed:
            awaited[SETTLE] = self._settings.settle_seconds
        if turns.commands_awaited:
            awaited[COMMANDS] = self._settings.command_seconds
        return awaited

    def _apply_limits(self) -> ApplyLimits:
        return ApplyLimits(self._controller.limits, self._memory.task.limits.max_memory_mb)

    def _wake(self, mono: float, commands: list[Command]) -> None:
        """Have something happen when a cooldown ends and an issue waits for it."""
        held = self._controller.call_wait(mono) if self._memory.requests.waiting else 0.0
        due = self._controller.wakes_in(mono)
        if not (held or due) or self.state.ended:
            return
        seconds = min(wait for wait in (due, held) if wait)
        wakes_at = round(mono + seconds, 3)
        if wakes_at != self._wakes_at:
            self._wakes_at = wakes_at
            commands.append(StartTimer(INTERVENE, seconds))

    def _deadline(self, asked: ApprovalAsked, mono: float) -> StartTimer:
        left = asked.mono + asked.deadline_seconds - mono
        return StartTimer(APPROVAL + asked.request_id, min(max(0.0, left), asked.deadline_seconds))

    def _decide(self, seq: int, event: AnyEvent, commands: list[Command]) -> None:
        """Make every decision that is due, and send what is in the outbox.

        Each is remembered under the number that the journal gives it: they follow the event without a gap.
        """
        memory, number = self._memory, seq
        while (decision := self._decider.next(memory, event, seq)) is not None:
            number += 1
            memory.remember(number, decision)
            commands.append(WriteEvent(decision))
            commands += self._effects(decision)
        commands += memory.predicted.take()
        if memory.outbox:
            commands += memory.outbox.take()
        if memory.captures.due or self._captures_asked:
            commands += self._capture(number, event)

    def _capture(self, seq: int, event: AnyEvent) -> list[Command]:
        """Ask for the checkpoints that are due; during a rollback for none, which would mix two moments.

        Of an agent that has ended, only the state it left is captured.
        """
        memory = self._memory
        if memory.going_back.cause is not None or memory.captures.due.keys() == self._captures_asked:
            return []
        asked, self._captures_asked = self._captures_asked, set(memory.captures.due)
        new = [
            key for key in memory.captures.due if key not in asked and (key.startswith(END) or not memory.state.ended)
        ]
        moment = memory.captures.moment(seq, event.mono, memory.state)
        due = memory.captures.due
        return [
            Capture(key, due[key].reason, moment, memory.task, memory.submitted.workspace, due[key].name, due[key].note)
            for key in new
        ]

    def _effects(self, event: AnyEvent) -> list[Command]:
        """Return the commands that one event leads to, beside lines to the CLI."""
        match event:
            case LineReceived() | InputAccepted() | ReviewMade():
                return []  # what comes most, so that it is not held against all of these
            case TaskSubmitted():
                return [] if event.origin else self._launch()
            case AgentLaunched():
                return [StartTimer(HELLO, self._settings.hello_seconds)]
            case StateChanged(after=AgentState.FINISHING):
                return self._close()
            case StateChanged(after=after) if after.ended:
                return [StopTimer(name) for name in OF_A_SESSION]
            case StateChanged(before=AgentState.WAITING, after=AgentState.STARTING):
                return [StopTimer(RETRY), *self._launch()]
            case StateChanged(after=AgentState.STARTING):
                return [StopTimer(SETTLE), *self._launch()]
            case StateChanged(after=AgentState.WAITING):
                wait = StartTimer(RETRY, self._memory.retries.seconds_left(event.at))
                return [*(StopTimer(name) for name in (HELLO, SETTLE, FINISH)), wait]
            case InterventionChosen() if event.intervention.kind is InterventionKind.RESOURCE_THROTTLING:
                return [self._apply_limits()]
            case LimitsEased():
                return [self._apply_limits()]
            case ReviewDeferred():
                context = self._decider.context(self._memory)
                return [ReviewElsewhere(event.request_id, event.action, context)]
            case ApprovalAsked():
                return [self._deadline(event, event.mono)]
            case RungReached():
                return self._take_stop_step(event.rung)
            case IncidentOpened():
                return [ReportIncident(event.incident, event.report)]
            case _:
                return []

    def _close(self) -> list[Command]:
        """Have the CLI end by itself; what is to be said to it is said while there is an input."""
        return [*self._memory.outbox.take(), CloseInput(), StartTimer(FINISH, self._settings.finish_seconds)]

    def _launch(self) -> list[Command]:
        """Start the processes, once for each time that the agent begins."""
        submitted, back = self._memory.submitted, self._memory.going_back
        number = back.launches + 1
        if number == self._launches_asked:
            return []
        self._launches_asked = number
        how = (number, back.resume_session, back.resume_at)
        return [Launch(submitted.task, submitted.workspace, back.session_id, *how)]

    def _go_back(self, mono: float) -> list[Command]:
        """Return the commands for the next phase of a rollback, or, after it, those that let the agent go on."""
        memory = self._memory
        wait = StartTimer(STANDSTILL, self._settings.standstill_seconds)
        match memory.going_back.phase:
            case Phase.FREEZING:
                return [Freeze(), wait]
            case Phase.RESTORING:
                return [StopTimer(STANDSTILL), self._restore(mono)]
            case Phase.ENDING:
                return [EndTree(), wait]
            case None if (
                memory.processes.launched
                and memory.processes.ending is None
                and memory.stopping.step not in (StopStep.FREEZE, StopStep.KILL)
            ):
                return [StopTimer(STANDSTILL), Thaw()]
            case None:
                return [StopTimer(STANDSTILL)]

    def _restore(self, mono: float) -> RestoreCheckpoint:
        memory, back = self._memory, self._memory.going_back
        moment = memory.captures.moment(back.asked_seq, mono, memory.state)
        restore = RestoreCheckpoint(back.id, back.checkpoint, memory.submitted.workspace, memory.task, moment)
        if memory.submitted.origin:  # its conversation is in the CLI of a person, who alone can go back in it
            if isinstance(back.cause, RollbackRequested):
                return replace(restore, how=replace(back.cause, files_only=True))
            return replace(restore, how=RollbackOptions(files_only=True), needless=False)
        match back.cause:
            case InterventionChosen(intervention=chosen):
                fresh = bool(chosen.details.get("fresh"))
                return replace(restore, how=RollbackOptions(fresh=fresh), needless=fresh)
            case RollbackRequested() as asked:
                return replace(restore, how=asked)
            case None:
                return restore

    def _take_stop_step(self, step: StopStep) -> list[Command]:
        """Perform a stop step, and start the timer of the next."""
        following = self._settings.stop_sequence.after(step)
        timer: list[Command] = [StartTimer(STOP_STEP, following[1])] if following else []
        match step:
            case StopStep.INTERRUPT:
                first = self._memory.outbox.take()  # what takes messages back that would begin another turn
                return [*first, SendLine("interrupt:stop", interrupt("interrupt-stop")), *timer]
            case StopStep.END_OF_INPUT:
                return [CloseInput(), *timer]
            case StopStep.TERMINATE:
                return [Terminate(), *timer]
            case StopStep.FREEZE:
                return [Freeze(), *timer]
            case StopStep.KILL:
                return [EndTree()]
