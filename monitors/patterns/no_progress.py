"""A run that gets nowhere, in three tiers that count from its last progress and its last intervention.

Two ways to be stuck:
- measured: tests were run, they fail, and at least two attempts since the last progress were no better. An attempt is
  a test run after something other than tests was changed, and the last one must be fresh: writing a failing test first,
  the run in which something is seen to be broken, and reading on after a failure, are no attempts;
- unmeasured: nothing new was read, tried or written for as long, all was done before; or one file was changed over and
  over without any test.

A check of the work that chaperon runs itself in quiet moments is such a test run, and no step.

Without either, reading and planning are not held against a run. The stuck counter is the number of steps since the
last progress. Tier 1 comes when it reaches the tolerance, not before the minimum of steps; tiers 2 and 3 come when
the escalation wait has passed since the last intervention and nothing was gained. Each comes at the very step.
An intervention is assumed with each tier; another one (chaperon spoke) moves the wait, once for each tier. Tier 3 asks
for a fresh attempt, and everything is counted anew from there. A run that is stuck for long is named an approach that
it was not named before: with a tier, and between tiers that are further apart than two suggestions.
"""

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from monitors.contract.actions import CHANGING_TOOLS
from monitors.contract.bounds import Count, Elsewhere, Key, is_expression
from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, ToolReturned, UserSpoke, WorkChecked
from monitors.contract.words import Severity
from monitors.sensitivity import PatternSettings
from monitors.signals.approaches import Approach, Stuck, another
from monitors.signals.progress import Progress, Reading
from monitors.signals.shared import SharedSignals
from monitors.streaks import MAX_EVIDENCE, Streaks


def names_counts(value: str) -> str:
    """Return a valid pattern of test output as it is.

    Raises ValueError if it is no expression, or has no group for the number of passed tests.
    """
    if not {"passed", "total"}.intersection(re.compile(is_expression(value)).groupindex):
        raise ValueError("it names no group `passed` or `total`, such as (?P<passed>\\d+)")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSettings:
    """When a run counts as stuck: by what the agent does, not by how many steps it took."""

    consecutive_stuck_tolerance: Count = 8
    """Steps since the last progress that are tolerated; 6 is more eager, 10 more patient."""
    min_steps_before_intervention: Count = 10
    """Steps of the run before any intervention: an agent reads before it writes."""
    progress_check_interval: Count = 5
    """Steps within which a test run is fresh: an older one is not held against a run, and a first look at failing tests
    after more steps is no failed attempt."""
    tier_escalation_wait: Count = 10
    """Steps between an intervention and the next stronger one; 8 is more eager, 15 more patient."""
    edits_without_test: Count = 40
    """Changes of one file, without a test run or a commit between them, after which a run counts as stuck."""
    strategy_reeval_frequency: Count = 15
    """Steps without progress after which an approach is named that was not tried, and between two such suggestions."""
    test_patterns: Annotated[tuple[Annotated[str, Key(check=names_counts)], ...], Key()] = ()
    """Regular expressions for test output of your own, tried first, with groups `passed` and `failed`, or `total` and
    `failed`. Example: `(?P<passed>\\d+) ok, (?P<failed>\\d+) broken`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoProgressSettings(PatternSettings):
    """No test, commit or new file, and nothing new tried. Its figures are the section `progress`."""

    progress: Annotated[ProgressSettings, Elsewhere("progress")] = field(default_factory=ProgressSettings)
    """When a run counts as stuck, and how long each tier waits for the one before."""
    severity: Annotated[Severity, Key()] = Severity.LOW
    """Severity of the first tier; the second and third are one and two above it, up to high."""
    flat_runs: int = 2
    """Attempts without improvement after which a failing run is stuck; one more for each tier after."""


@dataclass(frozen=True, slots=True)
class Tier:
    """How strongly a run without progress is answered."""

    number: int
    severity: Severity
    confidence: float
    impact_factor: float


MAX_FILES = 200
"""Most files whose changes are counted between two test runs."""

TIERS = (
    Tier(1, Severity.LOW, 0.8, 0.2),
    Tier(2, Severity.MEDIUM, 0.8, 0.1),
    Tier(3, Severity.HIGH, 0.9, 0.1),
)
"""A word that the last steps changed nothing; a strong warning, with the task said again; a fresh attempt from a good
checkpoint, with what was learned. The figures make the severity formula choose in that proportion."""

HOW = {
    Stuck.IN_VAIN: "{attempts} attempts were no better by the tests",
    Stuck.UNTESTED: "one file was changed over and over, and nothing was tested",
    Stuck.NOTHING_NEW: "nothing new was read, tried or written",
}
"""How the run is stuck, for people and for the agent."""


class NoProgress:
    """Raises `no_progress`; `details["tier"]` says how strong an answer is due."""

    name = "no_progress"
    watches = frozenset({ToolReturned, UserSpoke, WorkChecked})

    def __init__(self, settings: NoProgressSettings | None = None, facts: SharedSignals | None = None) -> None:
        self._settings = settings or NoProgressSettings()
        self._tolerance = self._settings.number(self._settings.progress.consecutive_stuck_tolerance)
        self._progress = Progress(facts or SharedSignals(patterns_of(self._settings)))
        self._streaks = Streaks(1)
        self._step = 0
        self._raised = 0
        self._last_what = "none yet"
        self._start_attempt(0)

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Count a step, or take in what was said to the agent."""
        match observation:
            case ToolReturned(collateral=False):
                return self._count(observation)
            case WorkChecked() if observation.passed or not observation.beside:
                return self._take_in(self._progress.check(observation), observation.seq)
            case UserSpoke(by="chaperon"):
                self._told_of_intervention()
            case UserSpoke():
                return self._new_direction()
            case _:
                pass
        return ()

    def _start_attempt(self, seq: int) -> None:
        self._began_at_step = self._last_strong = self._last_new = self._step
        self._tier = 0
        self._intervened_at = self._step
        self._may_wait_again = True
        self._flat = self._flat_at_tier = 0
        self._flat_step = self._step
        self._changed = False
        self._failing = self._green = self._measured = False
        self._began_seq = seq
        self._suggested_at = self._step
        self._named: set[str] = set()
        self._evidence: deque[int] = deque(maxlen=MAX_EVIDENCE)
        self._edits: Counter[str] = Counter()

    def _count(self, step: ToolReturned) -> Sequence[Issue]:
        reading = self._progress.read(step)
        if reading.waits and not reading.new and reading.run is None:
            return ()
        if not self._began_seq:
            self._began_seq = step.seq
        self._step += 1
        if step.tool in CHANGING_TOOLS and not step.failed and len(self._edits) < MAX_FILES:
            self._edits[str(step.input.get("file_path", step.input.get("notebook_path", "")))] += 1
        closed = self._take_in(reading, step.seq)
        return closed or self._decide(step.seq)

    def _take_in(self, reading: Reading, seq: int) -> Sequence[Issue]:
        if reading.new:
            self._last_new = self._step
        self._changed |= reading.changed
        if reading.run is not None:
            self._take_in_run(reading, seq)
        elif not reading.new:
            self._evidence.append(seq)
        if not reading.strong:
            return ()
        self._last_what = reading.strong
        return self._progressed(seq)

    def _take_in_run(self, reading: Reading, seq: int) -> None:
        run = reading.run
        assert run is not None
        self._edits.clear()
        attempt_step = self._step - self._began_at_step
        broke_what_was_good = self._green and run.failed > 0
        late_first_look = not self._measured and attempt_step > self._settings.progress.progress_check_interval
        first_look = broke_what_was_good or late_first_look
        if first_look:
            self._last_strong, self._flat, self._flat_at_tier, self._began_seq = self._step, 0, 0, seq
        self._measured = True
        self._failing, self._green = run.failed > 0 or run.passed == 0, run.green
        if self._failing and not reading.strong and self._changed and not first_look:
            self._flat += 1
            self._flat_step = self._step
            self._evidence.append(seq)
        self._changed = False

    def _progressed(self, seq: int) -> Sequence[Issue]:
        self._last_strong = self._last_new = self._step
        self._flat, self._flat_at_tier, self._tier, self._began_seq = 0, 0, 0, seq
        self._may_wait_again = True
        self._named.clear()
        self._evidence.clear()
        self._edits.clear()
        return self._streaks.close()

    def _told_of_intervention(self) -> None:
        if self._tier and self._may_wait_again:
            self._intervened_at, self._may_wait_again = self._step, self._step == self._intervened_at

    def _new_direction(self) -> Sequence[Issue]:
        """A person spoke: what counts as progress may be something else now."""
        self._start_attempt(0)
        return self._streaks.close()

    def _stuck_for(self) -> int:
        """Steps since the last progress, or 0 if the run is not stuck."""
        unmeasured = self._step - max(self._last_new, self._last_strong)
        in_vain = self._attempts_in_vain() or self._untested()
        return max(unmeasured, self._step - self._last_strong if in_vain else 0)

    def _untested(self) -> bool:
        """Whether one file was changed over and over, and nothing ever tried out."""
        return max(self._edits.values(), default=0) >= self._settings.progress.edits_without_test

    def _attempts_in_vain(self) -> bool:
        enough = self._settings.flat_runs if self._tier == 0 else self._flat_at_tier + 1
        fresh = self._step - self._flat_step < self._settings.progress.progress_check_interval
        return self._failing and self._flat >= enough and fresh

    def _tolerance_now(self) -> int:
        """Return the tolerance.

        A run whose tests pass may well look at its work again: it waits as long as all tiers together.
        """
        return self._tolerance + (2 * self._settings.progress.tier_escalation_wait if self._green else 0)

    def _decide(self, seq: int) -> Sequence[Issue]:
        attempt_step = self._step - self._began_at_step
        settings = self._settings
        if attempt_step < settings.progress.min_steps_before_intervention:
            return ()
        stuck = self._stuck_for()
        if self._tier == 0:
            due = stuck >= self._tolerance_now()
        else:
            due = stuck >= 2 and self._step - self._intervened_at >= settings.progress.tier_escalation_wait
        if due:
            return self._raise(TIERS[self._tier], stuck, seq)
        return self._suggest(stuck) if self._tier else ()

    def _raise(self, tier: Tier, stuck: int, seq: int) -> Sequence[Issue]:
        restarted = self._streaks.close() if tier.number == 1 else ()
        self._raised = 1 if tier.number == 1 else self._raised + 1
        found = self._streaks.seen(self._issue(tier, stuck), self._raised)
        self._tier, self._intervened_at, self._may_wait_again = tier.number, self._step, True
        self._flat_at_tier = self._flat
        if tier.number == len(TIERS):
            self._start_attempt(seq)
        return (*restarted, *found)

    def _suggest(self, stuck: int) -> Sequence[Issue]:
        """Name another approach between two tiers; the next tier comes when it would have come."""
        often = self._settings.progress.strategy_reeval_frequency
        if stuck < often or self._step - max(self._intervened_at, self._suggested_at) < often:
            return ()
        self._may_wait_again = False
        self._raised += 1
        return self._streaks.seen(self._issue(TIERS[self._tier - 1], stuck), self._raised)

    def _how(self) -> Stuck:
        if self._failing and self._flat:
            return Stuck.IN_VAIN
        return Stuck.UNTESTED if self._untested() else Stuck.NOTHING_NEW

    def _approach(self, stuck: int) -> Approach | None:
        """The approach to name now, None while the present one may still serve."""
        if stuck < self._settings.progress.strategy_reeval_frequency:
            return None
        approach = another(self._how(), self._named)
        self._named.add(approach.name)
        self._suggested_at = self._step
        return approach

    def _issue(self, tier: Tier, stuck: int) -> Issue:
        approach = self._approach(stuck)
        how = HOW[self._how()].format(attempts=self._flat)
        advice = f" Try another approach, {approach.name.replace('_', ' ')}: {approach.advice}" if approach else ""
        return Issue(
            type=self.name,
            severity=self._settings.graded(tier.severity, Severity.LOW),
            confidence=tier.confidence,
            impact_factor=tier.impact_factor,
            began=self._began_seq,
            sentence=f"No progress for {stuck} steps: {how}.{advice}",
            evidence=tuple(self._evidence),
            details={
                "tier": tier.number,
                "stuck_counter": stuck,
                "step": self._step,
                "last_progress": self._last_what,
                "strategy_change": approach is not None,
                "approach": approach.name if approach else "",
                "fresh_attempt": tier.number == len(TIERS),
            },
        )


def patterns_of(settings: NoProgressSettings) -> tuple[re.Pattern[str], ...]:
    """The configured test patterns, compiled; raises `re.error` for one that is no regular expression."""
    return tuple(re.compile(pattern) for pattern in settings.progress.test_patterns)
