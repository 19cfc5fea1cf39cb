"""How eagerly patterns are reported, and what each pattern's settings share."""

import math
from dataclasses import dataclass
from typing import Annotated

from monitors.contract.bounds import Key, Switch
from monitors.contract.words import Sensitivity, Severity

_FACTORS = {Sensitivity.LOW: 1.5, Sensitivity.MEDIUM: 1.0, Sensitivity.HIGH: 2 / 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternSettings:
    """Settings common to all patterns."""

    enabled: Switch = True
    """Whether this is used at all."""
    sensitivity: Annotated[Sensitivity | None, Key()] = None
    """How early this one speaks up. Empty: as `patterns.sensitivity` says."""
    severity: Annotated[Severity, Key()] = Severity.MEDIUM
    """Severity of the pattern when it is first seen. Each doubling beyond the threshold raises it by one, up to
    high."""
    confidence: float = 0.7
    """0 to 1: how sure the pattern is when it is first seen; each doubling halves the doubt."""
    impact_factor: float = 0.2
    """0 to 1: how much harm the pattern does if nothing is done."""
    learned: float = 1.0
    """Factor of the thresholds from learning; between the bounds of `monitors.learning`."""

    @property
    def factor(self) -> float:
        """Return the factor of the thresholds."""
        return _FACTORS[self.sensitivity or Sensitivity.MEDIUM] * self.learned

    def number(self, threshold: int) -> int:
        """A threshold that is a number of things, scaled; at least 2, for one thing is no pattern."""
        return max(2, round(threshold * self.factor))

    def share(self, threshold: float) -> float:
        """A threshold between 0 and 1 that is reached from below, scaled and kept at or below 0.95."""
        return min(0.95, threshold * self.factor)

    def severity_at(self, level: int) -> Severity:
        """The severity at a level: 1 when first seen, one more with each doubling."""
        ceiling = max(self.severity.rank, Severity.HIGH.rank)
        return list(Severity)[min(self.severity.rank + level - 1, ceiling)]

    def graded(self, severity: Severity, usual: Severity = Severity.MEDIUM) -> Severity:
        """Move a severity of a pattern's own scale by what the user set.

        Args:
            severity: As the pattern grades it.
            usual: The severity at which the pattern begins unless it is set.

        Returns:
            As many steps higher or lower as the set one is from the usual one. Critical is never reached by moving:
            it ends the run at once, so that only who set it, or a pattern that found it, gets it.
        """
        moved = severity.rank + self.severity.rank - usual.rank
        most = max(severity.rank, self.severity.rank, Severity.HIGH.rank)
        return list(Severity)[min(max(moved, 0), most)]

    def confidence_at(self, level: int) -> float:
        """The confidence at a level."""
        return round(1 - (1 - self.confidence) * 0.5 ** (level - 1), 3)


def level_of(amount: float, threshold: float) -> int:
    """How far an amount is beyond a threshold: 0 below it, 1 at it, 2 at its double, 3 at four times as much.

    Issues are raised again only when the level rises, so a streak of n events raises about log2(n) issues.
    """
    return 0 if amount < threshold else int(math.log2(amount / threshold)) + 1
