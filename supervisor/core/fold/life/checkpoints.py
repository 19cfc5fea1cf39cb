"""The checkpoints of a session: those made, those due, the resumable position of the conversation, the run's health.

It is a fold, as the memory that it is part of. A capture stays due until it was made or failed, so a daemon that was
killed meanwhile requests it again.
"""

from collections import deque
from dataclasses import dataclass, field

from checkpoints.choose import SafeCriteria, choose
from checkpoints.model import CaptureContext, Checkpoint, ConversationPosition, Reason, RunHealth
from interventions.contract import GoodMoment
from monitors.contract.actions import Action, Review
from monitors.contract.effects import EffectType
from monitors.contract.issues import Issue
from monitors.contract.observations import ToolReturned
from monitors.contract.words import Decision
from monitors.review.tools import in_background
from monitors.signals.test_runs import tally
from supervisor.core.fold.conversation.history import subject_of
from supervisor.core.observing.read_only import only_reads
from supervisor.protocol.claude import messages
from supervisor.protocol.events import (
    AgentAttached,
    AgentLaunched,
    AnyEvent,
    CaptureFailed,
    CheckpointAwaited,
    CheckpointMade,
    CheckpointRequested,
    CheckpointRestored,
    RecoveryChosen,
    RedirectRequested,
    ResumeRequested,
    ReviewMade,
    SayRequested,
    StateChanged,
)
from supervisor.protocol.moments import RunMoment

WINDOW = 20
"""Actions for the success rate: a few minutes of an ordinary run, so that an early bad phase is forgotten."""

REMEMBERED = 200
"""Checkpoints of one run that are kept in mind: far more than a rollback may look at."""

RISKY = "risky:"
"""How keys of captures begin that an action waits for; the request's id follows."""

END = "end:"
"""How the key of the capture begins that is made of an agent that has ended."""

DELETING: frozenset[EffectType] = frozenset({"file_delete", "git_discard"})
"""Side effects that remove work of the agent since the last capture: files, and changes that were never committed."""


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """Settings of checkpoints."""

    enabled: bool = False
    """Whether any is made automatically. Off if there is no maker, as in a replay."""
    safe: SafeCriteria = field(default_factory=SafeCriteria)
    """When a checkpoint is worth going back to."""
    serves_seconds: float = 1_800.0
    """Time for which a checkpoint may serve a rollback without a person."""
    before_unattended: bool = True
    """Whether one is made when a person lets go of the agent."""
    spacing_seconds: float = 10.0
    """Time between the last capture and one that no call waits for, made of changes while the model thinks."""


@dataclass(frozen=True, slots=True)
class DueCapture:
    """A capture that is due."""

    reason: Reason
    name: str = ""
    note: str = ""


class Captures:
    """The checkpoints of one agent; where an intervention asks where to go back to, it is asked."""

    def __init__(self, rules: CaptureRules) -> None:
        self.rules = rules
        self.due: dict[str, DueCapture] = {}
        """By key, oldest first."""
        self.awaited: dict[str, CheckpointAwaited] = {}
        """Actions that wait for a capture, by request."""
        self.failed: dict[str, str] = {}
        """Why the capture failed that an action waits for, by request."""
        self.made: deque[CheckpointMade] = deque(maxlen=REMEMBERED)
        self._session = self._resume_session = self._resume_at = ""
        self._last_reply = ""
        self._open_calls: set[str] = set()
        self._running: set[str] = set()
        self._last_effect = 0
        self._background = False
        self._resting = False
        """Whether a turn has ended and no message came since."""
        self._outcomes: deque[bool] = deque(maxlen=WINDOW)
        self._failed_at: float | None = None
        self.mono = 0.0
        """When the last event of the run was."""
        self._wanted_at = float("-inf")

    # ── the fold ──────────────────────────────────────────────────────────────────────────────────────────────────

    def remember(self, seq: int, event: AnyEvent) -> None:
        """Take in an event of the run; those that do not bear on checkpoints change nothing."""
        match event:
            case AgentLaunched(number=1) | AgentAttached():
                self._want("start", DueCapture(Reason.START))
            case ReviewMade():
                self._reviewed(seq, event)
            case CheckpointAwaited():
                self.awaited[event.request_id] = event
                what = f"before {event.action.tool} {subject_of(event.action)}".rstrip()
                self._want(RISKY + event.request_id, DueCapture(Reason.RISKY_ACTION, note=what[:200]))
            case CheckpointRequested():
                self.due[f"person:{event.id}"] = DueCapture(Reason.PERSON, event.name, event.note)
            case ResumeRequested() | SayRequested() | RedirectRequested():
                self._let_go(seq, event)
            case CheckpointMade():
                self.due.pop(event.key, None)
                self.made.append(event)
            case CaptureFailed():
                self.due.pop(event.key, None)
                if event.key.startswith(RISKY):
                    self.failed[event.key.removeprefix(RISKY)] = event.error
            case StateChanged() if event.after.ended:
                self._ended(seq)
            case CheckpointRestored():
                self._went_back(event)
            case RecoveryChosen():
                self._began_again()
            case _:
                pass

    def message(self, seq: int, message: messages.Message) -> None:
        """Take in a line of the CLI."""
        match message:
            case messages.Init():
                self._session = message.session_id
            case messages.Assistant(parent_tool_use_id=None):
                self._last_reply = message.uuid
                self._open_calls |= {
                    str(block.get("id")) for block in message.content if block.get("type") == "tool_use"
                }
            case messages.User():
                self._returned(seq, message)
            case messages.Cancelled():
                self.awaited.pop(message.request_id, None)
            case messages.Result():
                self._turn_ended(seq)
            case _:
                pass

    def returned(self, call: ToolReturned) -> None:
        """Take in what came of a call."""
        if call.collateral:
            return
        ok = not (call.failed or call.refused)
        self._outcomes.append(ok)
        if not ok:
            self._failed_at = call.mono
        counted = tally(call.text) if ok and call.tool == "Bash" else None
        if counted is not None and counted.green:
            self._want(
                f"tests:{call.seq}",
                DueCapture(Reason.TESTS_PASSED, note=f"{counted.framework}: {counted.passed} passed"),
            )

    def _want(self, key: str, wanted: DueCapture) -> None:
        if self.rules.enabled:
            self.due[key] = wanted
            self._wanted_at = self.mono

    def _reviewed(self, seq: int, event: ReviewMade) -> None:
        self.awaited.pop(event.request_id, None)
        self.failed.pop(event.request_id, None)
        if event.review.decision is Decision.BLOCK or only_reads(event.action, event.review):
            return
        self._last_effect = seq
        self._running.add(event.action.tool_use_id)
        self._background = self._background or in_background(event.action.tool, event.action.input)

    def _returned(self, seq: int, user: messages.User) -> None:
        """Results are in: once none is missing, the conversation can be resumed here, and what was changed captured."""
        ids = {str(block.get("tool_use_id")) for block in user.results()}
        if ids & self._running:
            self._last_effect = seq
            self._running -= ids
        if ids:
            self._capture_ahead(seq)
        if user.parent_tool_use_id is None and ids:
            self._open_calls -= ids
            if not self._open_calls:
                self._resume_session, self._resume_at = self._session, user.uuid

    def _capture_ahead(self, seq: int) -> None:
        """Request a capture ahead of the next risky action, now and then: one after each change would slow the run."""
        at_rest = not self._running and not self.due and not self.captured
        if at_rest and self.mono - self._wanted_at >= self.rules.spacing_seconds:
            self._want(
                f"ahead:{seq}", DueCapture(Reason.RISKY_ACTION, note="after a change, in case the next call is risky")
            )

    def _let_go(self, seq: int, event: ResumeRequested | SayRequested | RedirectRequested) -> None:
        """A person leaves the agent to itself: what that person changed meanwhile is to be in a checkpoint."""
        if self.rules.before_unattended and (self._resting or isinstance(event, ResumeRequested)):
            self._want(f"let-go:{seq}", DueCapture(Reason.UNATTENDED, note=f"as {event.by} let it go on"))
        self._resting = False

    def _turn_ended(self, seq: int) -> None:
        if not self._open_calls and self._last_reply:
            self._resume_session, self._resume_at = self._session, self._last_reply
        self._open_calls.clear()
        self._running.clear()
        self._resting = True
        self._want(f"turn:{seq}", DueCapture(Reason.TURN))

    def _ended(self, seq: int) -> None:
        """Request what an agent left that ended in mid-turn; else its changes are told without those of that turn."""
        self._running.clear()
        self._background = False
        if self._last_effect and not self.captured and not any(one.reason is Reason.TURN for one in self.due.values()):
            self._want(f"{END}{seq}", DueCapture(Reason.TURN, note="as it ended"))

    def _went_back(self, event: CheckpointRestored) -> None:
        """Drop the checkpoints made since the target; they belong to the abandoned branch."""
        names = [made.name for made in self.made]
        if event.checkpoint in names:
            self.made = deque(list(self.made)[: names.index(event.checkpoint) + 1], maxlen=REMEMBERED)
        if event.files_only:
            return
        self._session, self._resume_session, self._resume_at = event.session_id, event.resume_session, event.resume_at
        self._last_reply = ""
        self._began_again()

    def _began_again(self) -> None:
        """The processes that were at work are gone, with all that they had begun."""
        self._open_calls.clear()
        self._running.clear()
        self.awaited.clear()
        self.failed.clear()
        self._background = False
        self.due = {key: wanted for key, wanted in self.due.items() if wanted.reason is Reason.PERSON}

    # ── what follows from it ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def captured(self) -> bool:
        """Whether the last checkpoint has the workspace as it is now."""
        if not self.rules.enabled or not self.made or self._running or self._background:
            return False
        return self.made[-1].moment.seq >= self._last_effect

    def holds(self, action: Action, review: Review) -> bool:
        """Whether the action must wait for a capture that is under way, or it would be half in it."""
        return bool(self.due) and review.decision is not Decision.BLOCK and not only_reads(action, review)

    def needs(self, review: Review) -> bool:
        """Whether the action needs a capture of its own first: what asks for one, and what deletes."""
        asks = review.checkpoint_first or any(effect.type in DELETING for effect in review.side_effects)
        return self.rules.enabled and asks and review.decision is not Decision.BLOCK and not self.captured

    def moment(self, seq: int, mono: float, state: str) -> RunMoment:
        """Return the position of the conversation and the run's health now."""
        rate = sum(self._outcomes) / len(self._outcomes) if self._outcomes else None
        quiet = None if self._failed_at is None else round(max(0.0, mono - self._failed_at), 3)
        return RunMoment(seq, self._resume_session, self._resume_at, rate, quiet, state)

    def _unchanged_since(self, made: CheckpointMade) -> bool:
        """Whether none of the agent's calls has changed a file since a checkpoint."""
        if self._running or self._background:
            return False
        return made.moment.seq >= self._last_effect or (self.captured and made.tree == self.made[-1].tree)

    def before(self, issue: Issue, most_back: int) -> GoodMoment | str:
        """Return the newest checkpoint from before the issue began that is safe for it, or why there is none.

        Pure: it is chosen among the checkpoints in the journal.

        Args:
            issue: The issue; `began` is its beginning.
            most_back: Most checkpoints to go back.
        """
        safe = self.rules.safe
        depth = min(most_back, safe.max_rollback_depth)
        criteria = SafeCriteria(safe.min_success_rate, safe.no_errors_duration_seconds, depth)
        serving = [made for made in self.made if self.mono - made.mono <= self.rules.serves_seconds]
        choice = choose([_as_checkpoint(made, number) for number, made in enumerate(serving)], issue, criteria)
        if choice.checkpoint is not None:
            made = serving[choice.checkpoint.number]
            return _good_moment(made, self.mono, len(choice.passed_over) + 1, unchanged=self._unchanged_since(made))
        if not choice.passed_over:
            return "no checkpoint was taken"
        last = choice.passed_over[-1]
        return f"no checkpoint is safe to go back to: of {len(choice.passed_over)}, the oldest looked at was {last.name}, and {last.why}"


def _as_checkpoint(made: CheckpointMade, number: int) -> Checkpoint:
    moment = made.moment
    facts = CaptureContext(
        Reason(made.reason),
        made.at,
        made.agent,
        made.name,
        ConversationPosition(moment.session_id, moment.message_uuid),
        seq=moment.seq,
        health=RunHealth(moment.success_rate, moment.seconds_without_errors),
    )
    return Checkpoint(made.name, number, "", "", made.tree, facts)


_TOLD = {
    Reason.START: "the start",
    Reason.TURN: "the end of a turn",
    Reason.RISKY_ACTION: "before a change",
    Reason.TESTS_PASSED: "when tests passed",
    Reason.UNATTENDED: "when a person let it go on",
    Reason.PERSON: "kept by a person",
}


def _good_moment(made: CheckpointMade, mono: float, depth: int, *, unchanged: bool) -> GoodMoment:
    what = _TOLD.get(Reason(made.reason), made.reason)
    return GoodMoment(made.name, f"{what}, {max(0.0, mono - made.mono):.0f} s ago", depth, unchanged)
