"""Step by step: one rung up after an intervention that failed, one down after one that helped.

The first answer is the ladder's first rung. It is the second if the issue alone scores 0.7 or more, since a rollback
would be in proportion and words alone may be too few. A critical issue of 0.9 or more goes to the last rung at once.

If the issue is seen again: after a success one rung down; otherwise one up, if the last answer is older than the
escalation delay or the issue was seen twice since answers of that kind began; else the same kind once more, in other
words.
"""

from collections.abc import Sequence

from interventions.choice.strategies import tiers
from interventions.contract import LadderPosition, Past, Tried
from interventions.decisions import InterventionOutcome
from interventions.ladders import ladder_of
from interventions.settings import StrategySettings
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.wording import duration
from monitors.contract.words import Severity

SKIPS_FIRST = 0.7
"""Base score from which the first rung is skipped: the band of a rollback."""

ENDS_AT_ONCE = 0.9
"""Base score from which a critical issue goes to the last rung: the band of an emergency stop."""

SEEN_TWICE = 2
"""Sightings after which the same kind is not used again."""


class Progressive:
    """The default strategy."""

    name = "progressive"

    def __init__(self, settings: StrategySettings) -> None:
        self._settings = settings

    def ladder(self, issue: Issue) -> Sequence[InterventionKind]:
        """The pattern's ladder, with the stop behind it."""
        return ladder_of(issue.type)

    def position(self, ladder: Sequence[InterventionKind], past: Past) -> LadderPosition:
        """The rung to act on."""
        if past.issue.severity is Severity.CRITICAL and past.base >= ENDS_AT_ONCE:
            return LadderPosition(len(ladder) - 1, "a critical issue ends the run at once")
        if past.issue.type == tiers.TYPE:
            return tiers.position(ladder, past)
        if not past.tried:
            return self._first(ladder, past)
        return self._next(ladder, past, past.tried[-1])

    def _first(self, ladder: Sequence[InterventionKind], past: Past) -> LadderPosition:
        index, why = 0, "the mildest answer comes first"
        if past.base >= SKIPS_FIRST and len(ladder) > 1:
            index, why = 1, "the issue is too grave for the mildest answer"
        threshold = self._settings.effectiveness_threshold
        while index < len(ladder) - 1 and past.record.ineffective(ladder[index], past.issue.type, threshold):
            why = f"{ladder[index]} has helped too seldom here"
            index += 1
        return LadderPosition(index, why)

    def _next(self, ladder: Sequence[InterventionKind], past: Past, last: Tried) -> LadderPosition:
        here = rung_of(last.kind, ladder)
        if last.outcome is InterventionOutcome.SUCCESS:
            return LadderPosition(max(0, here - 1), f"{last.kind} helped the last time, so a milder answer comes now")
        waited = past.mono - last.mono
        if waited >= self._settings.escalation_delay_seconds:
            return LadderPosition(here + 1, f"{last.kind} was in vain: the issue is there {duration(waited)} later")
        if last.sightings >= SEEN_TWICE:
            return LadderPosition(here + 1, f"the issue was seen {last.sightings} times since {last.kind}")
        if last.kind not in ladder:
            return LadderPosition(here, f"{last.kind} was in vain and is no longer open to it")
        return LadderPosition(here, f"{last.kind} came only {duration(waited)} ago and gets another try")


def rung_of(kind: InterventionKind, ladder: Sequence[InterventionKind]) -> int:
    """Return the index of a kind on the ladder; for a kind that is not on it, the first rung above."""
    return next((index for index, rung in enumerate(ladder) if rung.rank >= kind.rank), len(ladder))
