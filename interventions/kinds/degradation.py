"""Less instead of an end: the stages a run goes down as it uses up a limit, and up again when it is given more.

Each stage keeps all that the ones before it took away. What a stage takes is what costs most and is needed least. Where a
limit is used up, the gate refuses what changes something, and the agent is asked to say what is left to do.
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
    """Whether the smaller model is used, where one is configured."""


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
