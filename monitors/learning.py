"""Learning from outcomes: thresholds follow them slowly, within bounds, visibly, and reversibly. Off by default.

Each pattern has one factor that multiplies its thresholds. Outcomes are counted; when enough of them speak one way, an
adjustment of one small step is due, which the caller journals and then folds in. Undoing is another adjustment. Nothing
here is done by itself: the state is a value, and a new state is returned.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from annotated_types import Ge, Gt, Le

from monitors.contract.bounds import Count, Flag, Key, Share
from monitors.contract.learning import Adjustment, IssueOutcome


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """Thresholds that follow the outcomes of `chaperon outcome`: slowly, within bounds, and reversibly."""

    enabled: Flag = False
    """Whether outcomes change thresholds. The journal has them either way."""
    least_outcomes: Count = 5
    """Outcomes of a pattern since its last adjustment before it may be adjusted."""
    accuracy: Share = 0.7
    """Share of a pattern's alarms that must be confirmed; below it its thresholds rise."""
    # The factor is multiplied with, or divided by, 1 plus this.
    step: Annotated[float, Key(), Gt(0), Le(0.5)] = 0.1
    """How far one adjustment goes: a tenth of the threshold by default."""
    infer: Flag = False
    """Whether interventions count too: one that helped confirms its issue, and one after which the run went clearly
    worse makes it a false alarm."""
    # The factor of high sensitivity.
    lowest: Annotated[float, Key(), Ge(0.25), Le(1)] = 0.67
    """Lowest factor of thresholds."""
    # Twice the thresholds is as quiet as low sensitivity and a third more.
    highest: Annotated[float, Key(), Ge(1), Le(4)] = 2.0
    """Highest factor of thresholds."""


@dataclass(frozen=True, slots=True)
class OutcomeTally:
    """The learned state of one pattern."""

    factor: float = 1.0
    confirmed: int = 0
    false_alarms: int = 0
    missed: int = 0
    last: Adjustment | None = None
    """The adjustment that can be undone. Counts are those since then."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The learned state of all patterns; a value, kept by the caller."""

    patterns: Mapping[str, OutcomeTally] = field(default_factory=dict)

    def tally(self, pattern: str) -> OutcomeTally:
        """Return the learned state of one pattern."""
        return self.patterns.get(pattern, OutcomeTally())

    def factor(self, pattern: str) -> float:
        """Return the factor of the pattern's thresholds."""
        return self.tally(pattern).factor


_COUNTS = {
    IssueOutcome.CONFIRMED: "confirmed",
    IssueOutcome.FALSE_ALARM: "false_alarms",
    IssueOutcome.MISSED: "missed",
}


def counted(learned: Learned, pattern: str, outcome: IssueOutcome, instead_of: IssueOutcome | None = None) -> Learned:
    """The state with one more outcome, and without the one that it replaces, unless an adjustment has used that up."""
    tally = learned.tally(pattern)
    counts = {name: getattr(tally, name) for name in _COUNTS.values()}
    if instead_of is not None:
        counts[_COUNTS[instead_of]] = max(0, counts[_COUNTS[instead_of]] - 1)
    counts[_COUNTS[outcome]] += 1
    return _with(learned, pattern, replace(tally, **counts))


def due(learned: Learned, pattern: str, settings: LearningSettings) -> Adjustment | None:
    """The adjustment that the outcomes ask for; None if they ask for none, at a bound, and while learning is off."""
    tally = learned.tally(pattern)
    after, because = _asked_for(tally, settings) if settings.enabled else (tally.factor, "")
    return None if after == tally.factor else Adjustment(pattern, tally.factor, after, because)


def undoing(learned: Learned, pattern: str) -> Adjustment | None:
    """The adjustment that takes the last one of a pattern back; None if there is none to take back."""
    last = learned.tally(pattern).last
    return (
        None if last is None else Adjustment(pattern, last.after, last.before, f"undone: {last.because}", undoes=True)
    )


def adjusted(learned: Learned, adjustment: Adjustment) -> Learned:
    """The state after an adjustment: its factor, and counts from nothing."""
    last = None if adjustment.undoes else adjustment
    return _with(learned, adjustment.pattern, OutcomeTally(adjustment.after, last=last))


def _asked_for(tally: OutcomeTally, settings: LearningSettings) -> tuple[float, str]:
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


def _with(learned: Learned, pattern: str, tally: OutcomeTally) -> Learned:
    return Learned({**learned.patterns, pattern: tally})
