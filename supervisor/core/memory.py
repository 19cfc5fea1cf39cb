"""What a session knows: the fold over its events, in the order of the journal.

Nothing is decided here. What still calls for a decision is kept as pending (requests that wait for a review, issues
that nobody answered, an end that has not led to a state), so that decisions which a crash cut off can be made later.
What a decision says to the CLI is put in the outbox as the decision is folded in.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from interventions.contract import PluginFailure
from interventions.controller import EASED, Controller
from monitors.guarded import DetectorFailure, Guarded, Watchers
from monitors.review.decide import may_hurry
from supervisor.core import gate
from supervisor.core.allowing import Allowances
from supervisor.core.captures import CaptureRules, Captures
from supervisor.core.foreseen import Foreseen
from supervisor.core.going_back import GoingBack, Phase
from supervisor.core.history import History
from supervisor.core.observe import Observer, sampled
from supervisor.core.outbox import Outbox, message_id
from supervisor.core.requests import Requests, Unread
from supervisor.core.retries import Retries
from supervisor.core.summary import Summary
from supervisor.core.turns import Turns
from supervisor.protocol import control, messages
from supervisor.protocol.errors import FrameError
from supervisor.protocol.events import (
    AgentAdopted,
    AgentExited,
    AgentLaunched,
    AgentVanished,
    AllowanceGiven,
    AllowanceRevoked,
    AnyEvent,
    ApprovalAsked,
    ApprovalGiven,
    ChangesSeen,
    CheckpointRestored,
    Event,
    FrameRejected,
    IncidentOpened,
    InputAccepted,
    InterventionChosen,
    InterventionJudged,
    IssueSeen,
    JudgeAnswered,
    LaunchFailed,
    LimitsEased,
    LinePassedOver,
    LineReceived,
    PauseRequested,
    PersonNeeded,
    RecoveryChosen,
    RedirectRequested,
    ResourcesSeen,
    RestoreFailed,
    ResumeRequested,
    ReviewMade,
    RollbackRequested,
    RungReached,
    SayRequested,
    StateChanged,
    StopRequested,
    TaskSubmitted,
    TimerFired,
    TreeEnded,
    TreeFrozen,
)
from supervisor.protocol.issues import Detector, Issue
from supervisor.protocol.observations import Observation, ResourcesSampled, TokensUsed, ToolReturned, TurnEnded
from supervisor.protocol.words import AgentState, InterventionKind, Rung

HELLO, SETTLE, FINISH, LADDER, INTERVENE = "hello", "settle", "finish", "ladder", "intervene"
"""The timers of a session: the CLI's first answer, messages that no turn has taken, the next rung of a stop, the end of a
cooldown or of the wait for the next call that a throttling lets through."""

RETRY = "retry"
"""The timer of an agent that waits to be started again."""

STANDSTILL = "standstill"
"""The timer of a rollback: until all processes stand still, and again until they have gone."""

APPROVAL = "approval:"
"""How the timers of actions that wait for a person begin; the request's id follows."""

USES = (TokensUsed, ToolReturned, TurnEnded, ResourcesSampled)
"""What is seen when something was used. Time goes by anyhow; the looks at the process tree come often enough to tell it."""

Ending = AgentExited | AgentVanished | LaunchFailed
IncidentCause = (
    InterventionChosen
    | PersonNeeded
    | RecoveryChosen
    | PluginFailure
    | RestoreFailed
    | AgentExited
    | AgentVanished
    | LaunchFailed
    | TimerFired
    | TreeEnded
    | FrameRejected
    | ToolReturned
    | DetectorFailure
    | messages.ControlResponse
)


class Memory:
    """The state of one session.

    Args:
        submitted: The event that began it.
        detectors: Watch the run; fed here, since their memory is part of the state.
        controller: Remembers issues and interventions; asked elsewhere.
        captures: When checkpoints are made.
        hurry: Whether answers that change nothing may be sent before the journal has why.
    """

    def __init__(
        self,
        submitted: TaskSubmitted,
        detectors: Sequence[Detector],
        controller: Controller,
        captures: CaptureRules,
        *,
        hurry: bool = False,
    ) -> None:
        self.submitted = submitted
        self.task = submitted.task
        self.state = AgentState.STARTING
        self.summary = Summary.of(submitted)
        self.offset = 0
        self.first_seq = self.last_seq = 0
        self.launched = self.greeted = self.begun = False
        self.outbox = Outbox()
        self._hurry = hurry
        self.requests = Requests()
        self.allowances = Allowances()
        self.foreseen = Foreseen(submitted.workspace)
        self.turns = Turns()
        self.calls = History()
        self.fresh_issues: list[Issue] = []
        self.open_issues: dict[tuple[str, str], Issue] = {}
        self.wish: PauseRequested | ResumeRequested | PersonNeeded | None = None
        """What holds the agent or lets it go on; a need of a person holds it."""
        self.stop: StopRequested | None = None
        self.emergency: InterventionChosen | None = None
        self.unfit: messages.ControlResponse | TimerFired | None = None
        """The CLI's refusal of the hooks, or the end of the wait for its first answer: no call of it would be reviewed."""
        self.unborn = False
        """Whether it was found that no process of it was ever started."""
        self.rejects = False
        """Whether a line of this turn could not be read, of which a person was told."""
        self.lingers = False
        """Whether the CLI did not end in time once its input was closed."""
        self.captures = Captures(captures)
        self.going_back = GoingBack(submitted.session_id)
        self.usage_seen = False
        """Whether something was seen since the last line, or in it, by which a limit may be reached or kept again."""
        self.effort: str | None = None
        self.model: str | None = None
        self.retries = Retries()
        self.rung: Rung | None = None
        self.rung_over = False
        self.ending: Ending | None = None
        self.incidents_due: deque[IncidentCause] = deque()
        self._watchers = Watchers(detectors)
        self._switched_off: set[str] = set()
        self.controller = controller
        self._observer = Observer()

    @property
    def must_stop(self) -> bool:
        """Whether something has happened that ends the agent before its task does."""
        return self.stop is not None or self.emergency is not None or self.unfit is not None or self.lingers

    @property
    def calm(self) -> bool:
        """Whether nothing here calls for a decision, as after most lines; asking each rule would cost more than this."""
        return self.controller.idle and not (
            self.requests.waiting
            or self.fresh_issues
            or self.incidents_due
            or self.begun
            or self.going_back.overdue
            or self.retries.due is not None
            or self.turns.ended is not None
            or self.must_stop
            or self.ending is not None
            or self.wish is not None
            or self.requests.unread is not None
            or self.usage_seen
        )

    def remember(self, seq: int, event: AnyEvent) -> None:
        """Fold one event into the state."""
        self.first_seq = self.first_seq or seq
        self.last_seq = seq
        self.controller.remember(seq, event)
        self.captures.remember(seq, event)
        match event:
            case LineReceived() | LinePassedOver():
                self._line(seq, event)
            case ReviewMade():
                self._review(seq, event)
            case IssueSeen():
                self._issue(event.issue)
            case InterventionChosen():
                self._intervention(seq, event)
            case InterventionJudged() | PersonNeeded() | LimitsEased():
                self._controlled(seq, event)
            case RecoveryChosen():
                self._recovers(event)
            case RollbackRequested() | CheckpointRestored() | RestoreFailed():
                if not self.state.ended:  # the files of an ended agent go back without it
                    self._rollback(seq, event)
            case ApprovalAsked():
                self.requests.approvals[event.request_id] = event
            case ApprovalGiven():
                self.requests.approved[event.request_id] = event
            case AllowanceGiven() | AllowanceRevoked():
                self.allowances.remember(event)
            case ChangesSeen():
                self._surprised(seq, event)
            case StateChanged():
                self._state(event)
            case RungReached():
                self.rung, self.rung_over = event.rung, False
            case IncidentOpened():
                self.incidents_due.popleft()
                self.summary.incidents.append(event.incident.id)
            case FrameRejected():
                self._rejected(event)
            case InputAccepted():
                self.outbox.accepted(event.key)
            case PauseRequested() | ResumeRequested() | StopRequested() | SayRequested() | RedirectRequested():
                self._person(seq, event)
            case _:
                self._process(seq, event)

    # ── what the CLI printed ──────────────────────────────────────────────────────────────────────────────────────

    def _line(self, seq: int, event: LineReceived | LinePassedOver) -> None:
        self.offset = event.end
        self.fresh_issues.clear()
        self.usage_seen = False
        if self.going_back.phase is Phase.ENDING:
            return  # the last words of a conversation that was turned away from
        if isinstance(event, LinePassedOver) or event.frame is None:
            self._unreadable(event)
            return
        try:
            message = messages.parse_frame(event.frame)
        except FrameError as error:
            self.requests.unread = Unread(str(error), error.request_id, error.kind.endswith("can_use_tool"))
            return
        if isinstance(message, messages.ControlResponse) and message.request_id == "init":
            self._greeted(message)
        self._message(message)
        self.captures.message(seq, message)
        self._feed(self._observer.message(message, seq, event.mono))

    def _unreadable(self, event: LineReceived | LinePassedOver) -> None:
        """A request that is too long or too deep to be read waits for an answer all the same."""
        if isinstance(event, LinePassedOver):
            request_id = event.request_id
        else:
            request_id = messages.request_id_of((event.text or "").encode(errors="replace"))
        if request_id is not None:
            why = "This call is too large to be reviewed, so it was not run. Do it in smaller steps."
            self.requests.unread = Unread(why, request_id)

    def _message(self, message: messages.Message) -> None:
        match message:
            case messages.HookCallback(event="PreToolUse") | messages.CanUseTool():
                self.requests.waiting[message.request_id] = message
            case messages.HookCallback():
                if message.event == "UserPromptSubmit":
                    self.turns.prompted(message.prompt)
                self.outbox.answer(message.request_id, control.answer(message.request_id, {}))
            case messages.UnknownRequest():
                self.outbox.answer(message.request_id, control.refuse_unknown(message.request_id, message.subtype))
            case messages.Cancelled():
                self.requests.over(message.request_id)
                self.outbox.withdraw(message.request_id)
            case messages.Init():
                self._init(message)
            case messages.MessageProgress(command_uuid=id_, state=state):
                if state == "started":
                    self.turns.taken(id_)
            case messages.BackgroundTask():
                self.turns.work(message)
            case messages.Result():
                self.turns.ended = message
                self.rung_over = self.rung_over or self.rung is Rung.INTERRUPT
                self.summary.count_turn(message)
                self.retries.turn_ended(failed=message.is_error)
            case messages.Assistant():
                self.summary.count_reply(message)
            case _:
                pass

    def _greeted(self, answer: messages.ControlResponse) -> None:
        """The CLI's answer to its first line."""
        self.greeted = True
        if answer.subtype != "success":
            self.unfit = answer
            self.incidents_due.append(answer)

    def _init(self, init: messages.Init) -> None:
        self.greeted = True
        self.turns.began()
        self.rejects = False
        self.begun = self.state in (AgentState.STARTING, AgentState.IDLE)
        self.summary.session_id, self.summary.cli_version = init.session_id, init.cli_version
        self.summary.model = init.model

    def _feed(self, observations: Sequence[Observation]) -> None:
        for observation in observations:
            if isinstance(observation, ToolReturned) and not (observation.reviewed or observation.failed):
                self.incidents_due.append(observation)
            if isinstance(observation, ToolReturned) and observation.failed:
                self.calls.failed(observation.id)
                self.summary.recent = self.calls.steps
            if isinstance(observation, ToolReturned):
                self.foreseen.returned(observation.id)
            elif isinstance(observation, TurnEnded):
                self.foreseen.turn_ended()
            self.controller.observed(observation)
            self.usage_seen = self.usage_seen or isinstance(observation, USES)
            self.captures.observed(observation.seq, observation)
            for detector in self._watchers.of(observation):
                self.fresh_issues += detector.see(observation)
                if isinstance(detector, Guarded) and detector.failure and detector.name not in self._switched_off:
                    self._switched_off.add(detector.name)
                    self.incidents_due.append(detector.failure)

    # ── what was decided ──────────────────────────────────────────────────────────────────────────────────────────

    def _rejected(self, event: FrameRejected) -> None:
        """What cannot be read is not reviewed, so where it is a request it is refused. A person is told once a turn."""
        if not self.rejects:
            self.rejects = True
            self.incidents_due.append(event)
        unread, self.requests.unread = self.requests.unread, None
        if unread is not None and unread.request_id is not None:
            refusal = gate.refusal(unread.request_id, event.problem, permission=unread.permission)
            self.outbox.answer(unread.request_id, refusal)

    def _review(self, seq: int, event: ReviewMade) -> None:
        permission = isinstance(self.requests.over(event.request_id), messages.CanUseTool)
        line = gate.answer(event.request_id, event.review, permission=permission, action=event.action)
        self.outbox.answer(event.request_id, line, hurry=self._hurry and may_hurry(event.review))
        if permission and self.calls.verdict(event.action.tool_use_id) is not None:
            return  # the second gate repeats the first one's answer; it counts once
        self.allowances.used(event.review.allowance)
        self.foreseen.reviewed(event)
        self.calls.reviewed(event)
        self.summary.count_review(event.review)
        self.summary.recent = self.calls.steps
        self._feed(self._observer.reviewed(event.action, event.review, seq, event.mono))
        if event.review.stop:
            self.fresh_issues.append(gate.critical(event.action, event.review, seq))

    def _surprised(self, seq: int, event: ChangesSeen) -> None:
        made = self.calls.verdict(event.tool_use_id)
        if made is not None:
            self.fresh_issues += self.foreseen.seen(event, made, seq)

    def _issue(self, issue: Issue) -> None:
        self.fresh_issues = [fresh for fresh in self.fresh_issues if fresh != issue]
        if issue.closed:
            self.open_issues.pop((issue.type, issue.key), None)
            return
        self.open_issues[issue.type, issue.key] = issue
        self.summary.issues[issue.type] = self.summary.issues.get(issue.type, 0) + 1

    def _intervention(self, seq: int, event: InterventionChosen) -> None:
        chosen = event.intervention
        self.incidents_due.append(event)
        failures: Mapping[str, str] = chosen.details.get("plugins_failed", {})
        self.incidents_due += (PluginFailure(plugin, what) for plugin, what in failures.items())
        self.summary.interventions[chosen.kind] = self.summary.interventions.get(chosen.kind, 0) + 1
        if chosen.kind is InterventionKind.EMERGENCY_STOP:
            self.emergency = event
        self._pace(chosen.id)
        self.usage_seen = True
        if chosen.kind is InterventionKind.CHECKPOINT_ROLLBACK:
            self._go_back(seq, event)  # its message is for the conversation that goes on from the checkpoint
        elif chosen.message:
            self._tell(f"tell:{chosen.id}", chosen.message, "chaperon", seq, event)

    def _controlled(self, seq: int, event: InterventionJudged | PersonNeeded | LimitsEased) -> None:
        match event:
            case InterventionJudged():
                outcome = event.judgement.outcome
                self.summary.outcomes[outcome] = self.summary.outcomes.get(outcome, 0) + 1
            case PersonNeeded():
                self.incidents_due.append(event)
                if event.need.hold:
                    self.wish = event
            case LimitsEased():
                self._pace(f"eased-{event.intervention}")
                self._tell(f"eased:{event.intervention}", EASED, "chaperon", seq, event)

    def _rollback(self, seq: int, event: RollbackRequested | CheckpointRestored | RestoreFailed) -> None:
        match event:
            case RollbackRequested():
                self._go_back(seq, event)
            case CheckpointRestored():
                self._restored(seq, event)
            case RestoreFailed():
                self.going_back.over()
                self.incidents_due.append(event)

    def _go_back(self, seq: int, cause: RollbackRequested | InterventionChosen) -> None:
        self.going_back.begin(seq, cause, still=self.ending is not None)

    def _restored(self, seq: int, event: CheckpointRestored) -> None:
        """Files are back. The conversation follows once nothing of the agent runs any more, unless it is to end anyhow."""
        if event.files_only:
            guidance = self.going_back.guidance(event)
            self.going_back.over()
            self._tell(f"restored:{event.intervention}", guidance, "chaperon", seq, event)
        elif self.state is AgentState.STOPPING or self.must_stop:
            self.going_back.over()
        else:
            self.going_back.restored = event

    def _begin_again(self) -> None:
        """The agent has gone back: what belonged to the ended processes is forgotten."""
        restored = self.going_back.restored
        if restored is None:
            return
        self.going_back.reborn(restored, self.task, list(self.turns.said.values()))
        self._forget_processes(restored.session_id)

    def _recovers(self, event: RecoveryChosen) -> None:
        """The CLI ended too early, and another is to be launched in its place."""
        self.retries.chose(event)
        self.incidents_due.append(event)
        self.going_back.recovers(event, list(self.turns.said.values()))
        self._forget_processes(event.session_id)

    def _forget_processes(self, session_id: str) -> None:
        """What belonged to the ended processes is forgotten; the next ones go on in this session."""
        self.outbox.clear()
        self.requests.clear()
        self.turns = Turns()
        self.wish = self.ending = None
        self.launched = self.greeted = self.begun = False
        self.effort = self.model = None
        self.offset = 0
        self.summary.session_id = session_id

    def _not_still(self, event: TimerFired) -> None:
        """A rollback's processes did not stand still in time, or were not gone in time."""
        match self.going_back.phase:
            case Phase.FREEZING:
                self.going_back.overdue = True
            case Phase.ENDING:
                self.incidents_due.append(event)

    def _pace(self, id_: str) -> None:
        """Have the CLI go to the effort and the model that the limits in force ask for, where they changed."""
        limits = self.controller.limits
        if limits.effort != self.effort:
            self.effort = limits.effort
            self.outbox.effort(id_, limits.effort)
        if limits.model != self.model:
            self.model = limits.model
            self.outbox.model(id_, limits.model or self.task.model)

    def _state(self, event: StateChanged) -> None:
        self.state = event.after
        self.retries.entered(event.after)
        self.begun = False
        self.wish = None
        self.summary.changed(event)
        if event.after is AgentState.STARTING:
            self._begin_again()
        elif event.after is AgentState.STOPPING and self.going_back.phase is Phase.ENDING:
            self.going_back.over()
        if event.after in (AgentState.IDLE, AgentState.FINISHING):
            self.turns.rest()
        if event.after.ended:
            self.outbox.clear()
            self.requests.clear()
            if event.after in (AgentState.FAILED, AgentState.LOST) and self.ending is not None:
                self.incidents_due.append(self.ending)

    # ── what people wished and processes did ──────────────────────────────────────────────────────────────────────

    def _person(
        self, seq: int, event: PauseRequested | ResumeRequested | StopRequested | SayRequested | RedirectRequested
    ) -> None:
        match event:
            case SayRequested():
                self._tell(f"say:{event.id}", event.text, "person", seq, event)
            case RedirectRequested():
                self.outbox.interrupt(event.id)
                self._tell(f"say:{event.id}", event.text, "person", seq, event)
            case StopRequested():
                self.stop = event
            case _:
                self.wish = event

    def _process(self, seq: int, event: AnyEvent) -> None:
        match event:
            case AgentLaunched():
                self.launched, self.unborn = True, False
                self.going_back.launches = event.number
                self.summary.shim_pid, self.summary.cli_pid = event.shim_pid, event.cli_pid
                self.summary.containment = event.containment
                self.outbox.hooks()
                self._pace(f"launch-{event.number}")
                if self.state is not AgentState.STOPPING:  # one that was stopped as it was born must not begin
                    self._open(seq, event)
            case TimerFired():
                self._timer(event)
            case TreeFrozen():
                self.rung_over = self.rung is Rung.FREEZE
                self.going_back.still = True
            case AgentAdopted():
                # Whoever held its processes still has gone; nobody has looked at them since.
                self.going_back.still = self.ending is not None
                self.unborn = event.outcome == "launched"
            case TreeEnded() if event.left:
                self.incidents_due.append(event)
            case JudgeAnswered():
                self.summary.judged(event)
                self.fresh_issues += [event.issue] if event.issue else []
            case ResourcesSeen():
                self.summary.sampled(event)
                self._feed([sampled(seq, event)])
            case AgentExited() | AgentVanished() | LaunchFailed():
                self.ending = event
                self.going_back.still = True
            case _:
                pass

    def _open(self, seq: int, event: Event) -> None:
        """What the CLI is told first: the task, or after a rollback what came of it; and what people had said meanwhile."""
        opening = self.going_back.opening
        self._tell("prompt", opening or self.task.prompt, "chaperon" if opening else "task", seq, event)
        for number, text in enumerate(self.going_back.carried):
            self._tell(f"carried:{number}", text, "person", seq, event)

    def _timer(self, event: TimerFired) -> None:
        if event.name == HELLO and not self.greeted and not self.must_stop:
            self.unfit = event
            self.incidents_due.append(event)
        elif event.name == FINISH and self.state is AgentState.FINISHING:
            self.lingers = True
        elif event.name == STANDSTILL:
            self._not_still(event)
        elif event.name == SETTLE:
            self.turns.settled()
        elif event.name == LADDER:
            self.rung_over = True
        elif event.name == RETRY:
            self.retries.over = True
        elif event.name.startswith(APPROVAL):
            self.requests.late(event.name.removeprefix(APPROVAL))

    def _tell(self, key: str, text: str, by: str, seq: int, event: Event) -> None:
        id_ = message_id(self.submitted.session_id, self.going_back.launches, key)
        self.turns.told(id_, text, by_a_person=by == "person")
        self.outbox.message(key, text, id_)
        self._feed(self._observer.told(text, by, seq, event.mono))
