"""The enumerations of reviews and issues: decisions, severities, and how closely a run is watched."""

from enum import StrEnum
from typing import Literal


class Decision(StrEnum):
    """The reviewer's answer to an action."""

    ALLOW = "allow"
    """It runs as asked."""
    WARN = "warn"
    """It runs, and the model gets a warning."""
    BLOCK = "block"
    """It does not run, and the model gets the reason and an alternative."""
    MODIFY = "modify"
    """It runs with a changed input; both forms are journalled and the model is informed."""


class Severity(StrEnum):
    """How much harm a side effect, an issue or an incident means, least first."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Place in the order, 0 for low to 3 for critical; severities are compared by it, never by their text."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class MonitoringLevel(StrEnum):
    """How closely one agent is watched, beside what the configuration says for all."""

    NORMAL = "normal"
    """As configured."""
    STRICT = "strict"
    """Detectors report as early as at high sensitivity, and a call is blocked from the risk at which others are
    warned of."""


class Sensitivity(StrEnum):
    """How soon a pattern is reported."""

    LOW = "low"
    """Half as much again must be seen: fewer words in healthy runs, later in bad ones."""
    MEDIUM = "medium"
    """The thresholds as they are set."""
    HIGH = "high"
    """Two thirds are enough."""


Profile = Literal["standard", "strict", "container"]
"""The surroundings by which an action is judged."""
