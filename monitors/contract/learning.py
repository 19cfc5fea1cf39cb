"""Outcomes of issues, given by people, and the adjustments that follow."""

from dataclasses import dataclass
from enum import StrEnum


class IssueOutcome(StrEnum):
    """The outcome of an issue."""

    CONFIRMED = "confirmed"
    """It was trouble indeed."""
    FALSE_ALARM = "false_alarm"
    """The run was healthy."""
    MISSED = "missed"
    """There was trouble, and the pattern did not see it or saw it late."""


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One change of what a pattern's thresholds are multiplied with."""

    pattern: str
    before: float
    after: float
    because: str
    """Why, for a person. Example: `5 of 6 alarms were false`."""
    undoes: bool = False
    """Whether it takes the one before it back; such a one cannot be taken back itself."""
