"""The parts of the daemon that routes are handed, each as narrow as its use; a route with other needs has its own."""

from typing import Protocol

from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp
from supervisor.runtime.journal.journal import Journal


class BoardParts(Protocol):
    """For routes that show what is known."""

    @property
    def board(self) -> Board:
        """All agents, and what is known of all together."""
        ...


class JournalParts(BoardParts, Protocol):
    """For routes that show the record."""

    @property
    def journal(self) -> Journal:
        """The record of all events."""
        ...


class StampParts(Protocol):
    """For routes by which a person causes an event."""

    def stamp(self, agent: str) -> EventStamp:
        """Return the agent and the times of an event of now."""
        ...


class RecordParts(JournalParts, StampParts, Protocol):
    """For routes by which a person decides something that goes into the journal."""

    def happened(self, event: events.AnyEvent) -> int:
        """Journal an event and return its number."""
        ...


class RequestParts(BoardParts, StampParts, Protocol):
    """For routes by which a person asks something of one agent."""

    async def request(self, event: events.AgentRequest) -> Summary:
        """Take in what a person asks of an agent; it is in the journal when this returns."""
        ...


class TimeParts(Protocol):
    """For routes whose answers depend on the time."""

    def mono(self) -> float:
        """Seconds on the clock that decisions use."""
        ...

    def wall(self) -> float:
        """Unix time in seconds, for people."""
        ...
