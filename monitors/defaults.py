"""The detectors that watch a run, in the order in which they see."""

from dataclasses import dataclass

from monitors.repetitive_errors import RepetitiveErrors
from supervisor.protocol.issues import Detector
from supervisor.protocol.tasks import Task


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """What the user decided about detectors."""


def make_detectors(settings: DetectorSettings, task: Task) -> tuple[Detector, ...]:  # noqa: ARG001 - those to come use both
    """Fresh detectors for one run."""
    return (RepetitiveErrors(),)
