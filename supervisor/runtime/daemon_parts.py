"""The parts of the daemon that others are handed, each as narrow as its use.

What one user alone needs beside these is declared by that user.
"""

from pathlib import Path
from typing import Protocol

from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.checkpointing.worktrees import Worktrees
from supervisor.runtime.incidents.feed import NoteFault
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.merging.merge_queue import MergeQueue


class BoardParts(Protocol):
    """To see what is known."""

    board: Board
    """All agents, and what is known of all together."""


class JournalParts(BoardParts, Protocol):
    """To see the record."""

    journal: Journal
    """The record of all events; one counts once it is on the disk."""


class StampParts(Protocol):
    """To make an event."""

    def stamp(self, agent: str) -> EventStamp:
        """Return the agent and the times of an event of now."""
        ...


class EventParts(StampParts, Protocol):
    """To cause an event."""

    def happened(self, event: events.AnyEvent) -> int:
        """Journal an event and have it acted upon; returns its number."""
        ...


class RecordParts(JournalParts, EventParts, Protocol):
    """To decide something that goes into the journal."""


class RequestParts(BoardParts, StampParts, Protocol):
    """To ask something of one agent."""

    async def request(self, event: events.AgentRequest) -> Summary:
        """Take in what a person asks of an agent; it is in the journal when this returns."""
        ...


class TimeParts(Protocol):
    """To know the time."""

    def mono(self) -> float:
        """Seconds on the clock that decisions use."""
        ...

    def wall(self) -> float:
        """Unix time in seconds, for people."""
        ...


class BootParts(Protocol):
    """To know a process again."""

    def boot_id(self) -> str:
        """Id of this boot of the machine."""
        ...


class FaultParts(Protocol):
    """To tell people of a fault."""

    @property
    def fault(self) -> NoteFault:
        """Notes an incident."""
        ...


class NeighbourParts(Protocol):
    """To know who else works in a place."""

    def beside(self, agent: str) -> set[str]:
        """The other live agents that work in this agent's workspace."""
        ...


class EndingParts(Protocol):
    """To know whether the daemon ends."""

    ending: bool
    """Whether no new task is taken any more."""


class CheckpointParts(Protocol):
    """To reach checkpoints."""

    checkpoint_manager: CheckpointManager
    """Captures and restores, of the stores that it has open."""


class WorktreeParts(RecordParts, CheckpointParts, Protocol):
    """To work on workspaces and their checkpoints."""

    worktrees: Worktrees
    """The workspaces that were made for agents."""


class FolderParts(Protocol):
    """To reach the files of agents."""

    @property
    def agents_folder(self) -> Path:
        """The folder of the state directory that has one of each agent, by which two daemons are told apart."""
        ...


class MergingParts(Protocol):
    """To reach merges."""

    merging: MergeQueue
    """Carries the merges of agents' branches out, one after the other."""
