"""Degradation before a stop: the stages of a run as it uses up a limit, left again when the limit is raised.

Each stage keeps the restrictions of the ones before it, and takes the costliest and least needed ability. Once a limit
is used up, the gate refuses actions that change something, and the agent is asked to report the remaining work.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DegradationStage:
    """One stage."""

    name: str
    least: float
    """Share of the nearest limit from which it holds, 0 to 1. At four fifths there is time to finish more cheaply."""
    effort: str | None = None
    """The CLI's effort level; None leaves it."""
    smaller_model: bool = False
    """Whether the smaller model is used, if one is configured."""


STAGES = (
    DegradationStage("full", 0.0),
    DegradationStage("lower_effort", 0.8, effort="low"),
    DegradationStage("smaller_model", 0.9, effort="low", smaller_model=True),
)


def stage_of(share: float) -> int:
    """The stage, as an index into `STAGES`.

    Args:
        share: Used of the limit that is nearest, 0 to 1 and beyond; what is no number counts as nothing.
    """
    return max(index for index, stage in enumerate(STAGES) if share >= stage.least or index == 0)
