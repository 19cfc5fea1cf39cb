"""The state of a session: the fold over its events, in the order of the journal.

Three things come in, and each is handed to the parts that it concerns: the events of the journal (`remember`), the
messages of the CLI that some of them carry (`_message`), and the observations made from those (`_feed`).

Nothing is decided here. Matters that still call for a decision are kept as pending (requests that wait for a review,
unanswered issues, an end that has not led to a state), so that decisions which a crash cut off can be made later.
A decision's lines to the CLI are put in the outbox as the decision is folded in.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from interventions.approval import DEADLINE_PASSED
from interventions.choice.controller import EASED, Controller
from interventions.words import InterventionKind
from monitors.contract.issues import Detector
from monitors.contract.observations import (
    Observation,
    ResourcesSampled,
    TaskReplaced,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    UsageSeen,
)
from monitors.contract.origins import Origins
from monitors.contract.tasks import Task
from monitors.contract.words import Decision
from monitors.review.verdict.decision import may_answer_early
from supervisor.core import bypass, gate
from supervisor.core.fold.allowances import Allowances
from supervisor.core.fold.asked_hosts import AskedHosts
from supervisor.core.fold.controller_events import tell_controller
from supervisor.core.fold.conversation.heard_facts import HeardFacts
from supervisor.core.fold.conversation.history import History
from supervisor.core.fold.conversation.noted_facts import NotedFacts
from supervisor.core.fold.conversation.outbox import Outbox, message_id
from supervisor.core.fold.conversation.requests import Requests
from supervisor.core.fold.conversation.restating import Restating
from supervisor.core.fold.conversation.todo_list import TodoList
from supervisor.core.fold.conversation.turns import Turns
from supervisor.core.fold.issues import Issues
from supervisor.core.fold.life.checkpoints import CaptureRules, Captures
from supervisor.core.fold.life.outage import Outage
from supervisor.core.fold.life.pausing import Pausing
from supervisor.core.fold.life.processes import Processes
from supervisor.core.fold.life.restarts import Retries
from supervisor.core.fold.life.rollback import GoingBack, Phase, told_its_person
from supervisor.core.fold.life.stopping import AgentStop
from supervisor.core.fold.pending_incidents import PendingIncidents, ScriptChanged, SettingsChanged
from supervisor.core.fold.predicted_changes import PredictedChanges
from supervisor.core.fold.summary import RefusedHost, Summary, WaitingAction
from supervisor.core.limits import SPENT, share
from supervisor.core.observing.frames import Unread, read
from supervisor.core.observing.observer import Observer, checked, erred, sampled
from supervisor.core.observing.spending import NEAR, Questions, Spending
from supervisor.core.timers import COMMANDS, FINISH, HELLO, SETTLE, STANDSTILL
from supervisor.protocol.claude import control, messages
from supervisor.protocol.claude.prices import Prices
from supervisor.protocol.claude.retrying import Retrying
from supervisor.protocol.claude.usage_limits import LimitNotice
from supervisor.protocol.events import (
    AgentAdopted,
    AgentAttached,
    AgentExited,
    AgentLaunched,
    AgentVanished,
    AllowanceGiven,
    AllowanceRevoked,
    AnyEvent,
    ApprovalAsked,
    ChangesSeen,
    CheckMade,
    CheckpointRestored,
    ContextRestated,
    DiscoveryNoted,
    DiscoveryTold,
    ErrorLineReceived,
    Event,
    FrameRejected,
    GroundsShaken,
    HostDenied,
    HostReached,
    HostRefused,
    InputAccepted,
    InterventionChosen,
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
    SettingsSwapped,
    StateChanged,
    TaskSubmitted,
    TimerFired,
    TreeFrozen,
)
from supervisor.protocol.words import AgentState, StopStep

USES = (UsageSeen, ToolCalled, ToolReturned, TurnEnded, ResourcesSampled)
"""Observations of usage. Time passes without one; samples of the process tree come often enough to notice it."""

KEPT_OUT = "An agent runs with the settings that it was started with."
"""The reason given to the CLI if settings change during a run."""


class Memory:
    """The state of one session.

    Args:
        submitted: The event that began it.
        detectors: Watch the run; fed here, since their memory is part of the state.
        controller: Remembers issues and interventions; asked elsewhere.
        captures: When checkpoints are made.
        asynchronous: Whether answers that change nothing may be sent before the journal has why.
        prices: The user's own prices of models.
        own_rules: The names of the user's own rules; see `Allowances`.
    """

    def __init__(
        self,
        submitted: TaskSubmitted,
        detectors: Sequence[Detector],
        controller: Controller,
        captures: CaptureRules,
        *,
        asynchronous: bool = False,
        prices: Prices | None = None,
        own_rules: Collection[str] | None = None,
    ) -> None:
        self.submitted = submitted
        self.task = submitted.task
        self.state = AgentState.STARTING
        self.summary = Summary.of(submitted)
        self.first_seq = self.last_seq = 0
        self.processes = Processes()
        self.stopping = AgentStop()
        self.outbox = Outbox(keeps_given=bool(submitted.origin))
        self.requests = Requests()
        self.allowances = Allowances(own_rules)
        self.hosts = AskedHosts()
        self.origins = Origins()
        self.predicted = PredictedChanges(submitted.workspace, own=bool(submitted.branch))
        self.turns = Turns()
        self.calls = History()
        self.todo = TodoList()
        self.issues = Issues(detectors)
        self.captures = Captures(captures)
        self.going_back = GoingBack(submitted.session_id)
        self.retries = Retries()
        self.pending_incidents = PendingIncidents()
        self.outage = Outage()
        self.noted = NotedFacts()
        self.heard = HeardFacts(submitted.briefing)
        self.pausing = Pausing()
        self.restating = Restating()
        self.requested: ResumeRequested | PersonNeeded | None = None
        """The request that lets the agent go on, or a need of a person, which holds it."""
        self.usage_seen = False
        """Whether something was seen since the last line, or in it, by which a limit may be reached or kept again."""
        self.controller = controller
        self._observer = Observer(prices)
        self._questions = Questions()
        self._asynchronous = asynchronous

    def renew(self, *, asynchronous: bool, own_rules: Collection[str] | None) -> None:
        """Take what another policy says of answers and allowances; arguments as at the beginning."""
        self._asynchronous = asynchronous
        self.allowances.own_rules = own_rules

    @property
    def spending(self) -> Spending:
        """Its spending, with the cost of the model's next call."""
        return self._observer.spending

    @property
    def calm(self) -> bool:
        """Whether nothing here calls for a decision, as after most lines; asking each rule would cost more than this.

        What was used may still have reached a limit: see `usage_seen`.
        """
        return self.controller.idle and not (
            self.requests.waiting
            or self.issues.fresh
            or self.pending_incidents
            or self.turns.begun
            or self.going_back.overdue
            or self.retries.due is not None
            or self.turns.ended is not None
            or self.stopping.due
            or self.processes.ending is not None
            or self.requested is not None
            or self.restating.due
            or (self.pausing.pause is not None and self.pausing.due(self.state, self.summary.turns))
            or self.requests.unread is not None
            or self.noted.due
        )

    def remember(self, seq: int, event: AnyEvent) -> None:
        """Fold one event into the state."""
        self.first_seq = self.first_seq or seq
        self.last_seq = seq
        self.captures.mono = event.mono
        match event:  # those that come most concern few parts
            case LineReceived() | LinePassedOver():
                self.processes.remember(event)
                self._line(seq, event)
            case InputAccepted():
                self.outbox.accepted(event.key)
            case ReviewMade():
                tell_controller(self.controller, seq, event)
                self.captures.remember(seq, event)
                self._review(seq, event)
            case _:
                self._step(seq, event)
        if len(self.requests.approvals) != len(self.summary.waiting) or isinstance(event, ApprovalAsked):
            self.summary.waiting = [WaitingAction.of(asked) for asked in self.requests.approvals.values()]

    def _step(self, seq: int, event: AnyEvent) -> None:
        """Hand an event on to each part, and fold in what concerns several of them."""
        tell_controller(self.controller, seq, event)
        self.captures.remember(seq, event)
        self.restating.remember(event, self.requests)
        parts = (self.processes, self.stopping, self.requests, self.retries, self.pending_incidents, self.hosts)
        for part in (*parts, self.summary):
            part.remember(event)
        match event:
            case FrameRejected():
                self._rejected(event)
            case HostRefused() | HostDenied():
                self.summary.hosts = list(map(RefusedHost.of, self.hosts.waiting(event.at)))
            case AllowanceGiven() | AllowanceRevoked():
                self.allowances.remember(event)
                self.summary.hosts = list(map(RefusedHost.of, self.hosts.waiting(event.at)))
            case HostReached():
                self.allowances.reached(event)
            case ChangesSeen():
                self._surprised(seq, event)
            case GroundsShaken():
                self._shaken(seq, event)
            case IssueSeen():
                self.issues.raised(event.issue)
            case RungReached(rung=StopStep.INTERRUPT):
                self.outbox.take_back(self.turns.untaken)
            case JudgeAnswered():
                self.issues.fresh += [event.issue] if event.issue else []
            case InterventionChosen():
                self._intervention(seq, event)
            case DiscoveryNoted():
                self.noted.journalled(event.text)
            case DiscoveryTold():
                self.heard.remember(event)
            case ContextRestated():
                self.restating.has_restated()
                self._tell(f"restated:{event.number}", event.text, "chaperon", seq, event)
            case LimitsEased():
                self._pace(f"eased-{event.intervention}")
                self._tell(f"eased:{event.intervention}", EASED, "chaperon", seq, event)
            case RecoveryChosen():
                self._recovers(event)
            case RollbackRequested() | CheckpointRestored() | RestoreFailed():
                if not self.state.ended:  # the files of an ended agent go back without it
                    self._rollback(seq, event)
            case StateChanged():
                self._state(event)
            case PauseRequested() | ResumeRequested() | SayRequested() | RedirectRequested() | PersonNeeded():
                self._requested(seq, event)
            case _:
                self._process(seq, event)

    # ── what the CLI printed ──────────────────────────────────────────────────────────────────────────────────────

    def _line(self, seq: int, event: LineReceived | LinePassedOver) -> None:
        self.issues.fresh.clear()
        self.usage_seen = False
        if self.going_back.phase is Phase.ENDING:
            return  # the last words of a conversation that was turned away from
        message = read(event)
        if message is None:
            return
        if isinstance(message, Unread):
            self.requests.unread = message
            return
        used = self._observer.used
        self._message(seq, message)
        self.captures.message(seq, message)
        self._feed(self._observer.message(message, seq, event.mono))
        match message:
            case messages.ControlResponse():
                self._replied(seq, event, message)
            case messages.HookCallback(event="PostToolUse" | "PostToolUseFailure"):
                self._ask_usage(event.mono)
            case _:
                pass
        if self._observer.used is not used:
            self.summary.spends(self._observer.used, event.at)

    def _replied(self, seq: int, event: Event, answer: messages.ControlResponse) -> None:
        """The CLI's answer to a question of ours."""
        if answer.request_id == "init":
            self._greeted(answer)
        if self._questions.answered(answer.request_id, well=answer.subtype == "success"):
            self._feed(self._observer.usage_told(answer, seq, event.mono))

    def _ask_where_it_begins(self, event: AgentLaunched) -> None:
        """Query a CLI that resumes a session for its first figures.

        They are those of the launches before, if these ended in order.
        """
        resumes = event.number > 1 or self.task.resume_session is not None
        self.spending.launched(resumes=resumes)
        if id_ := self._questions.launched(event.mono, resumes=resumes):
            self.outbox.usage(id_)

    def _ask_usage(self, mono: float) -> None:
        """Query the CLI's usage, if that is due. // By now the reply that requested the call is complete."""
        usage, most = self.controller.usage(mono), self.task.limits
        near = any(share(each, usage, most) >= NEAR for each in SPENT)
        before = self._questions.open
        if id_ := self._questions.due(mono, near=near):
            self.outbox.usage(id_, instead_of=before)

    def _message(self, seq: int, message: messages.Message) -> None:
        match message:  # those that come most stand first
            case messages.Assistant():
                self.summary.replied(message)
                self._answered()
            case messages.HookCallback(event="PreToolUse") | messages.CanUseTool():
                self.requests.waiting[message.request_id] = message
            case messages.HookCallback():
                if message.event == "UserPromptSubmit":
                    self._prompted(seq, message)
                elif message.event in bypass.RETURNS:
                    made = self.calls.verdict(message.tool_use_id)
                    self._bypassed(seq, bypass.by_hook(message, made, self.requests.waiting.values()))
                if message.event == "ConfigChange":
                    self.pending_incidents.changed(SettingsChanged(message.source[:100], message.file_path[-300:]))
                    self.outbox.keep_out(message.request_id, KEPT_OUT)
                else:
                    self.outbox.answer(message.request_id, control.answer(message.request_id, {}))
            case messages.User() if message.parent_tool_use_id is None and any(message.results()):
                self.turns.results_told()
            case messages.Result():
                self.turns.ended = message
                self.stopping.turn_ended()
                self.summary.count_turn(message)
                self._answered()
                self.retries.turn_ended(failed=message.is_error)
            case messages.UnknownRequest():
                self.outbox.answer(message.request_id, control.refuse_unknown(message.request_id, message.subtype))
            case messages.Cancelled():
                self.requests.over(message.request_id)
                self.outbox.withdraw(message.request_id)
            case messages.Init():
                self._init(message)
            case messages.Compacted():
                self.restating.compacted()
            case messages.MessageProgress(command_uuid=id_, state=state):
                if state == "started":
                    self.turns.taken(id_)
            case messages.BackgroundTask():
                self.turns.work(message)
            case messages.BackgroundCommands():
                self.turns.commands_run(message.task_ids)
            case Retrying():
                if self.outage.retried(message):
                    self.pending_incidents.add(message)
                self.summary.api = message.sentence
            case LimitNotice():
                self.retries.noticed(message)
                self.summary.limit, self.summary.limit_resets_at = message.sentence, message.resets_at
            case _:
                pass

    def _prompted(self, seq: int, prompt: messages.HookCallback) -> None:
        """A prompt is shown to the model; to an attached CLI, a person gave it."""
        self.turns.prompted(prompt.prompt)
        if self.submitted.origin:
            by = "task" if self.summary.turns == 0 and prompt.prompt == self.task.prompt else "person"
            self._feed(self._observer.message_sent(prompt.prompt, by, seq, self.captures.mono))

    def _answered(self) -> None:
        """The API answered, or the CLI gave up."""
        if self.outage.now is not None:
            self.outage.over()
            self.summary.api = ""

    def _greeted(self, answer: messages.ControlResponse) -> None:
        """The CLI's answer to its first line."""
        self.processes.greeted = True
        if answer.subtype != "success":
            self.stopping.unfit = answer
            self.pending_incidents.add(answer)

    def _init(self, init: messages.Init) -> None:
        self.processes.greeted = True
        self.turns.began(self.state)
        self.stopping.turn_began()
        self.pending_incidents.turn_began()
        self.retries.began = True
        self.summary.began(init)

    def _feed(self, observations: Sequence[Observation]) -> None:
        for observation in observations:
            self.noted.observed(observation)
            if isinstance(observation, ToolReturned):
                self._returned(observation)
            elif isinstance(observation, TurnEnded):
                self.predicted.turn_ended()
            self.controller.observed(observation)
            self.usage_seen = self.usage_seen or isinstance(observation, USES)
            for failure in self.issues.observed(observation):
                self.pending_incidents.add(failure)

    def _returned(self, call: ToolReturned) -> None:
        self.calls.returned(call)
        if (run := self.calls.tests) is not None:
            self.summary.tests = f"{run.framework}: {run.passed:,} passed, {run.failed:,} failed"
        self.summary.calls = self.calls.running
        if self.todo.returned(call):
            self.summary.todo = self.todo.items
        self.predicted.returned(call.id, failed=call.failed)
        self.captures.returned(call)
        self._bypassed(call.seq, bypass.by_result(call, self.calls.verdict(call.id)))
        if call.failed:
            self.summary.recent = self.calls.steps
            if (made := self.calls.verdict(call.id)) is not None:
                self.origins.failed(made.review)

    def _bypassed(self, seq: int, how: bypass.Bypass | None) -> None:
        """Handle a call that ran past the gate: the run is to end, and if it may not be ended a person is notified."""
        if how is None or (bypass.TYPE, how.tool_use_id) in self.issues.known:
            return
        self.issues.fresh.append(how.issue(seq))
        self.pending_incidents.bypassed(how)

    # ── what was decided ──────────────────────────────────────────────────────────────────────────────────────────

    def _rejected(self, event: FrameRejected) -> None:
        """Refuse a request that cannot be read, since it cannot be reviewed."""
        unread, self.requests.unread = self.requests.unread, None
        if unread is not None and unread.request_id is not None:
            refusal = gate.refusal(unread.request_id, event.problem, permission=unread.permission)
            self.outbox.answer(unread.request_id, refusal)

    def _review(self, seq: int, event: ReviewMade) -> None:
        permission = isinstance(self.requests.over(event.request_id), messages.CanUseTool)
        carries = not permission and not event.action.subagent and event.review.decision is not Decision.BLOCK
        beside = self.heard.take() if carries else ""
        line = gate.answer(event.request_id, event.review, permission=permission, action=event.action, beside=beside)
        self.outbox.answer(event.request_id, line, asynchronous=self._asynchronous and may_answer_early(event.review))
        if permission and self.calls.verdict(event.action.tool_use_id) is not None:
            return  # the second gate repeats the first one's answer; it counts once
        self.allowances.reviewed(event.review)
        self.origins.remember(event.review)
        self.predicted.reviewed(event, beside=bool(self.turns.background or self.turns.commands))
        self.calls.reviewed(event)
        self.summary.count_review(event.review)
        if event.review.rule == DEADLINE_PASSED:
            self.pending_incidents.expired(event)
        self.summary.recent, self.summary.calls = self.calls.steps, self.calls.running
        self._feed(self._observer.reviewed(event.action, event.review, seq, event.mono))
        if event.review.stop:
            self.issues.fresh.append(gate.critical(event.action, event.review, seq))

    def _surprised(self, seq: int, event: ChangesSeen) -> None:
        made = self.calls.verdict(event.tool_use_id)
        if made is not None:
            self.issues.fresh += self.predicted.seen(event, made, seq)

    def _shaken(self, seq: int, event: GroundsShaken) -> None:
        """Handle grounds that did not hold.

        A file written elsewhere ends the run, and a changed script is an incident.
        """
        made, id_ = self.calls.verdict(event.tool_use_id), event.tool_use_id
        tool = made.action.tool if made else ""
        for path in event.scripts:
            self.pending_incidents.changed(ScriptChanged(tool, id_, path[-300:]))
        for path in event.elsewhere[:1]:
            self._bypassed(seq, bypass.Bypass("written_elsewhere", tool, id_, path[-300:]))

    def _intervention(self, seq: int, event: InterventionChosen) -> None:
        chosen = event.intervention
        if "renewal_of" in chosen.details:
            self.restating.has_restated()
        self._pace(chosen.id)
        self.usage_seen = True
        if chosen.kind is InterventionKind.CHECKPOINT_ROLLBACK:
            self._go_back(seq, event)  # its message is for the conversation that goes on from the checkpoint
        elif chosen.message:
            self._tell(f"tell:{chosen.id}", chosen.message, "chaperon", seq, event)

    def _rollback(self, seq: int, event: RollbackRequested | CheckpointRestored | RestoreFailed) -> None:
        match event:
            case RollbackRequested():
                self._go_back(seq, event)
            case CheckpointRestored():
                guidance = self.going_back.came(event, ending=self.state is AgentState.STOPPING or self.stopping.due)
                if guidance:
                    shown = told_its_person(event) if self.submitted.origin else ""
                    self._tell(f"restored:{event.intervention}", guidance, "chaperon", seq, event, shown)
            case RestoreFailed():
                self.going_back.over()
                if not event.needless:
                    self.pending_incidents.add(event)

    def _go_back(self, seq: int, cause: RollbackRequested | InterventionChosen) -> None:
        self.going_back.begin(seq, cause, still=self.processes.ending is not None)

    def _begin_again(self) -> None:
        """The agent has gone back: what belonged to the ended processes is forgotten."""
        restored = self.going_back.restored
        if restored is None:
            return
        self.going_back.reborn(restored, self.asked, list(self.turns.said.values()))
        self._forget_todo()  # which of its items are of before the checkpoint, nobody can tell
        self._forget_processes(restored.session_id)

    def _recovers(self, event: RecoveryChosen) -> None:
        """The CLI ended too early, and another is to be launched in its place."""
        self.going_back.recovers(event, list(self.turns.said.values()))
        if event.recovery.fresh:
            self._forget_todo()
        self._forget_processes(event.session_id)

    def _forget_todo(self) -> None:
        self.todo, self.summary.todo = TodoList(), ()

    def _forget_processes(self, session_id: str) -> None:
        """Forget the ended processes; the next ones go on in this session."""
        self.outbox.forget()
        self._answered()
        self.requests.clear()
        self.turns = Turns()
        self.requested = None
        self.processes.forget()
        self.summary.session_id = session_id

    def _not_still(self, event: TimerFired) -> None:
        """Handle a rollback's processes that were not frozen, or not gone, in time."""
        match self.going_back.phase:
            case Phase.FREEZING:
                self.going_back.overdue = True
            case Phase.ENDING:
                self.pending_incidents.add(event)

    def _pace(self, id_: str) -> None:
        """Have the CLI go to the effort and the model that the limits in force ask for, where they changed."""
        self.outbox.pace(id_, self.controller.limits, self.task.model)

    def _state(self, event: StateChanged) -> None:
        self.state = event.after
        self.requested = None
        self.turns.entered(event.after)
        if event.after is AgentState.STARTING:
            self._begin_again()
        elif event.after is AgentState.STOPPING and self.going_back.phase is Phase.ENDING:
            self.going_back.over()
        if event.after.ended:
            self.outbox.clear()
            self.requests.clear()
            self.pausing.lift()
            if event.after in (AgentState.FAILED, AgentState.LOST) and self.processes.ending is not None:
                self.pending_incidents.add(self.processes.ending)

    # ── what people asked and processes did ──────────────────────────────────────────────────────────────────────

    def _requested(
        self, seq: int, event: PauseRequested | ResumeRequested | SayRequested | RedirectRequested | PersonNeeded
    ) -> None:
        match event:
            case SayRequested():
                self._tell(f"say:{event.id}", event.text, "person", seq, event)
            case RedirectRequested():
                self.outbox.interrupt(event.id)
                if event.task is not None:
                    self._given(seq, event, event.task)
                self._tell(f"say:{event.id}", event.text, "person", seq, event)
            case PersonNeeded() if not event.need.hold:
                pass
            case PauseRequested():
                self.pausing.ask(event, self.state, self.summary.turns)
            case ResumeRequested() if self.pausing.asked and self.state is not AgentState.PAUSED:
                self.pausing.lift()  # it was not held yet
            case ResumeRequested():
                self.pausing.lift()
                self.requested = event
            case PersonNeeded():
                self.requested = event
        self.summary.pause = self.pausing.pause

    def _given(self, seq: int, event: RedirectRequested, task: Task) -> None:
        """Take another task: texts, detectors and recoveries are about that one from here on."""
        self.task = task
        self.summary.redirected(event, task)
        self._feed([TaskReplaced(seq=seq, mono=event.mono, task=replace(task, repository=self.submitted.workspace))])

    def _process(self, seq: int, event: AnyEvent) -> None:
        match event:
            case AgentLaunched():
                self.going_back.launches = event.number
                self.calls.launched()
                self.outbox.hooks()
                self._ask_where_it_begins(event)
                self._pace(f"launch-{event.number}")
                if self.state is not AgentState.STOPPING:  # one that was stopped as it was born must not begin
                    self._open(seq, event)
            case AgentAttached():
                self.going_back.launches = 1
                self.spending.launched(resumes=False)
            case AgentAdopted():
                # Whoever held its processes still has gone; nobody has looked at them since.
                self.going_back.still = self.processes.ending is not None
                self.allowances.adopted(event)
            case TreeFrozen() | AgentExited() | AgentVanished() | LaunchFailed():
                self.going_back.still = True
            case SettingsSwapped():
                self._bypassed(seq, bypass.Bypass("settings_swapped", "", f"settings-{self.going_back.launches}"))
            case ResourcesSeen():
                self._feed([sampled(seq, event)])
            case ErrorLineReceived():
                self._feed([erred(seq, event)])
            case CheckMade(quiet=True):
                self._feed([checked(seq, event)])
            case TimerFired():
                self._timer(event)
            case _:
                pass

    def _open(self, seq: int, event: Event) -> None:
        """Send the first messages to the CLI.

        They are the task or the rollback's message, and messages of people that came meanwhile.
        """
        opening = self.going_back.opening
        self._tell("prompt", opening or self._first_words(), "chaperon" if opening else "task", seq, event)
        for number, text in enumerate(self.going_back.carried):
            self._tell(f"carried:{number}", text, "person", seq, event)

    def _first_words(self) -> str:
        """The task's prompt, or what is said in its place, and what chaperon says with it."""
        return "\n\n".join(filter(None, (self.own_opening or self.task.prompt, self.submitted.briefing)))

    @property
    def own_opening(self) -> str:
        """Return what is said in place of the prompt of the task that it was submitted with."""
        return self.submitted.opening if self.task is self.submitted.task else ""

    @property
    def asked(self) -> str:
        """Return all that the agent was asked to do: the prompt, and what one goes on with that has another's work."""
        prompt, opening = self.task.prompt, self.own_opening
        return opening if prompt in opening else "\n\n".join(filter(None, (prompt, opening)))

    def _timer(self, event: TimerFired) -> None:
        if event.name == HELLO and not self.processes.greeted and not self.stopping.due:
            self.stopping.unfit = event
            self.pending_incidents.add(event)
        elif event.name == FINISH and self.state is AgentState.FINISHING:
            self.stopping.lingers = True
        elif event.name == STANDSTILL:
            self._not_still(event)
        elif event.name == SETTLE:
            self.turns.settled()
        elif event.name == COMMANDS:
            for task in sorted(self.turns.forsake()):
                self.outbox.stop_task(task)

    def _tell(self, key: str, text: str, by: str, seq: int, event: Event, shown: str = "") -> None:
        id_ = message_id(self.submitted.agent, self.submitted.at, self.going_back.launches, key)
        self.turns.sent(id_, text, by_a_person=by == "person")
        self.outbox.message(key, text, id_, shown)
        self._feed(self._observer.message_sent(text, by, seq, event.mono))
