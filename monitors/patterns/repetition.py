"""The same steps again, with the same results: alone, in a cycle, in any order, or with small changes.

A step is its call and its result: asking again and getting another answer is no loop, and so waiting, paging and edit
and test cycles are none. Four shapes are seen:

identical       one step, so many times in a row
cycle           two to six steps, so many times in a row
stale           almost all of the last steps were done before with the same result, in whatever order
near_duplicate  calls that differ in a word or two and show nothing that the ones before did not show
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from annotated_types import Ge, Le

from monitors.contract.actions import CHANGING_TOOLS
from monitors.contract.bounds import Count, Key
from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, ToolReturned, UserSpoke
from monitors.sensitivity import PatternSettings, level_of
from monitors.signals.lru import Recent
from monitors.signals.normalise import VOLATILE_FIELDS
from monitors.signals.shared import Fingerprint, SharedSignals
from monitors.streaks import MAX_EVIDENCE, Streaks


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionSettings(PatternSettings):
    """The same calls with the same results: alone, in cycles, in any order, or nearly the same."""

    # None of 317 real sessions has such a one where its results are equal too, except those in trouble.
    threshold: Count = 3
    """How many times in a row a call or a cycle makes an issue."""
    longest_cycle: Annotated[int, Key(), Ge(1), Le(20)] = 6
    """Calls in the longest cycle that is looked for."""
    near_duplicates: Count = 6
    """Calls that differ little and show nothing new that make an issue."""
    polling_factor: Count = 6
    """How many times as often a call that waits for something may repeat."""
    failed_factor: int = 2
    """How many times as often one call that fails may repeat: the same error is the business of `repetitive_errors`."""
    stale_window: int = 16
    """Steps in the window of the stale rule."""
    stale_new: int = 1
    """Steps of the window that may be new although it counts as stale."""
    similarity: float = 0.7
    """Share of words that two calls must have in common to differ little, from 0 to 1."""
    new_lines: float = 0.2
    """Share of a result's lines that must be new for a similar call to have shown something."""


MAX_STEPS = 512
"""Different steps remembered for the stale rule."""

MAX_LINES = 512
"""Lines of results remembered for near-duplicates."""

ACKNOWLEDGING_TOOLS = CHANGING_TOOLS | frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "Task", "Agent", "Skill"})
"""Tools whose result is always the same few words. Of 29 alarms of a rule that looked at results alone, 28 were
these."""

_WORD = re.compile(r"[\w.-]+")
_QUIET_AGAIN_AFTER = 3


class _Found(NamedTuple):
    """A shape of repetition, and how far it has gone."""

    kind: str
    level: int
    times: int
    began: int
    period: int
    sentence: str


class Repetition:
    """Raises `repetition`; `details["kind"]` is the shape."""

    name = "repetition"
    watches = frozenset({ToolReturned, UserSpoke})

    def __init__(self, settings: RepetitionSettings | None = None, facts: SharedSignals | None = None) -> None:
        self._settings = settings or RepetitionSettings()
        self._facts = facts or SharedSignals()
        self._streaks = Streaks(1)
        self._cycles = _Cycles(self._settings)
        self._stale = _Stale(self._settings)
        self._near = _NearDuplicates(self._settings)
        self._recent: deque[int] = deque(maxlen=MAX_EVIDENCE)
        self._quiet = 0

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Compare the step with those before it."""
        if isinstance(observation, UserSpoke) and observation.by != "chaperon":
            self._stale.clear()
            return ()
        if not isinstance(observation, ToolReturned) or observation.collateral:
            return ()
        step = self._facts.of(observation)
        waits = self._facts.waits(observation)
        self._recent.append(observation.seq)
        found = (
            self._cycles.see(step, observation.seq, self._patience(observation, waits=waits))
            or self._stale.see(step, observation.seq, waits)
            or self._near.see(observation, waits)
        )
        if found is None:
            return self._rest()
        self._quiet = 0
        if not self._streaks.worse(found.level):
            return ()
        return self._streaks.seen(self._issue(found, observation), found.level)

    def _patience(self, step: ToolReturned, *, waits: bool) -> int:
        if waits:
            return self._settings.polling_factor
        return self._settings.failed_factor if step.failed else 1

    def _rest(self) -> Sequence[Issue]:
        self._quiet += 1
        return self._streaks.close() if self._quiet >= _QUIET_AGAIN_AFTER else ()

    def _issue(self, found: _Found, step: ToolReturned) -> Issue:
        return Issue(
            type=self.name,
            severity=self._settings.severity_at(found.level),
            confidence=self._settings.confidence_at(found.level),
            impact_factor=self._settings.impact_factor,
            began=found.began,
            sentence=f"{found.sentence} The latest is {step.tool}: {_shown(step.input)}.",
            evidence=tuple(seq for seq in self._recent if seq >= found.began),
            details={
                "kind": found.kind,
                "count": found.times,
                "period": found.period,
                "tool": step.tool,
                "call": _shown(step.input),
            },
        )


class _Cycles:
    """For each period, how long the run of steps is that equal the one so many steps before."""

    def __init__(self, settings: RepetitionSettings) -> None:
        self._threshold = settings.number(settings.threshold)
        self._steps: deque[tuple[Fingerprint, int, int]] = deque(maxlen=settings.longest_cycle)
        self._runs = [0] * (settings.longest_cycle + 1)
        self._began = [0] * (settings.longest_cycle + 1)

    def see(self, step: Fingerprint, seq: int, patience: int) -> _Found | None:
        found = None
        for period, (before, began, _) in enumerate(reversed(self._steps), 1):
            if before != step:
                self._runs[period] = 0
                continue
            if self._runs[period] == 0:
                self._began[period] = began
            self._runs[period] += 1
            found = found or self._full(period, patience)
        self._steps.append((step, seq, patience))
        return found

    def _full(self, period: int, patience: int) -> _Found | None:
        times = self._runs[period] // period + 1
        if times < self._threshold:
            return None
        patience = max(patience, *(step[2] for step in list(self._steps)[-period:]))
        level = level_of(times, self._threshold * patience)
        if not level:
            return None
        what = "One call" if period == 1 else f"A cycle of {period} calls"
        kind = "identical" if period == 1 else "cycle"
        return _Found(
            kind,
            level,
            times,
            self._began[period],
            period,
            f"{what} was made {times} times in a row with the same result.",
        )


class _Stale:
    """How many of the last steps were done before with the same result."""

    def __init__(self, settings: RepetitionSettings) -> None:
        self._window = settings.number(settings.stale_window)
        self._new = settings.stale_new
        self._known: Recent[Fingerprint] = Recent(MAX_STEPS)
        self._latest: deque[tuple[bool, int]] = deque()
        self._new_ones = 0
        self._steps = 0

    def clear(self) -> None:
        self._latest.clear()
        self._new_ones = self._steps = 0

    def see(self, step: Fingerprint, seq: int, waits: bool) -> _Found | None:
        if waits:
            return None
        is_new = self._known.add(step)
        self._latest.append((is_new, seq))
        self._new_ones += is_new
        if len(self._latest) > self._window:
            self._new_ones -= self._latest.popleft()[0]
        if len(self._latest) < self._window or self._new_ones > self._new:
            self._steps = 0
            return None
        self._steps += 1
        steps = self._window + self._steps - 1
        sentence = f"Of the last {steps} calls hardly any was new: all were made before with the same result."
        return _Found("stale", level_of(steps, self._window), steps, self._latest[0][1], 0, sentence)


class _NearDuplicates:
    """A chain of calls of one tool that differ little, and the lines that their results have shown."""

    def __init__(self, settings: RepetitionSettings) -> None:
        self._threshold = settings.number(settings.near_duplicates)
        self._similarity = settings.similarity
        self._new_lines = settings.new_lines
        self._tool = ""
        self._shown = ""
        self._lines: Recent[int] = Recent(MAX_LINES)
        self._first: str | None = None
        self._times = 0
        self._began = 0

    def see(self, step: ToolReturned, waits: bool) -> _Found | None:
        if step.tool in ACKNOWLEDGING_TOOLS:
            self._tool = ""
            return None
        if waits:
            return None
        shown = _shown(step.input, 300)
        similar = step.tool == self._tool and "REDACTED" not in shown and _alike(shown, self._shown) >= self._similarity
        shows_new = self._shows_new(step.text, similar)
        self._tool, self._shown = step.tool, shown
        if not similar or shows_new:
            self._times, self._began = 1, step.seq
            return None
        self._times += 1
        level = level_of(self._times, self._threshold)
        sentence = f"{self._times} calls in a row differed in little and showed nothing new."
        return _Found("near_duplicate", level, self._times, self._began, 0, sentence) if level else None

    def _shows_new(self, text: str, similar: bool) -> bool:
        if not similar:
            self._lines.clear()
            self._first = text
            return True
        if self._first is not None:
            self._remember(self._first)
            self._first = None
        new, lines = self._remember(text)
        return new > self._new_lines * lines

    def _remember(self, text: str) -> tuple[int, int]:
        """Return how many of the text's first lines are new, and how many there are."""
        lines = text[:4000].splitlines()[:40]
        return sum(self._lines.add(hash(line)) for line in lines), len(lines)


def _alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, 1 where neither has any."""
    words, others = set(_WORD.findall(one)), set(_WORD.findall(other))
    together = len(words | others)
    return len(words & others) / together if together else 1.0


def _shown(call: Mapping[str, Any], most: int = 120) -> str:
    """A call as a person would name it: its values, shortened."""
    return " ".join(str(value)[:most] for field, value in call.items() if field not in VOLATILE_FIELDS)[:most]
