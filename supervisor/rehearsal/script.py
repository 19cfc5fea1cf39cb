"""Scripts of a model: conversations as lists of steps, with the faults of an API."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Say:
    """The model writes text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model calls a tool; several in one step are parallel calls."""

    tool: str
    """The CLI's name of the tool. Example: `Bash`."""
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiError:
    """The request is answered with an HTTP error, in the API's words for its status."""

    status: int
    """Examples: 400, 401, 404, 429 (rate limit), 500, 529 (overload)."""
    message: str = ""
    """The API's message; empty means its usual one."""
    retry_after_seconds: float | None = None
    """Sent as `retry-after`; None sends none, and the CLI chooses its own pause."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers, as the API has for an account's usage limits."""


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The stream begins and then carries an `error` event, as the API does when it is overloaded in the middle."""

    after_events: int = 2
    """Events sent before it."""
    type: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True, slots=True)
class BrokenStream:
    """The connection is cut in the middle of an event."""

    after_events: int = 3
    """Whole events sent before the cut."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """The stream carries bytes that are no event where its next one should be, and ends."""

    after_events: int = 2
    """Whole events sent before the garbage."""


@dataclass(frozen=True, slots=True)
class EndlessStream:
    """The stream begins, and then only pings come until the other side gives up."""

    after_events: int = 2
    """Events sent before the pings."""
    ping_seconds: float = 1.0
    """Pause between two pings."""


Failure = ApiError | ErrorEvent | BrokenStream | Garbage | EndlessStream


@dataclass(frozen=True, slots=True)
class ScriptTokens:
    """The usage that a step reports, by the API's count."""

    input: int = 100
    output: int = 20
    cache_write: int = 0
    cache_read: int = 0


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One answer of the model."""

    blocks: tuple[Say | ToolUse, ...] = ()
    failures: tuple[Failure, ...] = ()
    """Answers to the first requests for this step, one each. A retry of the CLI after them gets the step."""
    first_byte_seconds: float = 0.0
    """Pause before the answer begins."""
    chunk_seconds: float = 0.0
    """Pause before each event of the stream after the first."""
    tokens: ScriptTokens = ScriptTokens()
    stop_reason: str = ""
    """Empty means `tool_use` where a tool is called, else `end_turn`."""
    hold: Callable[[], Awaitable[object]] | None = None
    """Waited for before the answer begins."""
    is_failing: Callable[[], bool] | None = None
    """Returns whether the first failure is still the answer, however often there is a request for the step; None: each
    failure is the answer to one."""


@dataclass(frozen=True, slots=True)
class ModelScript:
    """One conversation: which requests it answers, and with what."""

    steps: tuple[ScriptStep, ...]
    when: str = ""
    """Text that the conversation's first message must contain, such as a task's prompt or that of a subagent."""
    named_last: bool = False
    """Whether the text may be in any message to the model, and the script whose text was said last plays: that of an
    agent's present task, once it was given another one."""
    api_key: str = ""
    """The key that requests must bring; empty means any."""
    ending: ScriptStep = ScriptStep((Say("All done."),))
    """The answer when the steps are used up."""
    side_text: str = "A rehearsal"
    """The answer to calls beside the conversation (a title, a summary of no tools)."""


def call_id(script: int, call: int) -> str:
    """The id of a script's tool call, both counted from 0: the same in each run, and in each retry."""
    return f"toolu_{script}_{call + 1:04}" if script else f"toolu_{call + 1:04}"


def calls_in(steps: Iterable[ScriptStep]) -> int:
    """How many tools these steps call."""
    return sum(isinstance(block, ToolUse) for step in steps for block in step.blocks)
