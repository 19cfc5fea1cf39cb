"""Advice on settings after an emergency stop: keys of the configuration with values, each true of the stopped run.

There is none if no setting would have changed anything, as for a critical rule: its only answer is the stop.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from interventions.contract import ASKED_A_PERSON, ResourceUsage
from interventions.decisions import Intervention
from interventions.ladders import ladder_of
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.tasks import Limits
from monitors.detectors import DetectorSettings, pattern_names
from monitors.patterns.combinations import COMBINATIONS


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One setting."""

    key: str
    """Its path in the configuration. Example: `resources.max_memory_mb`."""
    value: Any
    because: str


PATTERNS = frozenset(pattern_names(DetectorSettings()))
"""Issue types that are patterns of the configuration."""

COMBINED = frozenset(each.name for each in COMBINATIONS)
"""Issue types that are made of others."""

PATIENT_STEPS = 10
"""A value of `progress.consecutive_stuck_tolerance` that counts as patient; 8 is its default."""

_LIMITS = {
    "memory": ("max_memory_mb", "memory_mb"),
    "tokens": ("max_token_usage", "tokens"),
    "file operations": ("max_file_operations", "file_operations"),
    "run time": ("max_execution_time_seconds", "seconds"),
    "cost": ("max_cost_usd", "cost_usd"),
    "steps": ("max_steps", "steps"),
}
"""Resources as `resource_spiral` calls them: the limit of each, and where its use stands."""

_BEFORE = 0.8
"""Share of what a run had used at its stop at which a lower limit would have held it: early enough to say something."""


def suggestions(chosen: Intervention, limits: Limits, usage: ResourceUsage) -> list[Suggestion]:
    """Return what could be set otherwise, most useful first.

    Args:
        chosen: The stop.
        limits: Those of the task.
        usage: What it had used by then.
    """
    issue = chosen.issue
    found = [*_rollback(chosen), *_limit(issue, limits, usage), *_patience(issue)]
    return list({each.key: each for each in reversed(found)}.values())[::-1]


def _rollback(chosen: Intervention) -> list[Suggestion]:
    """Suggest rollbacks without a person, if one was due before the stop and only waited for a person."""
    ladder = ladder_of(chosen.issue.type)
    why_not: Mapping[str, str] = chosen.explain.get("not") or {}
    rollback = InterventionKind.CHECKPOINT_ROLLBACK
    if rollback not in ladder or why_not.get(rollback) != ASKED_A_PERSON:
        return []
    because = "A rollback was due before the stop and waited for a person; with this it is done."
    return [Suggestion("interventions.auto_rollback", value=True, because=because)]


def _limit(issue: Issue, limits: Limits, usage: ResourceUsage) -> list[Suggestion]:
    """Raise a limit that was exceeded by far; lower a limit that growth never reached.

    The new value lies beyond, or below, the run's usage.
    """
    by_field = dict(_LIMITS.values())
    if issue.type == "critical_action" and issue.key in by_field:
        used = getattr(usage, by_field[issue.key]) or 0
        value = _rounded(used * 2, math.ceil)
        return [
            Suggestion(f"resources.{issue.key}", value, f"If such tasks need that much: this one had used {used:g}.")
        ]
    limit, field = _LIMITS.get(str(issue.details.get("resource")), ("", ""))
    if issue.type != "resource_spiral" or not limit:
        return []
    used, now = getattr(usage, field) or 0, getattr(limits, limit)
    value = _rounded(used * _BEFORE, math.floor)
    if not value or (now is not None and value >= now):
        return []
    because = f"The run had used {used:g} at its stop; at this limit it would have been held before, and told."
    return [Suggestion(f"resources.{limit}", value, because)]


def _patience(issue: Issue) -> list[Suggestion]:
    """For a stop that was not called for: what makes the pattern speak later."""
    wrong = "Only if this stop was not called for: "
    if issue.type in COMBINED:
        because = wrong + "patterns are then judged each alone, and none is raised for coming together."
        return [Suggestion("patterns.combinations.enabled", value=False, because=because)]
    if issue.type == "no_progress":
        because = wrong + "so many steps without progress are tolerated."
        return [Suggestion("progress.consecutive_stuck_tolerance", PATIENT_STEPS, because)]
    if issue.type in PATTERNS:
        because = wrong + "half as much again must be seen as with `medium` before this pattern speaks."
        return [Suggestion(f"patterns.{issue.type}.sensitivity", "low", because)]
    return []


def _rounded(amount: float, how: Callable[[float], int]) -> float | int:
    """Round to two digits. Example: 1,234 gives 1,200 rounded down and 1,300 rounded up."""
    if amount <= 0:
        return 0
    unit = 10.0 ** (math.floor(math.log10(amount)) - 1)
    rounded = how(round(amount / unit, 9)) * unit
    return round(rounded) if unit >= 1 or rounded >= 10 else round(rounded, 6)
