"""What a session knows: the fold over its events, in the order of the journal.

Nothing is decided here. What still calls for a decision is kept as pending (requests that wait for a review, issues
that nobody answered, an end that has not led to a state), so that decisions which a crash cut off can be made later.

What the CLI is to be told waits in the outbox, keyed, until the shim has accepted it. A line that may have been sent
before a crash is sent again under the same key, and the shim writes it once.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

from interventions.controller import EASED, Controller
from monitors.guarded import DetectorFailure, Guarded, Watchers
from supervisor.core import gate
from supervisor.core.captures import CaptureRules, Captures
from supervisor.core.going_back import GoingBack
from supervisor.core.observe import Observer, sampled
from supervisor.core.summary import Summary
from supervisor.protocol import control, messages
from supervisor.protocol.actions import Step
from supervisor.protocol.errors import FrameError
from supervisor.protocol.events import (
    AgentExited,
    AgentLaunched,
    AgentVanished,
    AnyEvent,
    ApprovalAsked,
    ApprovalGiven,
    CheckpointRestored,
    Event,
    FrameRejected,
    IncidentOpened,
    InputAccepted,
    InterventionChosen,
    InterventionJudged,
    IssueSeen,
    LaunchFailed,
    LimitsEased,
    LinePassedOver,
    LineReceived,
    PauseRequested,
    PersonNeeded,
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
from supervisor.protocol.words import AgentState, InterventionKind, Rung, Severity

HISTORY = 50
"""Steps kept for reviews, reports and `show`: as many last actions as an incident report carries."""

HELLO, SETTLE, FINISH, LADDER, INTERVENE = "hello", "settle", "finish", "ladder", "intervene"
"""The timers of a session: the CLI's first answer, messages that no turn has taken, the next rung of a stop, the end of a
cooldown or of the wait for the next call that a throttling lets through."""

APPROVAL = "approval:"
"""How the timers of actions that wait for a person begin; the request's id follows."""

USES = (TokensUsed, ToolReturned, TurnEnded, ResourcesSampled)
"""What is seen when something was used. Time goes by anyhow; the looks at the process tree come often enough to tell it."""

AGENT_WORK = frozenset({"local_agent", "local_workflow"})
"""Background work of the CLI that wakes the model when it ends, so that its input must stay open. Background shells
may run for ever and are left out: waiting for them would never end."""

WORK_ENDED = frozenset({"completed", "failed", "stopped", "killed"})

Ending = AgentExited | AgentVanished | LaunchFailed
IncidentCause = (
    InterventionChosen
    | PersonNeeded
    | AgentExited
    | AgentVanished
    | LaunchFailed
    | TimerFired
    | TreeEnded
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
    """

    def __init__(
        self,
        submitted: TaskSubmitted,
        detectors: Sequence[Detector],
        controller: Controller,
        captures: CaptureRules,
    ) -> None:
        self.submitted = submitted
        self.task = submitted.task
        self.state = AgentState.STARTING
        self.summary = Summary.of(submitted)
        self.offset = 0
        self.first_seq = self.last_seq = 0
        self.launched = self.greeted = self.begun = False
        self.outbox: dict[str, bytes] = {}
        self.untaken: list[str] = []
        self.steps: dict[str, Step] = {}
        self.waiting: dict[str, gate.Request] = {}
        self.verdicts: dict[str, ReviewMade] = {}
        self.rejected: FrameError | None = None
        self.fresh_issues: list[Issue] = []
        self.open_issues: dict[tuple[str, str], Issue] = {}
        self.background: set[str] = set()
        self.turn: messages.Result | None = None
        self.settled = self.woken = False
        self.wish: PauseRequested | ResumeRequested | None = None
        self.stop: StopRequested | None = None
        self.emergency: InterventionChosen | None = None
        self.captures = Captures(captures)
        self.going_back = GoingBack(submitted.session_id)
        self.said: dict[str, str] = {}
        self.approvals: dict[str, ApprovalAsked] = {}
        self.approved: dict[str, ApprovalGiven] = {}
        self.overdue: set[str] = set()
        self.usage_seen = False
        """Whether something was seen since the last line, or in it, by which a limit may be reached or kept again."""
        self.effort: str | None = None
        self.rung: Rung | None = None
        self.rung_over = False
        self.ending: Ending | None = None
        self.incidents_due: deque[IncidentCause] = deque()
        self._watchers = Watchers(detectors)
        self._switched_off: set[str] = set()
        self.controller = controller
        self._observer = Observer()

    @property
    def history(self) -> tuple[Step, ...]:
        """The last steps, oldest first."""
        return tuple(self.steps.values())

    @property
    def owed_a_turn(self) -> bool:
        """Whether a message that was not taken up, or work that has just ended, is about to start another turn."""
        return self.turn is not None and not self.settled and (bool(self.untaken) or self.woken)

    @property
    def calm(self) -> bool:
        """Whether nothing here calls for a decision, as after most lines; asking each rule would cost more than this."""
        return self.controller.idle and not (
            self.waiting
            or self.fresh_issues
            or self.incidents_due
            or self.begun
            or self.going_back.reborn
            or self.turn is not None
            or self.stop is not None
            or self.emergency is not None
            or self.ending is not None
            or self.wish is not None
            or self.rejected is not None
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
            case RollbackRequested():
                self.going_back.begin(seq, event)
            case CheckpointRestored():
                self._restored(seq, event)
            case RestoreFailed():
                self.ending = self.going_back.failed() or self.ending
            case ApprovalAsked():
                self.approvals[event.request_id] = event
            case ApprovalGiven():
                self.approved[event.request_id] = event
            case StateChanged():
                self._state(event)
            case RungReached():
                self.rung, self.rung_over = event.rung, False
            case IncidentOpened():
                self.incidents_due.popleft()
                self.summary.incidents.append(event.incident.id)
            case FrameRejected():
                self.rejected = None
            case InputAccepted():
                self.outbox.pop(event.key, None)
            case PauseRequested() | ResumeRequested() | StopRequested() | SayRequested() | RedirectRequested():
                self._person(seq, event)
            case _:
                self._process(seq, event)

    # ── what the CLI printed ──────────────────────────────────────────────────────────────────────────────────────

    def _line(self, seq: int, event: LineReceived | LinePassedOver) -> None:
        self.offset = event.end
        self.fresh_issues.clear()
        self.usage_seen = False
        if isinstance(event, LinePassedOver) or event.frame is None:
            self._unreadable(event)
            return
        try:
            message = messages.parse_frame(event.frame)
        except FrameError as error:
            self._malformed(error)
            return
        if isinstance(message, messages.ControlResponse) and message.request_id == "init":
            self._greeting(event, message)
        self._message(message)
        self.captures.message(seq, message)
        self._feed(self._observer.message(message, seq, event.mono))

    def _unreadable(self, event: LineReceived | LinePassedOver) -> None:
        """A request that is too long or too deep to be read waits for an answer all the same; it is refused."""
        if isinstance(event, LinePassedOver):
            request_id = event.request_id
        else:
            request_id = messages.request_id_of((event.text or "").encode(errors="replace"))
        if request_id is not None:
            why = "This call is too large to be reviewed, so it was not run. Do it in smaller steps."
            self.outbox[f"answer:{request_id}"] = control.deny_tool(request_id, why)

    def _malformed(self, error: FrameError) -> None:
        """A frame that cannot be read but waits for an answer is refused: unread is unreviewed."""
        self.rejected = error
        if error.request_id is not None:
            refuse = control.refuse_permission if error.kind.endswith("can_use_tool") else control.deny_tool
            self.outbox[f"answer:{error.request_id}"] = refuse(error.request_id, str(error))

    def _message(self, message: messages.Message) -> None:
        match message:
            case messages.HookCallback(event="PreToolUse") | messages.CanUseTool():
                self.waiting[message.request_id] = message
            case messages.HookCallback():
                if message.event == "UserPromptSubmit":
                    self._taken(message.prompt)
                self.outbox[f"answer:{message.request_id}"] = control.answer(message.request_id, {})
            case messages.UnknownRequest():
                refusal = control.refuse_unknown(message.request_id, message.subtype)
                self.outbox[f"answer:{message.request_id}"] = refusal
            case messages.Cancelled():
                self.waiting.pop(message.request_id, None)
                self._approval_over(message.request_id)
                self.outbox.pop(f"answer:{message.request_id}", None)
            case messages.Init():
                self._init(message)
            case messages.BackgroundTask():
                self._background(message)
            case messages.Result():
                self.turn = message
                self.rung_over = self.rung_over or self.rung is Rung.INTERRUPT
                self.summary.count_turn(message)
            case messages.Assistant():
                self.summary.count_reply(message)
            case _:
                pass

    def _greeting(self, event: LineReceived, answer: messages.ControlResponse) -> None:
        """The CLI's answer to its first line. Without hooks no call would be reviewed, so the agent is ended at once."""
        self.greeted = True
        if answer.subtype == "success":
            return
        self.incidents_due.append(answer)
        why = f"the CLI refused the hooks ({answer.error[:200]}), so that no call could be reviewed"
        self.stop = StopRequested(
            agent=event.agent, at=event.at, mono=event.mono, by="chaperon", reason=why, force=True
        )

    def _init(self, init: messages.Init) -> None:
        self.greeted = True
        self.turn = None
        self.settled = self.woken = False
        self.begun = self.state in (AgentState.STARTING, AgentState.IDLE)
        self.summary.session_id, self.summary.cli_version = init.session_id, init.cli_version
        self.summary.model = init.model

    def _taken(self, prompt: str) -> None:
        """The CLI took a message up: into the running turn, or to begin the next one."""
        self.turn = None
        if prompt in self.untaken:
            self.untaken.remove(prompt)
        self.said = {key: text for key, text in self.said.items() if text != prompt}

    def _background(self, task: messages.BackgroundTask) -> None:
        if task.status == "started" and task.task_type in AGENT_WORK:
            self.background.add(task.task_id)
        elif task.status in WORK_ENDED and task.task_id in self.background:
            self.background.remove(task.task_id)
            self.woken = True

    def _feed(self, observations: Sequence[Observation]) -> None:
        for observation in observations:
            if isinstance(observation, ToolReturned) and observation.failed and observation.id in self.steps:
                self.steps[observation.id] = replace(self.steps[observation.id], failed=True)
                self.summary.recent = self.history
            self.controller.observed(observation)
            self.usage_seen = self.usage_seen or isinstance(observation, USES)
            self.captures.observed(observation.seq, observation)
            for detector in self._watchers.of(observation):
                self.fresh_issues += detector.see(observation)
                if isinstance(detector, Guarded) and detector.failure and detector.name not in self._switched_off:
                    self._switched_off.add(detector.name)
                    self.incidents_due.append(detector.failure)

    # ── what was decided ──────────────────────────────────────────────────────────────────────────────────────────

    def _review(self, seq: int, event: ReviewMade) -> None:
        request = self.waiting.pop(event.request_id, None)
        self._approval_over(event.request_id)
        permission = isinstance(request, messages.CanUseTool)
        self.outbox[f"answer:{event.request_id}"] = gate.answer(
            event.request_id, event.review, permission=permission, action=event.action
        )
        if permission and event.action.tool_use_id in self.verdicts:
            return  # the second gate repeats the first one's answer; it counts once
        self.verdicts[event.action.tool_use_id] = event
        if len(self.verdicts) > HISTORY:
            del self.verdicts[next(iter(self.verdicts))]
        self.summary.count_review(event.review)
        self.steps[event.action.tool_use_id or event.request_id] = _step(event)
        if len(self.steps) > HISTORY:
            del self.steps[next(iter(self.steps))]
        self.summary.recent = self.history
        self._feed(self._observer.reviewed(event.action, event.review, seq, event.mono))
        if event.review.stop:
            self.fresh_issues.append(_critical(seq, event))

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
        self.summary.interventions[chosen.kind] = self.summary.interventions.get(chosen.kind, 0) + 1
        if chosen.kind is InterventionKind.EMERGENCY_STOP:
            self.emergency = event
        self._effort(chosen.id)
        self.usage_seen = True
        if chosen.kind is InterventionKind.CHECKPOINT_ROLLBACK:
            self.going_back.begin(seq, event)  # its message is for the conversation that goes on from the checkpoint
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
                    self.wish = PauseRequested(agent=event.agent, at=event.at, mono=event.mono, by="chaperon")
            case LimitsEased():
                self._effort(f"eased-{event.intervention}")
                self._tell(f"eased:{event.intervention}", EASED, "chaperon", seq, event)

    def _restored(self, seq: int, event: CheckpointRestored) -> None:
        """Files are back. Where the conversation goes back as well, what belonged to the ended processes is forgotten."""
        if event.files_only:
            guidance = self.going_back.guidance(event)
            self.ending = self.going_back.failed() or self.ending
            self._tell(f"restored:{event.intervention}", guidance, "chaperon", seq, event)
            return
        if self.state is AgentState.STOPPING or self.stop is not None or self.emergency is not None:
            self.ending = self.going_back.failed() or self.ending
            return
        carried = list(self.said.values())
        self.going_back.restored(event, self.task, carried)
        for known in (self.outbox, self.waiting, self.approvals, self.approved, self.overdue, self.background):
            known.clear()
        self.untaken.clear()
        self.said.clear()
        self.turn = self.rejected = self.wish = self.ending = None
        self.launched = self.greeted = self.begun = self.settled = self.woken = False
        self.offset = 0
        self.summary.session_id = event.session_id

    def _effort(self, id_: str) -> None:
        """Have the CLI go to the effort that the limits in force ask for, where that changed."""
        effort = self.controller.limits.effort
        if effort != self.effort:
            self.effort = effort
            self.outbox[f"effort:{id_}"] = control.set_effort(f"effort-{id_}", effort)

    def _approval_over(self, request_id: str) -> None:
        self.approvals.pop(request_id, None)
        self.approved.pop(request_id, None)
        self.overdue.discard(request_id)

    def _state(self, event: StateChanged) -> None:
        self.state = event.after
        self.begun = self.going_back.reborn = False
        self.wish = None
        self.summary.changed(event)
        if event.after in (AgentState.IDLE, AgentState.FINISHING):
            self.turn = None
        if event.after.ended:
            self.outbox.clear()
            self.waiting.clear()
            if event.after in (AgentState.FAILED, AgentState.LOST) and self.ending is not None:
                self.incidents_due.append(self.ending)

    # ── what people wished and processes did ──────────────────────────────────────────────────────────────────────

    def _person(
        self, seq: int, event: PauseRequested | ResumeRequested | StopRequested | SayRequested | RedirectRequested
    ) -> None:
        match event:
            case SayRequested():
                self.said[event.id] = event.text
                self._tell(f"say:{event.id}", event.text, "person", seq, event)
            case RedirectRequested():
                self.said[event.id] = event.text
                self.outbox[f"interrupt:{event.id}"] = control.interrupt(f"interrupt-{event.id}")
                self._tell(f"say:{event.id}", event.text, "person", seq, event)
            case StopRequested():
                self.stop = event
                if event.force and self.state is AgentState.STOPPING:
                    self.rung_over = True
            case _:
                self.wish = event

    def _process(self, seq: int, event: AnyEvent) -> None:
        match event:
            case AgentLaunched():
                self.launched = True
                self.going_back.launches = event.number
                self.summary.shim_pid, self.summary.cli_pid = event.shim_pid, event.cli_pid
                self.summary.containment = event.containment
                self.outbox["init"] = control.initialize("init")
                if self.state is not AgentState.STOPPING:  # one that was stopped as it was born must not begin
                    self._open(seq, event)
            case TimerFired():
                self._timer(event)
            case TreeFrozen():
                self.rung_over = self.rung is Rung.FREEZE
            case TreeEnded() if event.left:
                self.incidents_due.append(event)
            case ResourcesSeen():
                self.summary.sampled(event)
                self._feed([sampled(seq, event)])
            case AgentExited() | AgentVanished() if self.going_back.cause is not None:
                self.going_back.ended = event
            case AgentExited() | AgentVanished() | LaunchFailed():
                self.ending = event
            case _:
                pass

    def _open(self, seq: int, event: Event) -> None:
        """What the CLI is told first: the task, or after a rollback what came of it; and what people had said meanwhile."""
        opening = self.going_back.opening
        self._tell("prompt", opening or self.task.prompt, "chaperon" if opening else "task", seq, event)
        for number, text in enumerate(self.going_back.carried):
            self._tell(f"carried:{number}", text, "person", seq, event)

    def _timer(self, event: TimerFired) -> None:
        if event.name == HELLO and not self.greeted and not self.stop:
            self.incidents_due.append(event)
            why = "the CLI did not answer its first line"
            self.stop = StopRequested(
                agent=event.agent, at=event.at, mono=event.mono, by="chaperon", reason=why, force=True
            )
        elif event.name == FINISH and self.state is AgentState.FINISHING and not self.stop:
            why = "the CLI did not end after its input was closed"
            self.stop = StopRequested(agent=event.agent, at=event.at, mono=event.mono, by="chaperon", reason=why)
        elif event.name == SETTLE:
            self.settled = True
        elif event.name == LADDER:
            self.rung_over = True
        elif event.name.startswith(APPROVAL) and event.name.removeprefix(APPROVAL) in self.approvals:
            self.overdue.add(event.name.removeprefix(APPROVAL))

    def _tell(self, key: str, text: str, by: str, seq: int, event: Event) -> None:
        self.untaken.append(text)
        self.settled = False
        self.outbox[key] = control.user_message(text)
        self._feed(self._observer.told(text, by, seq, event.mono))


TELLING_FIELDS = ("command", "file_path", "notebook_path", "path", "pattern", "url", "prompt", "description")
"""Fields of tool inputs that say what a call is about, most telling first."""


def _step(event: ReviewMade) -> Step:
    """A call as history: its command, path or pattern, shortened."""
    given: Mapping[str, object] = event.action.input
    what = next((str(given[name]) for name in TELLING_FIELDS if given.get(name)), "")
    return Step(event.action.tool, what[:200], failed=False, decision=event.review.decision)


def _critical(seq: int, event: ReviewMade) -> Issue:
    """The issue that a rule raises which asks for a stop."""
    review = event.review
    return Issue(
        type="critical_action",
        severity=Severity.CRITICAL,
        confidence=1.0,
        impact_factor=1.0,
        began=seq,
        sentence=f"Rule {review.rule}: {review.reasoning}",
        evidence=(seq,),
        details={"tool": event.action.tool, "rule": review.rule},
        key=event.action.tool_use_id,
    )
