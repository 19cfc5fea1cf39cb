"""Risk: a base by what is done, and named modifiers for the circumstances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from monitors.contract.actions import Factor, ReviewContext
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding


@dataclass(frozen=True, slots=True)
class Risk:
    """A score and how it came about."""

    score: float
    factors: tuple[Factor, ...]
    worst: Finding | None
    """The finding that weighs most."""


class RiskCalculator(Protocol):
    """Anything that scores findings; replaceable by a plugin. Pure, and 0 to 1."""

    def score(self, findings: Sequence[Finding], context: ReviewContext, *, strict: bool) -> Risk:
        """Weigh what was found."""
        ...


REVERSIBLE = 0.3
"""Factor of a risk that a checkpoint takes back: a nuisance, and no loss."""
IN_GIT = 0.6
"""Factor of a risk that git's own records take back; that needs knowledge of git."""
ELEVATED = 0.2
"""Share added for another user's rights."""
ISSUE = 0.1
"""Share added for each issue open in the run, up to three: an agent in trouble gets less rope."""
FAILURES = 0.1
"""Share added after three failed steps in a row."""


class StandardRisk:
    """The built-in calculator: the worst finding decides, modified by circumstances.

    Modifiers multiply, so that reading stays harmless however deep in trouble the run is.
    """

    def score(self, findings: Sequence[Finding], context: ReviewContext, *, strict: bool) -> Risk:
        """Weigh what was found."""
        if not findings:
            return Risk(levels.READS, (), None)
        weighed = [(self._one(finding, strict=strict), finding) for finding in findings]
        (score, factors), worst = max(weighed, key=lambda pair: pair[0][0])
        common = self._common(context)
        for name, share in common:
            added = round(score * share, 4)
            score += added
            if added:
                factors.append(Factor(name, added))
        return Risk(min(round(score, 4), 1.0), tuple(factors), worst)

    def _one(self, finding: Finding, *, strict: bool) -> tuple[float, list[Factor]]:
        score = finding.risk
        factors = [Factor(finding.rule, round(score, 4))]
        left = 1.0 if strict else {"files": REVERSIBLE, "git": IN_GIT}.get(finding.undo, 1.0)
        if left < 1.0:
            factors.append(Factor("reversible", round(score * left - score, 4)))
            score *= left
        if finding.elevated and score:
            factors.append(Factor("another user's rights", round(score * ELEVATED, 4)))
            score += score * ELEVATED
        return score, factors

    def _common(self, context: ReviewContext) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        if context.active_issues:
            found.append(("open issues", ISSUE * min(len(context.active_issues), 3)))
        last = context.history[-3:]
        if len(last) == 3 and all(step.failed for step in last):
            found.append(("repeated failures", FAILURES))
        return found
