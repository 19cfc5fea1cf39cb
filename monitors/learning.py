"""What people say of issues, made into thresholds: slowly, within bounds, visibly, and reversibly. Off by default.

Each pattern has one factor that multiplies its thresholds. Outcomes are counted; when enough of them speak one way,
the factor takes one small step, and the caller journals the `Adjustment` that says which, from what to what, and why.
Undoing is another adjustment. Nothing here is done by itself: the state is a value, and a new state is returned.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum


class Outcome(StrEnum):
    """What became of an issue."""

    CONFIRMED = "confirmed"
    """It was trouble indeed."""
    FALSE_ALARM = "false_alarm"
    """The run was healthy."""
    MISSED = "missed"
    """There was trouble, and the pattern did not see it or saw it late."""


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """How thresholds follow outcomes."""

    enabled: bool = False
    least_outcomes: int = 5
    """Outcomes of a pattern since its last adjustment before it may be adjusted."""
    accuracy: float = 0.7
    """Share of alarms that must be confirmed; below it the thresholds rise."""
    step: float = 0.1
    """How far one adjustment goes: the factor is multiplied with, or divided by, 1 plus this."""
    lowest: float = 0.67
    highest: float = 2.0
    """Bounds of the factor. The lower one is that of high sensitivity; twice the thresholds is as quiet as low sensitivity and a third more."""


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One change of one pattern's factor; worth an event."""

    pattern: str
    before: float
    after: float
    because: str


@dataclass(frozen=True, slots=True)
class Tally:
    """What was learned of one pattern."""

    factor: float = 1.0
    confirmed: int = 0
    false_alarms: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned of all patterns; a value, kept by the caller."""

    patterns: Mapping[str, Tally] = field(default_factory=dict)

    def factor(self, pattern: str) -> float:
        """What the pattern's thresholds are multiplied with."""
        return self.patterns.get(pattern, Tally()).factor


def take_in(
    learned: Learned, pattern: str, outcome: Outcome, settings: LearningSettings
) -> tuple[Learned, Adjustment | None]:
    """Count an outcome and return the new state, with the adjustment where one was due; nothing changes while off."""
    if not settings.enabled:
        return learned, None
    tally = _counted(learned.patterns.get(pattern, Tally()), outcome)
    after, because = _due(tally, settings)
    if after == tally.factor:
        return _with(learned, pattern, tally), None
    return _with(learned, pattern, Tally(after)), Adjustment(pattern, tally.factor, after, because)


def undo(learned: Learned, adjustment: Adjustment) -> tuple[Learned, Adjustment]:
    """Put a pattern's factor back to what it was before an adjustment."""
    now = learned.factor(adjustment.pattern)
    back = Adjustment(adjustment.pattern, now, adjustment.before, f"undone: {adjustment.because}")
    return _with(learned, adjustment.pattern, Tally(adjustment.before)), back


def outcome_of_what_followed(
    *, closed: bool, progressed: bool, steps_until_progress: int, interventions: int
) -> Outcome | None:
    """Infer an outcome from what came after an issue, or None where it says nothing.

    Progress within three steps with nobody intervening means that the run was well; an issue that stayed open without
    progress was trouble. All else may be either, and is not counted.
    """
    if progressed and not interventions and steps_until_progress <= 3:
        return Outcome.FALSE_ALARM
    if not closed and not progressed:
        return Outcome.CONFIRMED
    return None


def _counted(tally: Tally, outcome: Outcome) -> Tally:
    match outcome:
        case Outcome.CONFIRMED:
            return replace(tally, confirmed=tally.confirmed + 1)
        case Outcome.FALSE_ALARM:
            return replace(tally, false_alarms=tally.false_alarms + 1)
        case Outcome.MISSED:
            return replace(tally, missed=tally.missed + 1)


def _due(tally: Tally, settings: LearningSettings) -> tuple[float, str]:
    """The factor that the outcomes ask for, and why; the same factor where they ask for none."""
    alarms, total = tally.confirmed + tally.false_alarms, tally.confirmed + tally.false_alarms + tally.missed
    if total < settings.least_outcomes:
        return tally.factor, ""
    if alarms and tally.confirmed / alarms < settings.accuracy and tally.false_alarms > tally.missed:
        raised = round(min(settings.highest, tally.factor * (1 + settings.step)), 4)
        return raised, f"{tally.false_alarms} of {alarms} alarms were false"
    if tally.missed > tally.false_alarms:
        lowered = round(max(settings.lowest, tally.factor / (1 + settings.step)), 4)
        return lowered, f"{tally.missed} of {total} were missed"
    return tally.factor, ""


def _with(learned: Learned, pattern: str, tally: Tally) -> Learned:
    return Learned({**learned.patterns, pattern: tally})
