"""Lines of the CLI to typed messages.

Strict about what is known, generous about what is not, and nothing is lost: an unknown kind becomes `Unknown`, a line
that is no JSON object becomes `NotJson`, and a known kind that lacks what its kind must have raises `FrameError`. The
line itself is in the journal as received in each case, so these carry only what decisions need.

Facts about the frames are from `claude` 2.1.329, measured; `tests/recordings/` has the lines.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import orjson
from pydantic import AliasPath, Field, InstanceOf, TypeAdapter, ValidationError

from monitors.contract.errors import FrameError
from supervisor.protocol.claude.retrying import Retrying
from supervisor.protocol.claude.usage_limits import LimitNotice

Json = Mapping[str, Any]

Block = Annotated[Json, InstanceOf[dict[str, Any]]]
"""One block of a message's content: an object, not looked into, for that would copy inputs of megabytes key by key."""


@dataclass(frozen=True, slots=True)
class Init:
    """`system/init`: the session exists. Said again at the start of each turn."""

    session_id: str
    cwd: str
    model: str = ""
    permission_mode: Annotated[str, Field(validation_alias="permissionMode")] = ""
    cli_version: Annotated[str, Field(validation_alias="claude_code_version")] = ""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one reply, by the API's count."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    @property
    def context(self) -> int:
        """Return the size of the context after the reply."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Assistant:
    """One content block of the model's reply; the same `message_id` repeats for each block, with the same usage."""

    message_id: Annotated[str, Field(validation_alias=AliasPath("message", "id"))]
    content: Annotated[list[Block], Field(validation_alias=AliasPath("message", "content"))]
    uuid: str = ""
    parent_tool_use_id: str | None = None
    usage: Annotated[TokenUsage, Field(validation_alias=AliasPath("message", "usage"))] = TokenUsage()
    model: Annotated[str, Field(validation_alias=AliasPath("message", "model"))] = ""

    def texts(self) -> Iterator[str]:
        """The text blocks, in order."""
        return (block["text"] for block in self.content if block.get("type") == "text" and "text" in block)


@dataclass(frozen=True, slots=True)
class User:
    """Input of the model: tool results, and messages to it."""

    content: Annotated[str | list[Block], Field(validation_alias=AliasPath("message", "content"))]
    uuid: str = ""
    parent_tool_use_id: str | None = None
    tool_use_result: Any = None
    tool_result_meta: list[Block] = field(default_factory=list)

    def results(self) -> list[Json]:
        """The `tool_result` blocks, in order."""
        blocks = self.content if isinstance(self.content, list) else []
        return [block for block in blocks if block.get("type") == "tool_result"]


@dataclass(frozen=True, slots=True)
class Result:
    """A turn ended. `is_error` with subtype `success` is an API failure; the text has the reason."""

    subtype: str
    is_error: bool
    result: str = ""
    num_turns: int = 0
    total_cost_usd: float | None = None
    errors: list[Any] = field(default_factory=list)
    queued_turn_count: int = 0
    """Messages that were said during this turn and start another one."""
    model_usage: Annotated[Any, Field(validation_alias="modelUsage")] = None
    """By model: what it used, and what it can hold. Not to be trusted to be there."""

    def context_window(self, model: str) -> int | None:
        """How many tokens the context of a model holds; None if the CLI does not say."""
        facts = self.model_usage.get(model) if isinstance(self.model_usage, dict) else None
        window = facts.get("contextWindow") if isinstance(facts, dict) else None
        return window if isinstance(window, int) and window > 0 else None


@dataclass(frozen=True, slots=True)
class HookCallback:
    """The CLI waits for the answer to a hook. What it holds beside the common fields depends on the event."""

    request_id: str
    callback_id: Annotated[str, Field(validation_alias=AliasPath("request", "callback_id"))]
    event: Annotated[str, Field(validation_alias=AliasPath("request", "input", "hook_event_name"))]
    session_id: Annotated[str, Field(validation_alias=AliasPath("request", "input", "session_id"))] = ""
    cwd: Annotated[str, Field(validation_alias=AliasPath("request", "input", "cwd"))] = ""
    tool_name: Annotated[str, Field(validation_alias=AliasPath("request", "input", "tool_name"))] = ""
    tool_input: Annotated[Any, Field(validation_alias=AliasPath("request", "input", "tool_input"))] = None
    tool_use_id: Annotated[str, Field(validation_alias=AliasPath("request", "input", "tool_use_id"))] = ""
    prompt: Annotated[str, Field(validation_alias=AliasPath("request", "input", "prompt"))] = ""
    source: Annotated[str, Field(validation_alias=AliasPath("request", "input", "source"))] = ""
    """The source of the settings that changed. Example: `project_settings`."""
    file_path: Annotated[str, Field(validation_alias=AliasPath("request", "input", "file_path"))] = ""
    """The file of these settings."""
    agent_id: Annotated[str | None, Field(validation_alias=AliasPath("request", "input", "agent_id"))] = None
    """Id of the subagent that makes the call; None for the agent itself."""
    unread: Annotated[str, Field(validation_alias=AliasPath("request", "input", "unread"))] = ""
    """Why the adapter of another CLI cannot tell what the call does; empty if it can."""


@dataclass(frozen=True, slots=True)
class CanUseTool:
    """The CLI waits for permission: the second gate, used only if the permission mode would have prompted."""

    request_id: str
    tool_name: Annotated[str, Field(validation_alias=AliasPath("request", "tool_name"))]
    input: Annotated[Any, Field(validation_alias=AliasPath("request", "input"))]
    tool_use_id: Annotated[str, Field(validation_alias=AliasPath("request", "tool_use_id"))] = ""


@dataclass(frozen=True, slots=True)
class UnknownRequest:
    """A control request of a kind that this version does not serve; it must be answered, or the CLI waits."""

    request_id: str
    subtype: Annotated[str, Field(validation_alias=AliasPath("request", "subtype"))]


@dataclass(frozen=True, slots=True)
class ControlResponse:
    """The CLI's answer to a request of ours."""

    request_id: Annotated[str, Field(validation_alias=AliasPath("response", "request_id"))]
    subtype: Annotated[str, Field(validation_alias=AliasPath("response", "subtype"))]
    error: Annotated[str, Field(validation_alias=AliasPath("response", "error"))] = ""
    response: Annotated[Any, Field(validation_alias=AliasPath("response", "response"))] = None
    """The answer; its form depends on the request, and is not to be trusted."""

    def usage(self) -> tuple[object, object]:
        """Return what an answer to `get_usage` says of each model, and of the cost of all."""
        session = self.response.get("session") if isinstance(self.response, dict) else None
        session = session if isinstance(session, dict) else {}
        return session.get("model_usage"), session.get("total_cost_usd")


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The CLI no longer waits for the answer to this request."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """The CLI shortened the conversation to fit its context."""


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """A subagent or workflow of the CLI began, changed or ended; input stays open while one runs."""

    task_id: str = ""
    task_type: str | None = None
    status: str | None = None
    """None if the frame is about something else."""


@dataclass(frozen=True, slots=True)
class BackgroundCommands:
    """The shell commands in the background of the CLI, sent whenever they change."""

    task_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class MessageProgress:
    """How far a message has come that was written with an id of its own. Versions before 2.1.329 may not tell."""

    command_uuid: str
    state: str
    """`queued`, `started` (a turn, the running one or a new one, has taken it up) or `completed`."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A kind that this version does not act on; more come with every version of the CLI."""

    kind: str
    """The frame's `type`, with its `subtype` after a slash if it has one."""


@dataclass(frozen=True, slots=True)
class NotJson:
    """A line that is no JSON object, such as a warning of the runtime."""

    text: str


Message = (
    Init
    | Assistant
    | User
    | Result
    | HookCallback
    | CanUseTool
    | UnknownRequest
    | ControlResponse
    | Cancelled
    | Compacted
    | BackgroundTask
    | BackgroundCommands
    | Retrying
    | LimitNotice
    | MessageProgress
    | Unknown
    | NotJson
)

_KINDS = {
    kind: TypeAdapter(shape).validator  # without the adapter around it
    for kind, shape in {
        "system/init": Init,
        "system/compact_boundary": Compacted,
        "assistant": Assistant,
        "user": User,
        "result": Result,
        "command_lifecycle": MessageProgress,
        "control_request/hook_callback": HookCallback,
        "control_request/can_use_tool": CanUseTool,
        "control_request": UnknownRequest,
        "control_response": ControlResponse,
        "control_cancel_request": Cancelled,
    }.items()
}

_TASK_FRAMES = frozenset({"task_started", "task_notification", "task_updated"})


def parse(line: bytes) -> Message:
    """Turn one line of the CLI into a message.

    Raises:
        FrameError: The line is of a known kind and lacks a field, or has one of the wrong type.
    """
    frame = decode(line)
    return NotJson(line.decode(errors="replace")) if frame is None else parse_frame(frame)


_REQUEST = re.compile(rb'"type":\s*"control_request",\s*"request_id":\s*"([^"\\]{1,200})"')
"""The beginning of a request of the CLI, as it writes them."""


def request_id_of(head: bytes) -> str | None:
    """Return the id of a request whose line cannot be read whole: it still waits for an answer."""
    found = _REQUEST.search(head[:1024])
    return found[1].decode(errors="replace") if found else None


def decode(line: bytes) -> dict[str, Any] | None:
    """Decode one line into a JSON object that can be encoded again, or None if it is none.

    The CLI's runtime may cut a string inside a surrogate pair; such a lone surrogate, which no UTF-8 can carry,
    becomes `?` here, so that the frame is still served.
    """
    try:
        frame = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            text = json.dumps(json.loads(line), ensure_ascii=False)
            frame = orjson.loads(text.encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return frame if isinstance(frame, dict) else None


def parse_frame(frame: Json) -> Message:
    """Turn one frame, already decoded, into a message; raises like `parse`."""
    kind = frame.get("type")
    if not isinstance(kind, str):
        return Unknown(f"no type: {str(kind)[:40]}")
    if kind == "system":
        subtype = _text_or_none(frame.get("subtype"))
        if subtype in _TASK_FRAMES:
            return _background_task(frame)
        if subtype == "background_tasks_changed":
            return _background_commands(frame)
        if subtype == "api_retry":
            return Retrying.of(frame)
        kind = f"system/{subtype}"
    elif kind == "rate_limit_event":
        return LimitNotice.of(frame)
    elif kind == "control_request":
        request = frame.get("request")
        full = f"control_request/{request.get('subtype') if isinstance(request, dict) else ''}"
        kind = full if full in _KINDS else kind
    adapter = _KINDS.get(kind)
    if adapter is None:
        return Unknown(kind)
    try:
        message: Message = adapter.validate_python(frame)
    except ValidationError as error:
        try:
            message = adapter.validate_python(_without_nulls(frame))
        except ValidationError:
            raise FrameError(kind, _problems(error), _text_or_none(frame.get("request_id"))) from None
    return message


def _without_nulls(frame: Json) -> dict[str, Any]:
    """Return the frame without null fields, which some gateways send for absent ones.

    A required field is still missed.
    """
    found = {key: value for key, value in frame.items() if value is not None}
    for inner in ("message", "usage", "response"):
        if isinstance(found.get(inner), dict):
            found[inner] = _without_nulls(found[inner])
    return found


def _background_task(frame: Json) -> BackgroundTask:
    """Read leniently: a lifecycle frame that lacks a field must never end a run."""
    patch = frame.get("patch")
    status = frame.get("status") or (patch.get("status") if isinstance(patch, dict) else None)
    return BackgroundTask(
        str(frame.get("task_id") or ""),
        _text_or_none(frame.get("task_type")),
        "started" if frame.get("subtype") == "task_started" else _text_or_none(status),
    )


def _background_commands(frame: Json) -> BackgroundCommands:
    tasks = frame.get("tasks")
    listed = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    return BackgroundCommands(
        frozenset(str(task.get("task_id")) for task in listed if task.get("task_type") == "local_bash")
    )


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _problems(error: ValidationError) -> str:
    """The first three problems, each with its place and without the frame's text."""
    found = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False)[:3]]
    return "; ".join(found)
