"""The enumerations that names, messages, the socket API and the docs share."""

from enum import StrEnum


class Decision(StrEnum):
    """The reviewer's answer to an action."""

    ALLOW = "allow"
    """It runs as asked."""
    WARN = "warn"
    """It runs, and the model is told what to mind."""
    BLOCK = "block"
    """It does not run, and the model is told why and what to do instead."""
    MODIFY = "modify"
    """It runs with a changed input; both forms are journalled and the model is told."""


class Severity(StrEnum):
    """How much harm a side effect, an issue or an incident means, least first."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Place in the order, 0 for low to 3 for critical; severities are compared by it, never by their text."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class MonitoringLevel(StrEnum):
    """How closely one agent is watched, beside what the configuration says for all."""

    NORMAL = "normal"
    """As configured."""
    STRICT = "strict"
    """Detectors speak as early as at high sensitivity, and a call is blocked from the risk on from which it is usually warned of."""


class InterventionKind(StrEnum):
    """The five answers to an issue, weakest first."""

    SOFT_CORRECTION = "soft_correction"
    """A word in the agent's ear: a message into the running turn."""
    CONTEXT_REINFORCEMENT = "context_reinforcement"
    """The request, constraints and goals said again, with what matters now emphasised."""
    RESOURCE_THROTTLING = "resource_throttling"
    """Tighter limits on processes, tokens and rate, and the agent is told."""
    CHECKPOINT_ROLLBACK = "checkpoint_rollback"
    """Files and conversation go back to a good moment."""
    EMERGENCY_STOP = "emergency_stop"
    """Frozen, saved, ended: the whole process tree."""

    @property
    def rank(self) -> int:
        """Place in the order, 0 for soft correction to 4 for emergency stop."""
        return _KIND_RANKS[self]


_KIND_RANKS = {kind: rank for rank, kind in enumerate(InterventionKind)}


class AgentState(StrEnum):
    """Where an agent is in its life. The legal steps are the table in `supervisor.core.states`."""

    STARTING = "starting"
    """Its processes were asked for; the CLI has not yet said `system/init`."""
    RUNNING = "running"
    """A turn is under way."""
    IDLE = "idle"
    """Its turn ended and its input is open: it waits to be told more."""
    PAUSED = "paused"
    """Held by a person: the next tool call waits at the gate."""
    WAITING = "waiting"
    """Its CLI ended before the task was done, and is started again when the wait is over."""
    FINISHING = "finishing"
    """The task's last turn ended and the CLI's input is closed; its exit is awaited."""
    STOPPING = "stopping"
    """On the stop ladder, or frozen and about to be ended."""
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


class Rung(StrEnum):
    """The rungs of the stop ladder, gentlest first. What each waits for is in `supervisor.core.ladder`."""

    INTERRUPT = "interrupt"
    """The running tool and turn end; the CLI lives."""
    END_OF_INPUT = "end_of_input"
    """The CLI's input is closed: it ends by itself and flushes its session file."""
    TERMINATE = "terminate"
    """SIGTERM to the CLI."""
    KILL = "kill"
    """Every process of the tree is ended."""
    FREEZE = "freeze"
    """Not a rung of the gentle way: the tree stands still, and is ended next."""
