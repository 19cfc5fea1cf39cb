"""A recorded session through reviewer and detectors, offline, as the live core would have seen it.

If the recording has the gate's requests (stream-json of a supervised run), calls are reviewed there and only there, so
that a replay raises the same issues at the same events as the live run. Transcripts have no such lines; there each call
is reviewed just before its result. A call that is blocked today but ran then is counted, and its review is not shown to
detectors, since the agent's reaction to a block is not known.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitors.contract.actions import Action, PastCall, Review, ReviewContext, Reviewer
from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import Observation, ToolReturned
from monitors.contract.origins import Origins
from monitors.contract.tasks import Limits, Task
from monitors.contract.words import Decision, Severity
from monitors.guarded import Watchers
from supervisor.core import gate
from supervisor.core.observing.observer import Observer
from supervisor.core.replay.transcripts import TranscriptLine, TranscriptReader
from supervisor.protocol.claude.messages import Assistant, HookCallback, User

FILES = "links, and what stood on the disk"
PLACES = "the home directory and chaperon's own paths"
POLICY = "the policy of the time"
"""The places of a recording's calls, which the recording may lack."""

HISTORY = 20
"""Steps that a review is shown."""


@dataclass(frozen=True, slots=True)
class SeenIssue:
    """An issue, and the event at which it was raised, raised again or closed."""

    at_event: int
    issue: Issue


@dataclass(slots=True)
class Replay:
    """Findings of a replay."""

    session_id: str = ""
    events: int = 0
    """Lines that could be read and mean something."""
    actions: int = 0
    """Tool calls that were reviewed."""
    reviews: Counter[str] = field(default_factory=Counter)
    """How many calls got each decision."""
    recorded: Counter[str] = field(default_factory=Counter)
    """How many calls got each decision when they were made, where the recording says."""
    changed: list[tuple[int, Decision, Decision]] = field(default_factory=list)
    """Calls that would be decided otherwise now: the event, the decision then, and now."""
    lacks: tuple[str, ...] = ()
    """Facts that reviews used then and that are not known now, in words."""
    policies: tuple[str, ...] = ()
    """Digests of the policies of the time by which calls were reviewed, in order; an empty one stands for today's."""
    stopped: list[tuple[int, Review]] = field(default_factory=list)
    """The reviews that blocked or changed a call, each with the event at which it was made."""
    issues: list[SeenIssue] = field(default_factory=list)
    recorded_seconds: float = 0.0
    """Time between the first and the last line that say when they were."""
    lines: int = 0
    damaged: int = 0
    foreign: int = 0

    def reviewed(self, seq: int, review: Review, then: Review | None = None) -> None:
        """Count a review, beside the one that was made then."""
        if then is not None:
            self.recorded[then.decision.value] += 1
            if then.decision is not review.decision:
                self.changed.append((seq, then.decision, review.decision))
        self.actions += 1
        self.reviews[review.decision.value] += 1
        if review.decision in {Decision.BLOCK, Decision.MODIFY}:
            self.stopped.append((seq, review))

    def as_json(self, path: str, seconds: float, intervention: Callable[[Issue], str | None]) -> dict[str, Any]:
        """One line of `chaperon replay --json`.

        Args:
            path: Where the recording lies.
            seconds: How long the replay took, measured by the caller.
            intervention: What the controller would do about an issue; None for nothing.
        """
        return {
            "path": path,
            "session_id": self.session_id,
            "events": self.events,
            "actions": self.actions,
            "reviews": dict(self.reviews),
            "recorded": dict(self.recorded),
            "changed": [{"at_event": seq, "was": was, "is": now} for seq, was, now in self.changed],
            "lacks": list(self.lacks),
            "policies": list(self.policies),
            "issues": [
                {
                    "type": seen.issue.type,
                    "severity": seen.issue.severity.value,
                    "confidence": seen.issue.confidence,
                    "at_event": seen.at_event,
                    "intervention": intervention(seen.issue),
                    "began": seen.issue.began,
                    "sentence": seen.issue.sentence,
                }
                for seen in self.issues
                if not seen.issue.closed
            ],
            "lines": {"read": self.lines, "damaged": self.damaged, "foreign": self.foreign},
            "recorded_seconds": round(self.recorded_seconds, 3),
            "seconds": round(seconds, 6),
        }


def replay(
    lines: Iterable[bytes],
    reviewer: Reviewer | None,
    detectors: Sequence[Detector],
    watch: Callable[[Observation], None] | None = None,
) -> Replay:
    """Run a recording through a reviewer and through detectors made for this session alone.

    Args:
        lines: The recording, a line each.
        reviewer: Reviews each call; None allows everything, for when only patterns matter.
        detectors: Fresh ones: they remember.
        watch: Is shown every observation, for timelines.
    """
    session = _Session(reviewer, detectors, watch)
    reader = TranscriptReader()
    for line in lines:
        record = reader.read(line)
        if record is not None:
            session.take(record)
    session.result.lines, session.result.damaged, session.result.foreign = reader.lines, reader.damaged, reader.foreign
    return session.result


def recorded_task(lines: Iterable[bytes]) -> Task:
    """The task of a recording, for making its detectors: its first words, where it ran, and no limits.

    A recording ran under limits of its own, or none, so those of today say nothing of it. Reading stops as soon as both
    are known; what is not found is empty.
    """
    reader, prompt, cwd, session = TranscriptReader(), "", "", ""
    for line in lines:
        record = reader.read(line)
        if record is not None:
            prompt, cwd, session = prompt or record.said, cwd or record.cwd, session or record.session_id
        if prompt and cwd:
            break
    return Task(session, prompt, cwd, limits=Limits(None, None, None, None, None))


_UNREVIEWED = Review(Decision.ALLOW, 0.0, 1.0, Severity.LOW, "not reviewed")


class _Session:
    """One recording on its way through."""

    def __init__(
        self, reviewer: Reviewer | None, detectors: Sequence[Detector], watch: Callable[[Observation], None] | None
    ) -> None:
        self.result = Replay()
        self._reviewer, self._watchers, self._watch = reviewer, Watchers(detectors), watch
        self._observer = Observer()
        self._waiting: dict[str, Action] = {}
        self._history: deque[PastCall] = deque(maxlen=HISTORY)
        self._origins = Origins()
        self._task: Task | None = None
        self._has_gate = False
        self._cwd = self._workspace = ""
        self._started: float | None = None
        self._mono = 0.0

    def take(self, record: TranscriptLine) -> None:
        self.result.events += 1
        self.result.session_id = self.result.session_id or record.session_id
        self._note_place_and_time(record)
        if record.said:
            self._hear(record)
        match record.message:
            case HookCallback(event="PreToolUse") as hook:
                self._has_gate = True
                action = self._action(hook.tool_name, hook.tool_input, hook.tool_use_id, hook.agent_id or "", hook.cwd)
                self._review(action, record.seq)
            case User() as message:
                self._review_what_returns(message, record.seq)
            case Assistant() as message:
                self._note_calls(message)
            case _:
                pass
        self._show(self._observer.message(record.message, record.seq, self._mono), record.seq)

    def _note_place_and_time(self, record: TranscriptLine) -> None:
        self._cwd = record.cwd or self._cwd
        self._workspace = self._workspace or self._cwd
        if record.mono is not None:
            self._started = record.mono if self._started is None else self._started
            self._mono = max(self._mono, record.mono - self._started)
            self.result.recorded_seconds = self._mono

    def _hear(self, record: TranscriptLine) -> None:
        by = record.by or ("person" if self._task else "task")
        if by != "chaperon":
            self._task = self._task or Task(self.result.session_id, record.said, self._workspace)
        self._show(self._observer.message_sent(record.said, by, record.seq, self._mono), record.seq)

    def _note_calls(self, message: Assistant) -> None:
        if self._has_gate:
            return
        for block in message.content:
            if block.get("type") == "tool_use" and isinstance(id_ := block.get("id"), str):
                call = self._action(
                    str(block.get("name") or ""), block.get("input"), id_, message.parent_tool_use_id or "", ""
                )
                self._waiting[id_] = call

    def _review_what_returns(self, message: User, seq: int) -> None:
        for block in message.results():
            action = self._waiting.pop(str(block.get("tool_use_id") or ""), None)
            if action is not None and not self._has_gate:
                self._review(action, seq, failed=block.get("is_error") is True)

    def _action(self, tool: str, call: object, id_: str, subagent: str, cwd: str) -> Action:
        return Action(tool, call if isinstance(call, dict) else {}, cwd or self._cwd, self._workspace, id_, subagent)

    def _review(self, action: Action, seq: int, *, failed: bool = False) -> None:
        review = _UNREVIEWED
        self.result.lacks = (PLACES,)
        if self._reviewer is not None:
            home, known = home_of(self._workspace), self._origins.known
            context = ReviewContext(self._task, tuple(self._history), home=home, origins=known)
            review = gate.review(self._reviewer, action, context)
            self._origins.remember(review)
            if failed:
                self._origins.failed(review)
        self.result.reviewed(seq, review)
        if self._has_gate or review.decision is not Decision.BLOCK:
            self._show(self._observer.reviewed(action, review, seq, self._mono), seq)

    def _show(self, observations: list[Observation], seq: int) -> None:
        for observation in observations:
            self._remember(observation)
            if self._watch:
                self._watch(observation)
            for detector in self._watchers.of(observation):
                self.result.issues.extend(SeenIssue(seq, issue) for issue in detector.see(observation))

    def _remember(self, observation: Observation) -> None:
        if isinstance(observation, ToolReturned):
            summary = str(next(iter(observation.input.values()), ""))[:200]
            decision = Decision.BLOCK if observation.refused else Decision.ALLOW
            self._history.append(PastCall(observation.tool, summary, observation.failed, decision))


def home_of(workspace: str) -> str:
    """The home directory that a workspace's path suggests: `/home/x` or `/Users/x`, else `/root`."""
    parts = workspace.split("/")
    return "/".join(parts[:3]) if len(parts) > 2 and parts[1] in {"home", "Users"} else "/root"
