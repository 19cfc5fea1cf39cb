"""The score of an issue's gravity, and the kind that is in proportion to it.

The score is severity * confidence * (1 + impact factor), plus a share of the risk of the action that the gate last
refused or warned of, plus 0.3 for each intervention that this kind of trouble got in the last five minutes. Its band
names the strongest kind that is in proportion. It is a ceiling, never an order: a rollback that would be justified is
no reason to roll back if a word will do.
"""

from dataclasses import dataclass

from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.words import Severity

BASE = {Severity.LOW: 0.2, Severity.MEDIUM: 0.5, Severity.HIGH: 0.8, Severity.CRITICAL: 1.0}

BANDS = (
    (0.9, InterventionKind.EMERGENCY_STOP),
    (0.7, InterventionKind.CHECKPOINT_ROLLBACK),
    (0.5, InterventionKind.RESOURCE_THROTTLING),
    (0.3, InterventionKind.CONTEXT_REINFORCEMENT),
)
"""From which score on a kind is in proportion; below all of them only a soft correction is."""

ESCALATION_STEP = 0.3
"""Score added by each intervention of the last five minutes: one step leads from any band to a stronger one."""

ESCALATION_SECONDS = 300.0
"""How long an intervention counts as recent."""

REVIEW_WEIGHT = 0.2
"""Score added by a certain and severe risk of the latest refused action: one band at most, since that action did not
run."""

REVIEW_SECONDS = 60.0
"""How long a refused action counts: within the same minute it belongs to the same trouble."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score with its terms."""

    severity: Severity
    confidence: float
    impact_factor: float
    risk: float = 0.0
    """Risk of the action that was last refused or warned of within a minute."""
    steps: int = 0
    """Interventions for this in the last five minutes."""

    @property
    def base(self) -> float:
        """The score of the issue alone."""
        return round(BASE[self.severity] * self.confidence * (1 + self.impact_factor), 3)

    @property
    def total(self) -> float:
        """All terms, to three places, so that sums meet the bands' edges exactly."""
        return round(self.base + REVIEW_WEIGHT * self.risk + ESCALATION_STEP * self.steps, 3)

    @property
    def ceiling(self) -> InterventionKind:
        """The strongest kind that is in proportion."""
        return next((kind for least, kind in BANDS if self.total >= least), InterventionKind.SOFT_CORRECTION)

    def sentence(self) -> str:
        """The sum. Example: `medium 0.5 * confidence 0.7 * (1 + impact 0.2) = 0.42`."""
        said = f"{self.severity} {BASE[self.severity]} * confidence {self.confidence:g} * (1 + impact {self.impact_factor:g})"
        if self.risk:
            said += f" + {REVIEW_WEIGHT} * risk {self.risk:g} of the last refused action"
        if self.steps:
            said += f" + {ESCALATION_STEP} * {self.steps} {'intervention' if self.steps == 1 else 'interventions'} in 5 minutes"
        return f"{said} = {self.total:g}"


def score(issue: Issue, *, risk: float = 0.0, steps: int = 0) -> Score:
    """The score of an issue. Values outside 0 to 1, as a plugin might give, count as the nearest end."""
    return Score(issue.severity, _share(issue.confidence), _share(issue.impact_factor), _share(risk), steps)


def _share(value: float) -> float:
    return min(1.0, max(0.0, value)) if value == value else 1.0  # a value that is no number is taken for the worst
