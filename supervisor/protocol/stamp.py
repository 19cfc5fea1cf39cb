"""The fields that every event carries: the agent it is about, and its time."""

from typing import TypedDict


class EventStamp(TypedDict):
    """Fields that `Event` needs, for a type checker.

    It sees each event that is made: `PauseRequested(**stamp, by=…)`.
    """

    agent: str
    at: float
    mono: float
