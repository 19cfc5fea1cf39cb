"""By the pattern's table alone: severity gives the rung (low first, medium second, high third, critical last).

Each answer that was in vain within the last five minutes leads one rung further. It starts higher than the progressive
strategy does; the score's ceiling still holds.
"""

from collections.abc import Sequence

from interventions.choice.strategies import tiers
from interventions.contract import LadderPosition, Past
from interventions.decisions import InterventionOutcome
from interventions.ladders import ladder_of
from interventions.settings import StrategySettings
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.words import Severity


class PatternSpecific:
    """The strategy of the table."""

    name = "pattern_specific"

    def __init__(self, settings: StrategySettings) -> None:
        self._settings = settings

    def ladder(self, issue: Issue) -> Sequence[InterventionKind]:
        """The pattern's ladder, with the stop behind it."""
        return ladder_of(issue.type)

    def position(self, ladder: Sequence[InterventionKind], past: Past) -> LadderPosition:
        """The rung that the severity names, and one more for each answer in vain."""
        if past.issue.type == tiers.TYPE:
            return tiers.position(ladder, past)
        if past.issue.severity is Severity.CRITICAL:
            return LadderPosition(len(ladder) - 1, "a critical issue ends the run at once")
        vain = sum(tried.outcome is not InterventionOutcome.SUCCESS for tried in past.tried)
        start = min(past.issue.severity.rank, len(ladder) - 1)
        why = f"an issue of {past.issue.severity} severity begins with answer {start + 1} of {len(ladder)}"
        return LadderPosition(start + vain, why + (f", and {vain} before it were in vain" if vain else ""))
