"""The detectors of a session, in order, and all their settings."""

from dataclasses import dataclass, field, replace
from typing import TypeVar

from monitors.apart import Apart
from monitors.fingerprints import Fingerprints
from monitors.guarded import Guarded, OpenIssues
from monitors.no_progress import NoProgress, NoProgressSettings
from monitors.repetition import Repetition, RepetitionSettings
from monitors.repetitive_errors import RepetitiveErrors, RepetitiveErrorsSettings
from monitors.sensitivity import PatternSettings, Sensitivity
from supervisor.protocol.issues import Detector
from supervisor.protocol.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorSettings:
    """What is watched for, and how eagerly. One field for each pattern, named as its issues are."""

    sensitivity: Sensitivity = Sensitivity.MEDIUM
    """For every pattern that sets none of its own."""
    repetitive_errors: RepetitiveErrorsSettings = field(default_factory=RepetitiveErrorsSettings)
    repetition: RepetitionSettings = field(default_factory=RepetitionSettings)
    no_progress: NoProgressSettings = field(default_factory=NoProgressSettings)


Settings = TypeVar("Settings", bound=PatternSettings)


def make_detectors(settings: DetectorSettings, task: Task, plugins: tuple[Detector, ...] = ()) -> tuple[Guarded, ...]:
    """Make fresh detectors for one session; each remembers, so none may be shared between sessions.

    Args:
        settings: What to watch for.
        task: What the agent is to do.
        plugins: Detectors from elsewhere, made for this session; they come after ours and before the combinations.
    """
    board, fingerprints = OpenIssues(), Fingerprints()

    def set_up(own: Settings) -> Settings:
        return own if own.sensitivity else replace(own, sensitivity=settings.sensitivity)

    detectors: tuple[tuple[PatternSettings, Detector], ...] = (
        (settings.repetitive_errors, RepetitiveErrors(set_up(settings.repetitive_errors))),
        (settings.repetition, Apart(lambda: Repetition(set_up(settings.repetition), fingerprints))),
        (settings.no_progress, NoProgress(set_up(settings.no_progress), fingerprints)),
    )
    chosen = [detector for own, detector in detectors if own.enabled]
    return tuple(Guarded(detector, board) for detector in (*chosen, *plugins))
