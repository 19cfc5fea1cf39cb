"""Less instead of an end: the stages a run goes down when it nears a limit, and up again when it does not.

Each stage keeps all that the ones before it took away. What a stage takes is what costs most and is needed least.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage."""

    name: str
    takes: str
    """What is taken away, for a person and for the agent."""
    effort: str | None = None
    """The CLI's effort level; None leaves it."""
    smaller_model: bool = False
    """Whether the smaller model is used, where one is configured."""
    read_only: bool = False
    """Whether calls that change something wait for a person."""
    paused: bool = False
    """Whether the next call waits for a person."""


STAGES = (
    Stage("full", "nothing"),
    Stage("lower_effort", "long thinking", effort="low"),
    Stage("smaller_model", "the large model", effort="low", smaller_model=True),
    Stage(
        "read_only", "changes: finish by saying what is left to do", effort="low", smaller_model=True, read_only=True
    ),
    Stage("paused", "everything, until a person looks", effort="low", smaller_model=True, read_only=True, paused=True),
)

AT = (0.0, 0.8, 0.9, 0.97, 1.0)
"""Share of a limit from which each stage holds. At four fifths there is time to finish more cheaply; the last three
hundredths are for saying what is left to do."""

HYSTERESIS = 0.05
"""How far below its share a run must fall to leave a stage, so that it does not go to and fro at the edge."""


def stage_of(share: float, now: int = 0) -> int:
    """The stage, as an index into `STAGES`, for a share of the nearest limit.

    Args:
        share: Used of the limit that is nearest, 0 to 1 and beyond.
        now: The stage that holds now.
    """
    if share != share:
        return now
    reached = max(index for index, least in enumerate(AT) if share >= least or index == 0)
    if reached >= now:
        return reached
    return max(
        reached, max(index for index, least in enumerate(AT[: now + 1]) if share >= least - HYSTERESIS or index == 0)
    )
