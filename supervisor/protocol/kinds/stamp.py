"""The fields that every event carries: the agent it is about, and its time."""

from dataclasses import dataclass
from typing import TypedDict


class EventStamp(TypedDict):
    """Fields that `Event` needs, for a type checker.

    It sees each event that is made: `PauseRequested(**stamp, by=…)`.
    """

    agent: str
    at: float
    mono: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Fields of all events."""

    agent: str
    """The agent's name, or empty if the event is the daemon's own."""
    at: float
    """Unix time in seconds, for people; never used to decide."""
    mono: float
    """Seconds on the clock that never goes back within one boot of the machine; what decisions use."""

    @property
    def stamp(self) -> EventStamp:
        """The agent and the times, for a decision that follows from the event."""
        return EventStamp(agent=self.agent, at=self.at, mono=self.mono)
