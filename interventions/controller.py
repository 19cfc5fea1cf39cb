"""The controller: which of the interventions answers an issue, and when to leave the agent alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from interventions import soft_correction
from supervisor.protocol.interventions import Intervention
from supervisor.protocol.issues import Issue
from supervisor.protocol.tasks import Task
from supervisor.protocol.words import InterventionKind, Severity


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """What the user may decide about interventions."""

    enabled: bool = True
    max_interventions_per_execution: int = 10
    """After so many a person decides; a stop is never counted out."""
    intervention_cooldown_seconds: float = 30.0
    """How long an agent is left alone after an intervention; a stop does not wait."""


class Controller:
    """Chooses, and remembers what it chose. Its memory is a fold over `InterventionChosen`."""

    def __init__(self, settings: ControllerSettings, task: Task) -> None:
        self._settings = settings
        self._task = task
        self._chosen: list[tuple[float, Intervention]] = []

    def choose(self, issues: Sequence[Issue], *, id: str, mono: float) -> Intervention | None:  # noqa: A002 - the field
        """The one answer to issues seen at once, or None where the agent is left alone. Changes nothing.

        Args:
            issues: At least one, none of them closed.
            id: What the intervention will be called.
            mono: Now, in seconds on the clock that never goes back.
        """
        issue = max(issues, key=lambda issue: issue.severity.rank)
        if issue.severity is Severity.CRITICAL:
            return Intervention(
                id, InterventionKind.EMERGENCY_STOP, issue, 1.0, "A critical issue ends the run at once."
            )
        if not self._settings.enabled or self._resting(mono) or self._exhausted():
            return None
        text = soft_correction.message(issue, self._task.prompt)
        reason = "The mildest answer comes first."
        return Intervention(id, InterventionKind.SOFT_CORRECTION, issue, 0.2, reason, text)

    def remember(self, intervention: Intervention, mono: float) -> None:
        """Take in a choice that was made, now or before a restart."""
        self._chosen.append((mono, intervention))

    def _resting(self, mono: float) -> bool:
        return bool(self._chosen) and mono - self._chosen[-1][0] < self._settings.intervention_cooldown_seconds

    def _exhausted(self) -> bool:
        return len(self._chosen) >= self._settings.max_interventions_per_execution
