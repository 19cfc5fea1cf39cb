"""The model repeats itself in words.

Within one text: its end is the same few characters over and over (one real session wrote a word 14,645 times). Over
several texts: it says the same again, with no tool call and no word to it between.
"""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from monitors.contract.bounds import Count
from monitors.contract.issues import Issue
from monitors.contract.observations import AgentSpoke, Observation, ToolCalled, ToolReturned, UserSpoke
from monitors.sensitivity import PatternSettings, level_of
from monitors.streaks import MAX_EVIDENCE, Streaks


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLoopSettings(PatternSettings):
    """The model repeats itself in words."""

    threshold: Count = 3
    """Texts that say the same, with no tool call between, that make an issue."""
    repeats: Count = 10
    """How often one text must end on the same passage."""
    shortest_run: int = 400
    """Characters that the repeated passages must fill together: a row of dashes or a table's rule is shorter."""
    similarity: float = 0.8
    """Share of words that two texts have in common to say the same."""


_TAIL = 8_192
_PROBE = 24
_WORD = re.compile(r"\w+")
_RULE = re.compile(r"^[\W_]*$")


class TextLoop:
    """Raises `text_loop`."""

    name = "text_loop"
    watches = frozenset({AgentSpoke, ToolCalled, ToolReturned, UserSpoke})

    def __init__(self, settings: TextLoopSettings | None = None) -> None:
        self._settings = settings or TextLoopSettings()
        self._streaks = Streaks(1)
        self._before = ""
        self._times = 0
        self._seqs: deque[int] = deque(maxlen=MAX_EVIDENCE)
        self._began = 0

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Look at what the model says; a tool call, or a word of a person, ends the streak."""
        match observation:
            case AgentSpoke():
                return self._hear(observation)
            case ToolCalled() | ToolReturned():
                self._times = 0
                return self._streaks.close()
            case UserSpoke() if observation.by != "chaperon":
                self._times = 0
                return self._streaks.close()
            case _:
                return ()

    def _hear(self, spoken: AgentSpoke) -> Sequence[Issue]:
        repeats, passage = repeated_end(spoken.text, self._settings.shortest_run)
        within = level_of(repeats, self._settings.number(self._settings.repeats))
        self._count(spoken)
        over = level_of(self._times, self._settings.number(self._settings.threshold))
        if within >= over and within:
            sentence = f"The model's text ends on the same passage {repeats} times: {passage[:60]!r}."
            return self._streaks.seen(self._issue(within, sentence, repeats, (spoken.seq,)), within)
        if over:
            sentence = (
                f"The model said the same {self._times} times with no tool call between: {spoken.text.strip()[:80]!r}."
            )
            return self._streaks.seen(self._issue(over, sentence, self._times, tuple(self._seqs)), over)
        return ()

    def _count(self, spoken: AgentSpoke) -> None:
        text = spoken.text[:4000]
        if not (self._times > 0 and _alike(text, self._before) >= self._settings.similarity):
            self._times, self._began = 0, spoken.seq
            self._seqs.clear()
        self._times += 1
        self._before = text
        self._seqs.append(spoken.seq)

    def _issue(self, level: int, sentence: str, count: int, evidence: tuple[int, ...]) -> Issue:
        return Issue(
            type=self.name,
            severity=self._settings.severity_at(level),
            confidence=self._settings.confidence_at(level),
            impact_factor=self._settings.impact_factor,
            began=self._began,
            sentence=sentence,
            evidence=evidence,
            details={"count": count},
        )


def _alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, 0 if neither has any."""
    words, others = set(_WORD.findall(one.lower())), set(_WORD.findall(other.lower()))
    together = len(words | others)
    return len(words & others) / together if together else 0.0


def repeated_end(text: str, shortest_run: int) -> tuple[int, str]:
    """How many times the end of a text is the same passage, and the passage; (0, "") where its end does not repeat.

    The last characters are looked for further back: the distance is the period, and the run is as long as each
    character equals the one a period before it. Rules of tables and rows of one sign are no passage.
    """
    tail = text[-_TAIL:].rstrip()
    if len(tail) < shortest_run:
        return 0, ""
    period = len(tail) - _PROBE - tail.rfind(tail[-_PROBE:], 0, len(tail) - 1)
    if not 0 < period <= len(tail) - _PROBE:
        return 0, ""
    run = period
    while run < len(tail) and tail[-run - 1] == tail[-run - 1 + period]:
        run += 1
    passage = tail[-period:]
    if run < shortest_run or _RULE.match(passage):
        return 0, ""
    return (run * len(text) // len(tail) if run == len(tail) else run) // period, passage
