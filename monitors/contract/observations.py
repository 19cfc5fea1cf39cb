"""Observations: an agent's run as a sequence of steps, free of the wire's details, as pattern detectors see it.

The core makes these from the CLI's messages, and `chaperon replay` makes the same from transcripts, so that a
detector cannot tell a live run from a recorded one. Each carries when it was and which event it came from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitors.contract.actions import Review
from monitors.contract.error_lines import ErrorLevel
from monitors.contract.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Fields of all observations."""

    seq: int
    """Sequence number of the event behind it; issues name events by it."""
    mono: float
    """Seconds on a clock that never goes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Observed):
    """The model called a tool and the reviewer decided.

    A `ToolReturned` of the same id follows, unless the run ends.
    """

    id: str
    """The CLI's `tool_use_id`."""
    tool: str
    input: Mapping[str, Any]
    """As the model wrote it."""
    review: Review
    subagent: str = ""
    reply: str = ""
    """Id of the model's reply that asked for it: calls of one reply were asked for before any of them had returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned(Observed):
    """A tool call ended, or was refused."""

    id: str
    tool: str
    input: Mapping[str, Any]
    """As it ran: with the changes of a modify."""
    text: str
    """The text that the model got, shortened to the first and last 16 KiB."""
    failed: bool
    """Whether the CLI marked the result as an error."""
    refused: bool = False
    """Whether the call never ran: blocked by the gate, by a rule of the CLI, or turned down by a person."""
    refused_by: str = ""
    """If refused: `gate` (a hook), `cli` (its permission rules), `person`, or empty if the source is not known."""
    collateral: bool = False
    """Whether it was cancelled because a call beside it failed; says nothing of the agent's own error."""
    reviewed: bool = True
    """Whether the gate answered about the call; one that ran without is a hole in the gate."""
    structured: Mapping[str, Any] | None = None
    """The CLI's `tool_use_result`, if it is an object."""
    subagent: str = ""
    reply: str = ""
    """As in `ToolCalled`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpoke(Observed):
    """The model wrote text."""

    text: str
    subagent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSpoke(Observed):
    """The model got a message: the task's prompt, a person's words, or chaperon's own."""

    text: str
    by: str
    """`task`, `person` or `chaperon`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReplaced(Observed):
    """The agent was given another task in place of the one that it had."""

    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensUsed(Observed):
    """A reply of the model was counted. Once per message of the model, though the CLI repeats it."""

    input_tokens: int
    """Fresh input and cache writes."""
    cached_tokens: int
    """Read from the cache."""
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSeen(Observed):
    """Usage of models by the agent so far, over all its launches and with its subagents.

    As the CLI says, with an estimate of the replies that it has not counted yet: a later one may be a little smaller.
    """

    tokens: int
    """In and out, cached ones counted."""
    cost_usd: float | None = None
    """None if nothing is known of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCompacted(Observed):
    """The CLI shortened the conversation; what was said before may be forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Observed):
    """The model handed the word back."""

    failed: bool
    cost_usd: float | None = None
    """Cost of the agent so far, over all its launches; None if the CLI does not report it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesSampled(Observed):
    """One look at the agent's process tree."""

    memory_mb: float
    """Resident memory of the tree, in MiB."""
    cpu_seconds: float
    """CPU time of the tree since it started."""
    processes: int
    open_files: int
    io_bytes: int
    """Bytes read and written since it started."""
    disk_mb: float
    """Size of what the workspace holds beyond git's own, in MiB; 0 if not measured."""
    file_operations: int = 0
    """Files written, moved or deleted in the workspace since the watch began, by any process; 0 if it is not
    watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLineSeen(Observed):
    """The CLI printed a line on its error output: it is the program that says this, not the model or a tool."""

    level: ErrorLevel
    topic: str
    """The CLI's name for it; often empty."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkChecked(Observed):
    """Chaperon itself ran the check of the agent's work, between two of its steps."""

    command: str
    passed: bool
    text: str
    """The end of what it printed."""
    beside: bool = False
    """Whether the agent changed something while it ran, so that a failure may be of files that were half written."""


Observation = (
    ToolCalled
    | ToolReturned
    | AgentSpoke
    | UserSpoke
    | TaskReplaced
    | TokensUsed
    | UsageSeen
    | ContextCompacted
    | TurnEnded
    | ResourcesSampled
    | ErrorLineSeen
    | WorkChecked
)
