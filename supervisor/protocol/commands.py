"""Commands of the core to the runtime. `supervisor.runtime.daemon.running.runner` is the only place that performs them.

A command names an effect, never the way to it. A command given twice has its effect once: lines carry a key that the
shim remembers, and freezing, ending and closing are idempotent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interventions.decisions import Incident, LimitsInForce
from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.tasks import Task
from supervisor.protocol.events import AnyEvent
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.rollbacks import RollbackOptions


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """Append this decision to the journal; it is written before any command behind it is performed."""

    event: AnyEvent


@dataclass(frozen=True, slots=True)
class Launch:
    """Start the agent's shim and CLI. `AgentLaunched` or `LaunchFailed` follows."""

    task: Task
    workspace: str
    session_id: str
    """The session that the CLI is started with."""
    number: int = 1
    """Number of the agent's launch; each has a directory of its own."""
    resume_session: str = ""
    """A session to go on in: to fork, after a rollback, or itself, after its CLI ended too early."""
    resume_at: str = ""
    """The message of that session at which a fork goes on; empty: no fork."""


@dataclass(frozen=True, slots=True)
class SendLine:
    """Write a line to the CLI. `InputAccepted` with the same key follows, unless the agent ends first."""

    key: str
    line: bytes
    asynchronous: bool = False
    """Whether it may be sent before the journal has what led to it."""


@dataclass(frozen=True, slots=True)
class CloseInput:
    """Close the CLI's input: it ends after what it is doing."""


@dataclass(frozen=True, slots=True)
class Terminate:
    """Send SIGTERM to the CLI, so that it can flush its session file."""


@dataclass(frozen=True, slots=True)
class Freeze:
    """Freeze every process of the agent. `TreeFrozen` follows."""


@dataclass(frozen=True, slots=True)
class Thaw:
    """Let a frozen agent go on."""


@dataclass(frozen=True, slots=True)
class EndTree:
    """Kill every process of the agent, tool processes with sessions of their own included. `TreeEnded` follows."""


@dataclass(frozen=True, slots=True)
class StartTimer:
    """`TimerFired` with this name follows after the time, unless it is started again or stopped before."""

    name: str
    after_seconds: float


@dataclass(frozen=True, slots=True)
class StopTimer:
    """Cancel a timer; nothing happens if there is none."""

    name: str


@dataclass(frozen=True, slots=True)
class ReportIncident:
    """Append a line to the incident log, and write the report, if there is one, to a file of its own."""

    incident: Incident
    report: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ApplyLimits:
    """Put limits in force on the agent's tree.

    By cgroup files if delegated, else by priorities, rlimits and freezing in turns.
    """

    limits: LimitsInForce
    usual_memory_mb: int | None = None
    """The task's own memory limit, in MiB: at this one nothing is tightened."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Make a checkpoint of the workspace. `CheckpointMade` or `CaptureFailed` with the same key follows.

    It waits for no other command of the agent, and none waits for it.
    """

    key: str
    """Tells captures of one agent apart. Examples: `start`, `turn:81`."""
    reason: str
    """A word of `checkpoints.model.Reason`."""
    moment: RunMoment
    task: Task
    workspace: str
    name: str = ""
    """A name that a person gave; empty for one made of agent, reason and number."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class LookAtChanges:
    """Find the files of the workspace that changed since the last look.

    `ChangesSeen` follows if a review did not predict them.
    """

    workspace: str
    tool_use_id: str = ""
    """The call that has run; empty for a look just before a call, whose findings belong to no call."""
    review: Review | None = None
    """The prediction for that call."""


@dataclass(frozen=True, slots=True)
class LookAtGrounds:
    """Check whether the grounds of a review still held when its call had run.

    `GroundsShaken` follows if they did not.
    """

    tool_use_id: str
    review: Review
    given: Mapping[str, Any]
    """The input that the call ran with."""
    succeeded: bool


@dataclass(frozen=True, slots=True)
class ReviewElsewhere:
    """Make a review in another process, since it takes long. `ReviewArrived` follows."""

    request_id: str
    action: Action
    context: ReviewContext


@dataclass(frozen=True, slots=True)
class LookAtSettings:
    """Check that the repository's settings are those that the CLI was started with.

    `SettingsSwapped` follows if they are not.
    """

    workspace: str


@dataclass(frozen=True, slots=True)
class RestoreCheckpoint:
    """Restore the checkpoint's files; the agent is frozen. `CheckpointRestored` or `RestoreFailed` follows.

    It waits for no other command of the agent, and none waits for it.
    """

    intervention: str
    """The intervention's or the request's id, which makes asking twice harmless."""
    checkpoint: str
    workspace: str
    task: Task
    moment: RunMoment
    how: RollbackOptions = field(default_factory=RollbackOptions)
    """How; a person's request itself, if one asked."""
    needless: bool = True
    """Whether it is done even if no file would change. Only a request of a person is."""


Command = (
    WriteEvent
    | Launch
    | SendLine
    | CloseInput
    | Terminate
    | Freeze
    | Thaw
    | EndTree
    | StartTimer
    | StopTimer
    | ReportIncident
    | ApplyLimits
    | Capture
    | LookAtChanges
    | LookAtGrounds
    | ReviewElsewhere
    | LookAtSettings
    | RestoreCheckpoint
)
