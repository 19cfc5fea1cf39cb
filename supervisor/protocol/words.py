"""The enumerations that names, messages, the socket API and the docs share."""

from enum import StrEnum
from typing import Literal


class AgentState(StrEnum):
    """The state of an agent in its life. The legal steps are the table in `supervisor.core.states`."""

    STARTING = "starting"
    """Its processes were asked for; the CLI has not yet said `system/init`."""
    RUNNING = "running"
    """A turn is under way."""
    IDLE = "idle"
    """Its turn ended and its input is open: it waits for more."""
    PAUSED = "paused"
    """Held by a person: the next tool call waits at the gate."""
    WAITING = "waiting"
    """Its CLI ended before the task was done, and is started again when the wait is over."""
    FINISHING = "finishing"
    """The task's last turn ended and the CLI's input is closed; its exit is awaited."""
    STOPPING = "stopping"
    """A stop takes its steps, or the processes are frozen and about to be ended."""
    DONE = "done"
    """The CLI ended by itself after a turn that succeeded."""
    FAILED = "failed"
    """The CLI could not be started, ended by itself too early, or its turn ended in an error."""
    STOPPED = "stopped"
    """Ended by a person or by an emergency stop; no process is left."""
    LOST = "lost"
    """Gone without an exit record: the shim was killed, or the machine went down."""

    @property
    def ended(self) -> bool:
        """Whether nothing follows this state."""
        return self in _ENDED


_ENDED = frozenset({AgentState.DONE, AgentState.FAILED, AgentState.STOPPED, AgentState.LOST})


VERSION_HEADER = "chaperon-version"
"""The header of each answer on the socket that has the daemon's version."""


class StopStep(StrEnum):
    """The steps of a stop, gentlest first. `supervisor.core.decisions.stop_sequence` has the time for each."""

    INTERRUPT = "interrupt"
    """The running tool and turn end; the CLI lives."""
    END_OF_INPUT = "end_of_input"
    """The CLI's input is closed: it ends by itself and flushes its session file."""
    TERMINATE = "terminate"
    """SIGTERM to the CLI."""
    KILL = "kill"
    """Every process of the tree is ended."""
    FREEZE = "freeze"
    """No step of an orderly stop: the process tree is frozen, and is ended next."""


class DiscoveryScope(StrEnum):
    """Readers of a fact that an agent noted."""

    TASK = "task"
    """Agents that go on with the same task."""
    REPOSITORY = "repository"
    """Agents in the same repository."""
    ALL = "all"
    """Every agent."""


MergeMode = Literal["off", "propose", "auto"]
"""The fate of a finished task's branch: left alone, prepared for a person, or merged."""
