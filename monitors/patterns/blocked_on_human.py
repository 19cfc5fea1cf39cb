"""The agent waits for a person without notice: for a password, a signature, a log-in, an answer.

Three signs: results that need a person (twice the same kind, since one may be worked around), a call that neither
returns nor uses the processor, and a turn that ends with a question, with no message of a person since the task.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from monitors.contract.bounds import Count, Flag, Seconds
from monitors.contract.expressions import up_to_next
from monitors.contract.issues import Issue
from monitors.contract.observations import (
    AgentSpoke,
    Observation,
    ResourcesSampled,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    UserSpoke,
)
from monitors.contract.wording import counted
from monitors.contract.words import Decision, Severity
from monitors.sensitivity import PatternSettings, level_of
from monitors.streaks import MAX_EVIDENCE, Streaks


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedOnHumanSettings(PatternSettings):
    """The agent waits for a person without notice."""

    confidence: float = 0.8
    impact_factor: float = 0.1
    threshold: Count = 2
    """Results asking for the same password, signature or answer that make an issue."""
    # Builds and downloads use it; a prompt does not.
    silent_seconds: Seconds = 180.0
    """How long a call may neither return nor use the processor, in seconds."""
    questions: Flag = True
    """Whether a turn that ends with an unanswered question is reported."""
    idle_cpu_share: float = 0.01
    """Share of one processor below which the process tree counts as idle. An idle CLI with its timers takes about
    half of it."""


class Need(NamedTuple):
    """How results say that a person is needed."""

    kind: str
    pattern: re.Pattern[str]


def _said(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


NEEDS = (
    Need("password", _said(r"sudo: (?:a password is required|a terminal is required|no tty present)|password for \w+:|enter passphrase|authentication is required")),
    Need("signature", _said(r"gpg failed to sign|signing failed|failed to write commit object|1Password: |error: Load key .{1,300}? incorrect passphrase|agent refused operation")),
    Need("log-in", _said(r"could not read (?:Username|Password) for|please (?:run|use)[^\n]{0,30}\b(?:login|auth login)\b|gh auth login|not logged in|az login|docker login|aws sso login|authentication (?:required|failed)|permission denied \(publickey|Host key verification failed|device code|open (?:this|the following) (?:url|link|page) in|terminal prompts disabled")),
    Need("answer", _said(r"\[y/n\]|\(y/n\)|\(yes/no(?:/\[fingerprint\])?\)|press (?:any key|enter|return) to continue|are you sure you want to|waiting for (?:user|your) (?:input|approval|confirmation)|not a tty|input device is not a TTY|requires? interactive|Inquirer|waiting for approval")),
)  # fmt: skip
"""Signs of each kind of need in a failed result, or at the end of one that came back after a time-out."""

_QUESTION_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})
_QUESTION = re.compile(r"\?[\s)*_`\"']*$")


class BlockedOnHuman:
    """Raises `blocked_on_human`; the key is what is needed."""

    name = "blocked_on_human"
    watches = frozenset({AgentSpoke, ResourcesSampled, ToolCalled, ToolReturned, TurnEnded, UserSpoke})

    def __init__(self, settings: BlockedOnHumanSettings | None = None) -> None:
        self._settings = settings or BlockedOnHumanSettings()
        self._threshold = self._settings.number(self._settings.threshold)
        self._streaks = Streaks(8)
        self._asked: dict[str, list[int]] = {}
        self._call: ToolCalled | None = None
        self._idle_since: tuple[float, float] | None = None
        self._alone = False
        self._last_words = (0, "")

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Look for a need in what came back, and for a silence where something should have."""
        match observation:
            case ToolReturned():
                return self._returned(observation)
            case ToolCalled():
                self._call = observation if observation.review.decision is not Decision.BLOCK else None
                self._idle_since = None
            case ResourcesSampled() if self._call is not None:
                return self._wait(self._call, observation)
            case AgentSpoke(subagent=""):
                self._last_words = (observation.seq, observation.text)
            case TurnEnded(failed=False):
                return self._ended(observation)
            case UserSpoke():
                return self._spoken(observation)
            case _:
                pass
        return ()

    def _returned(self, step: ToolReturned) -> Sequence[Issue]:
        over = self._streaks.close("silence") if self._call and self._call.id == step.id else ()
        if over or (self._call and self._call.id == step.id):
            self._call = None
        kind = _need(step)
        if not kind:
            return (*over, *self._succeeded(step)) if self._asked and not step.failed else over
        seqs = self._asked.setdefault(kind, [])
        seqs.append(step.seq)
        del seqs[:-MAX_EVIDENCE]
        level = level_of(len(seqs), self._threshold)
        if not level:
            return over
        sentence = f"{step.tool} needs a person ({kind}), {counted(len(seqs), 'time')} now, and nobody was asked: {_line(step.text, kind)}."
        return (*over, *self._raise(kind, level, sentence, tuple(seqs)))

    def _succeeded(self, step: ToolReturned) -> Sequence[Issue]:
        """A program that asked before and now runs has been served: what it asked for is over."""
        command = str(step.input.get("command") or "")
        over = [kind for kind in self._asked if _SERVED[kind].search(command)]
        for kind in over:
            del self._asked[kind]
        return tuple(issue for kind in over for issue in self._streaks.close(kind))

    def _wait(self, call: ToolCalled, sample: ResourcesSampled) -> Sequence[Issue]:
        if self._idle_since is None:
            self._idle_since = (sample.mono, sample.cpu_seconds)
            return ()
        since, cpu = self._idle_since
        waited = sample.mono - since
        if sample.cpu_seconds - cpu > max(1.0, waited * self._settings.idle_cpu_share):
            self._idle_since = (sample.mono, sample.cpu_seconds)
            return ()
        level = level_of(waited, self._settings.silent_seconds * self._settings.factor)
        if not level or call.tool in {"Task", "Agent"} or "sleep" in str(call.input.get("command")):
            return ()
        what = str(call.input.get("command") or call.tool)[:120]
        sentence = f"{what} has neither returned nor used the processor for {waited:.0f} s; it may wait for a person."
        return self._raise("silence", level, sentence, (call.seq, sample.seq))

    def _ended(self, end: TurnEnded) -> Sequence[Issue]:
        seq, text = self._last_words
        if not self._settings.questions or not self._alone or not _QUESTION.search(text[-400:]):
            return ()
        sentence = f"The turn ended with a question, and nobody has spoken since the task: {text.strip()[-160:]!r}."
        return self._raise("question", 1, sentence, (seq, end.seq), severity=self._settings.graded(Severity.LOW))

    def _spoken(self, spoken: UserSpoke) -> Sequence[Issue]:
        self._last_words = (0, "")
        if spoken.by == "chaperon":
            return ()
        self._alone = spoken.by == "task"
        self._asked.clear()
        return self._streaks.close_all()

    def _raise(
        self, kind: str, level: int, sentence: str, evidence: tuple[int, ...], severity: Severity | None = None
    ) -> Sequence[Issue]:
        issue = Issue(
            type=self.name,
            severity=severity or self._settings.severity_at(level),
            confidence=self._settings.confidence_at(level),
            impact_factor=self._settings.impact_factor,
            began=evidence[0],
            sentence=sentence,
            evidence=evidence,
            details={"kind": kind, "count": len(evidence)},
            key=kind,
        )
        return self._streaks.seen(issue, level)


_SERVED = {
    "password": re.compile(r"\bsudo\b|\bssh\b|\bsu\b"),
    "signature": re.compile(up_to_next(r"\bgit\b", ".", 2_000) + r"\b(?:commit|tag|rebase|merge)\b"),
    "log-in": re.compile(r"\b(?:git (?:push|pull|fetch|clone)|gh|docker|az|aws|npm|ssh)\b"),
    "answer": re.compile(r""),
}


def _need(step: ToolReturned) -> str:
    """Return the kind of need that the result shows; empty for none. A successful result shows none."""
    if step.tool in _QUESTION_TOOLS and step.failed and not step.refused:
        return "answer"
    if not step.failed or step.refused or step.collateral or step.tool != "Bash":
        return ""
    text = step.text if len(step.text) < 4_000 else f"{step.text[:2_000]}\n{step.text[-2_000:]}"
    return next((need.kind for need in NEEDS if need.pattern.search(text)), "")


def _line(text: str, kind: str) -> str:
    """The line that asks."""
    for need in NEEDS:
        if need.kind == kind:
            return next(
                (line.strip()[:160] for line in text.splitlines() if need.pattern.search(line)), text.strip()[:160]
            )
    return text.strip()[:160]
