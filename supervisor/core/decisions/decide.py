"""The next decision, given the state of a session: one at a time, until none is left.

The order is the order of harm: answers that the CLI waits for, then issues of the detectors, then responses to them,
then the steps of the agent's life. Each decision is an event; folding it in makes it no longer due.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from interventions import approval
from interventions.approval import ApprovalSettings
from interventions.choice.controller import Controller, Easing
from interventions.contract import CheckpointLookup, NoCheckpoints, NothingSurveyed, Situation, Surveyed
from interventions.decisions import Intervention, Judgement, PersonNeed
from interventions.recovery.after_end import RecoveryAnswer
from interventions.recovery.usage_limits import Offset
from interventions.texts.restated import restated
from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
from monitors.contract.errors import ReviewDeferredError
from monitors.contract.issues import Issue
from monitors.contract.words import Decision
from supervisor.core import gate, limits
from supervisor.core.decisions import incidents, lifecycle, restart
from supervisor.core.decisions.restart import RetrySettings
from supervisor.core.decisions.stop_sequence import StopSequence
from supervisor.core.fold.life.checkpoints import RISKY, CaptureRules
from supervisor.core.fold.life.rollback import Phase
from supervisor.core.fold.memory import Memory
from supervisor.core.settings import LimitSettings
from supervisor.core.states import take
from supervisor.protocol.claude import messages
from supervisor.protocol.claude.prices import NOTHING, Prices
from supervisor.protocol.events import (
    AnyEvent,
    ApprovalAsked,
    CheckpointAwaited,
    ContextRestated,
    DiscoveryNoted,
    Event,
    FrameRejected,
    IncidentOpened,
    InputAccepted,
    InterventionChosen,
    InterventionJudged,
    IssueSeen,
    LimitsEased,
    PersonNeeded,
    RecoveryChosen,
    RestoreFailed,
    ReviewDeferred,
    ReviewMade,
    RungReached,
    StateChanged,
    StopRequested,
)
from supervisor.protocol.words import AgentState

NOT_CAPTURED = "chaperon.not-captured"
"""The rule of an action that is blocked because it could not be undone."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Settings of a session."""

    hello_seconds: float = 60.0
    """How long the CLI may take to answer its first line: 0.4 s when measured; a minute allows for a cold disk."""
    settle_seconds: float = 10.0
    """Time, in seconds, after which a message that came as the turn ended no longer delays the agent's finish. The
    CLI takes one within milliseconds."""
    command_seconds: float = 600.0
    """How long a task whose turn ended with commands in the background waits for these: a test run ends and wakes the
    model, a server never does, and is ended then. As long as the CLI itself waits for them."""
    finish_seconds: float = 660.0
    """Time that the CLI may take to end once its input is closed, before it is stopped. It gives background shells
    600 s by itself, and a minute is for the rest."""
    standstill_seconds: float = 10.0
    """Time until all processes are frozen, or gone, for a rollback: 0.3 ms and 24 ms were measured."""
    stop_sequence: StopSequence = field(default_factory=StopSequence)
    home: str = ""
    """The agent's home directory, for reviews."""
    protected: tuple[str, ...] = ()
    """Chaperon's own paths, which no agent touches."""
    asynchronous: bool = False
    """Whether a call of low risk that changes nothing is answered before the journal has its review."""
    approval: ApprovalSettings = field(default_factory=ApprovalSettings)
    """Rules for actions that wait for a person."""
    limits: LimitSettings = field(default_factory=LimitSettings)
    """The response at a limit of the task."""
    own_rules: Collection[str] | None = None
    """The names of the user's own rules, and of plugins'; None if there may be others."""
    prices: Prices = field(default_factory=dict)
    """The user's own prices of models."""
    captures: CaptureRules = field(default_factory=CaptureRules)
    """When checkpoints are made."""
    retries: RetrySettings = field(default_factory=RetrySettings)
    """When an agent whose CLI ended too early is started again."""


@dataclass(frozen=True, slots=True)
class AgentSurroundings:
    """Facts from outside about an agent, for reviews and the choice of an intervention.

    They are looked up when one is due, never before.
    """

    checkpoints: CheckpointLookup = field(default_factory=NoCheckpoints)
    facts: Surveyed = field(default_factory=NothingSurveyed)
    recoveries: tuple[RecoveryAnswer, ...] = ()
    """Plugins that are asked what follows an agent's end."""
    zones: Offset = lambda _: 0
    """Returns the offset of a time zone."""
    session_id: Callable[[], str] = lambda: ""
    """Makes the id of a new session."""
    others: Callable[[], tuple[str, ...]] = tuple
    """Returns the workspaces of other agents that have not ended, if reviews are to know them."""


class Decider:
    """Makes a session's decisions; holds no state of its own."""

    def __init__(
        self, reviewer: Reviewer, controller: Controller, settings: SessionSettings, surroundings: AgentSurroundings
    ) -> None:
        self._reviewer = reviewer
        self._controller = controller
        self._settings = settings
        self._surroundings = surroundings

    def next(self, memory: Memory, now: Event, seq: int) -> AnyEvent | None:
        """The next decision that is due, or None.

        Args:
            memory: The session's state; not changed here.
            now: The event that is being handled: when it is.
            seq: That event's sequence number.
        """
        if not memory.calm:
            return self._due(memory, now, seq)
        if not memory.usage_seen or isinstance(now, InputAccepted):  # by a line that the CLI gets, nothing is used
            return None
        return self._overspent(memory, now) or self._issue(memory, now, seq)

    def _due(self, memory: Memory, now: Event, seq: int) -> AnyEvent | None:
        if memory.state.ended:
            return self._intervention(memory, now, seq) or self._incident(memory, now, seq)
        return (
            self._rejection(memory, now)
            or self._overspent(memory, now)
            or self._review(memory, now)
            or self._issue(memory, now, seq)
            or self._discovery(memory, now)
            or self._intervention(memory, now, seq)
            or self._restatement(memory, now)
            or self._rollback(memory, now)
            or self._recovery(memory, now)
            or self._step(memory, now)
            or self._stop_step(memory, now)
            or self._incident(memory, now, seq)
        )

    def _rejection(self, memory: Memory, now: Event) -> AnyEvent | None:
        unread = memory.requests.unread
        if unread is None:
            return None
        return FrameRejected(**now.stamp, problem=unread.problem)

    def _overspent(self, memory: Memory, now: Event) -> StopRequested | None:
        """Return the stop that is due if the model's next call would pass the spending limit.

        Each call of a tool is followed by one of the model, whatever the gate answers, so the agent is ended instead of
        answered.
        """
        at_limit = self._settings.limits.at_limit
        if (
            at_limit == "tell"
            or memory.state is not AgentState.RUNNING
            or memory.stopping.due
            or memory.going_back.cause
        ):
            return None
        if (at_limit == "block" and memory.requests.waiting) or memory.requests.turned_down:
            coming = memory.spending.next
        elif at_limit == "block" and memory.turns.ended is None:
            coming = NOTHING
        else:
            return None
        found = limits.passing(self._controller.usage(now.mono), coming, memory.task.limits)
        if found is None:
            return None
        return StopRequested(**now.stamp, by="chaperon", reason=found.says, limit=found.limit)

    # ── the gate ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _review(self, memory: Memory, now: Event) -> AnyEvent | None:
        if memory.state in (AgentState.PAUSED, AgentState.STOPPING) or memory.going_back.cause is not None:
            return None
        if memory.stopping.due:
            return None  # an answer would lead to another call of the model
        for request in memory.requests.waiting.values():
            if due := self._answer(memory, request, now):
                return due
        return None

    def _answer(
        self, memory: Memory, request: gate.Request, now: Event
    ) -> ReviewMade | ApprovalAsked | CheckpointAwaited | ReviewDeferred | None:
        """The review of a request, or what it waits for; None while it waits."""
        awaited = memory.captures.awaited.get(request.request_id)
        if awaited is not None:
            captured = _captured(memory, awaited)
            return None if captured is None else self._made(now, request, awaited.action, captured)
        asked = memory.requests.approvals.get(request.request_id)
        if asked is not None:
            made = _approved(memory, asked)
            return None if made is None else self._unless_captured(memory, request, asked.action, made, now)
        action = gate.action_of(request, memory.submitted.workspace, memory.submitted.workspace)
        unread = request.unread if isinstance(request, messages.HookCallback) else ""
        if action is None or unread:
            action = Action(request.tool_name, {}, tool_use_id=request.tool_use_id)
            refused = gate.unread(unread) if unread else gate.malformed(request.tool_name)
            return self._made(now, request, action, refused)
        before = self._verdict(memory, request, action)
        if before is not None:
            return self._made(now, request, action, before)
        if self._controller.call_wait(now.mono) > 0:
            return None
        if over := self._controller.refuses(action.tool, now.mono):
            return self._made(now, request, action, gate.used_up(over))
        review = memory.requests.arrived.get(request.request_id)
        if review is None and request.request_id in memory.requests.elsewhere:
            return None
        try:
            review = review or gate.review(self._reviewer, action, self.context(memory))
        except ReviewDeferredError:
            return ReviewDeferred(**now.stamp, request_id=request.request_id, action=action)
        review = memory.allowances.applied(action, review, now.mono)
        settings = self._settings.approval
        used_up = self._used_up(memory, action, review, now)
        if used_up and self._settings.limits.at_limit == "block":
            return self._made(now, request, action, limits.refused(review, used_up))
        why = used_up or approval.needs_person(action, review, settings)
        if not why:
            return self._unless_captured(memory, request, action, review, now)
        return ApprovalAsked(
            **now.stamp,
            request_id=request.request_id,
            action=action,
            review=review,
            why=why,
            deadline_seconds=settings.deadline_seconds,
        )

    def _used_up(self, memory: Memory, action: Action, review: Review, now: Event) -> str:
        """Why a limit that is reached forbids the action; empty if none does."""
        at_limit, usage = self._settings.limits.at_limit, self._controller.usage(now.mono)
        if at_limit == "tell":
            return ""
        if at_limit == "hold" and (found := limits.passing(usage, memory.spending.next, memory.task.limits)):
            return f"{found.says[0].upper()}{found.says[1:]}."
        return limits.forbidden(action, review, usage, self._controller.limits.limits)

    def _unless_captured(
        self, memory: Memory, request: gate.Request, action: Action, review: Review, now: Event
    ) -> ReviewMade | CheckpointAwaited | None:
        """The review; while a capture is under way, None for an action that might get half into it."""
        if memory.captures.holds(action, review):
            return None
        if not memory.captures.needs(review):
            return self._made(now, request, action, review)
        return CheckpointAwaited(**now.stamp, request_id=request.request_id, action=action, review=review)

    def _made(self, now: Event, request: gate.Request, action: Action, review: Review) -> ReviewMade:
        return ReviewMade(**now.stamp, request_id=request.request_id, action=action, review=review)

    def _verdict(self, memory: Memory, request: gate.Request, action: Action) -> Review | None:
        """Return the first gate's verdict on the same call, if the second gate gets the reviewed input."""
        before = memory.calls.verdict(request.tool_use_id) if isinstance(request, messages.CanUseTool) else None
        if before is None:
            return None
        if before.review.decision is Decision.BLOCK or action.input in (
            before.action.input,
            before.review.updated_input,
        ):
            return before.review
        return None

    def context(self, memory: Memory) -> ReviewContext:
        """Return what a review is told beside the action."""
        return ReviewContext(
            task=memory.task,
            history=memory.calls.steps,
            home=self._settings.home,
            protected=self._settings.protected,
            origins=memory.origins.known,
            others=self._surroundings.others(),
            captured=memory.captures.captured,
            active_issues=tuple(sorted({type_ for type_, _ in memory.issues.open})),
        )

    # ── what goes wrong, and what is done about it ────────────────────────────────────────────────────────────────

    def _issue(self, memory: Memory, now: Event, seq: int) -> AnyEvent | None:
        fresh = memory.issues.fresh[0] if memory.issues.fresh else self._limit(memory, now, seq)
        return None if fresh is None else IssueSeen(**now.stamp, issue=fresh)

    def _discovery(self, memory: Memory, now: Event) -> DiscoveryNoted | None:
        if not memory.noted.due:
            return None
        scope, text = memory.noted.due[0]
        return DiscoveryNoted(**now.stamp, scope=scope, text=text)

    def _limit(self, memory: Memory, now: Event, seq: int) -> Issue | None:
        """Return the issue about the task's limits that is due."""
        if memory.state is AgentState.STOPPING or memory.state.ended or not memory.usage_seen:
            return None
        usage, in_force = self._controller.usage(now.mono), self._controller.limits.limits
        working = memory.state is AgentState.RUNNING and memory.turns.ended is None
        return limits.due(usage, in_force, memory.issues.open, seq, self._settings.limits, working=working)

    def _intervention(self, memory: Memory, now: Event, seq: int) -> AnyEvent | None:
        """Return the controller's decision that is due.

        It is an intervention, a judgement, the end of a throttling, or the need for a person.
        """
        if self._controller.idle or memory.state is AgentState.STOPPING:
            return None
        match self._controller.next(self._situation(memory, now, seq)):
            case None:
                return None
            case Judgement() as judgement:
                return InterventionJudged(**now.stamp, judgement=judgement)
            case Intervention() as chosen:
                return InterventionChosen(**now.stamp, intervention=chosen)
            case PersonNeed() as need:
                return PersonNeeded(**now.stamp, need=need)
            case Easing(intervention=ended, limits=eased):
                return LimitsEased(**now.stamp, intervention=ended, limits=eased)

    def _restatement(self, memory: Memory, now: Event) -> ContextRestated | None:
        """Say the task again into a turn in which the conversation was shortened, unless a renewal says it."""
        at_work = memory.state is AgentState.RUNNING and memory.turns.ended is None and not memory.turns.idle
        if not memory.restating.due or not at_work or memory.stopping.due or memory.going_back.cause is not None:
            return None
        number = memory.restating.compactions
        text = restated(memory.task, memory.restating.decided, memory.todo.items, number)
        return ContextRestated(**now.stamp, number=number, text=text)

    def _situation(self, memory: Memory, now: Event, seq: int) -> Situation:
        stopped = memory.state is AgentState.STOPPED and memory.stopping.emergency is not None
        return Situation(
            agent=now.agent,
            task=memory.task,
            id=f"{now.agent}-{seq}",
            mono=now.mono,
            listening=memory.state in (AgentState.RUNNING, AgentState.IDLE) and memory.going_back.cause is None,
            finished=memory.turns.finished,
            ended=memory.state.ended,
            well=memory.state is AgentState.DONE or stopped,
            history=memory.calls.steps,
            todo=memory.todo.items,
            checkpoints=memory.captures if memory.captures.rules.enabled else self._surroundings.checkpoints,
            facts=self._surroundings.facts,
        )

    def _incident(self, memory: Memory, now: Event, seq: int) -> AnyEvent | None:
        if not memory.pending_incidents:
            return None
        incident, report = incidents.describe(memory.pending_incidents.first, memory, now.at, seq)
        return IncidentOpened(**now.stamp, incident=incident, report=report)

    def _rollback(self, memory: Memory, now: Event) -> AnyEvent | None:
        """Return the failure of a rollback: the agent is not frozen in time, or is to be ended instead."""
        back = memory.going_back
        if back.phase is not Phase.FREEZING:
            return None
        if memory.state is AgentState.STOPPING:
            why = f"Agent {now.agent} was stopped before all its processes were frozen; no file was changed."
        elif back.overdue:
            seconds = self._settings.standstill_seconds
            why = f"The processes of agent {now.agent} did not stand still within {seconds:g} s; no file was changed."
        else:
            return None
        return RestoreFailed(
            **now.stamp,
            intervention=back.id,
            checkpoint=back.checkpoint,
            error=why,
            needless=bool(back.together) and memory.state is AgentState.STOPPING,
        )

    # ── the agent's life ──────────────────────────────────────────────────────────────────────────────────────────

    def _recovery(self, memory: Memory, now: Event) -> AnyEvent | None:
        """Return how an agent continues whose CLI ended too early.

        None if the model's first call would pass a spending limit.
        """
        around = self._surroundings
        chosen = restart.recovery(memory, now, self._settings.retries, around.zones, around.recoveries, around.facts)
        if chosen is None or self._may_not_call(memory, now):
            return None
        session_id = around.session_id() if chosen.fresh else memory.summary.session_id
        return RecoveryChosen(**now.stamp, recovery=chosen, session_id=session_id)

    def _may_not_call(self, memory: Memory, now: Event) -> bool:
        """Whether the next call of the model would pass what may be spent."""
        usage, at_limit = self._controller.usage(now.mono), self._settings.limits.at_limit
        return at_limit != "tell" and limits.passing(usage, memory.spending.next, memory.task.limits) is not None

    def _step(self, memory: Memory, now: Event) -> AnyEvent | None:
        due = lifecycle.step(memory, self._settings.retries)
        if due is None:
            return None
        step, why = due
        after = take(now.agent, memory.state, step)
        return StateChanged(**now.stamp, before=memory.state, after=after, why=why)

    def _stop_step(self, memory: Memory, now: Event) -> AnyEvent | None:
        step = lifecycle.stop_step(memory, self._settings.stop_sequence)
        return None if step is None else RungReached(**now.stamp, rung=step)


def _approved(memory: Memory, asked: ApprovalAsked) -> Review | None:
    """Return the verdict on an action that waits for a person; None while there is no reply and there is time."""
    given = memory.requests.approved.get(asked.request_id)
    if given is not None:
        return (approval.granted if given.granted else approval.denied)(asked.review, given.by, given.note)
    return (
        approval.overdue(asked.review, asked.deadline_seconds) if asked.request_id in memory.requests.overdue else None
    )


def _captured(memory: Memory, awaited: CheckpointAwaited) -> Review | None:
    """Return the review of an action that waits for a capture; None while that is under way.

    If the capture failed and the action cannot be undone, it is blocked.
    """
    captures, request = memory.captures, awaited.request_id
    if request in captures.failed and awaited.review.checkpoint_first:
        reason = (
            f"The workspace could not be captured ({captures.failed[request]}), so this {awaited.action.tool} call could "
            "not be undone, and it was not run. Leave what it would change as it is, and say so at the end."
        )
        return replace(awaited.review, decision=Decision.BLOCK, reasoning=reason, rule=NOT_CAPTURED, updated_input=None)
    return None if captures.due.keys() & {RISKY + request} else awaited.review
