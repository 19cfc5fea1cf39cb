"""Lines written to the CLI: one JSON object a line, each a `bytes` that ends in a newline.

An `error` answer to a hook makes the CLI run the tool (measured, 2.1.329), so no function here makes one for a hook.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

HOOK_TIMEOUT_SECONDS = 86_400
"""Time that the CLI waits for a hook's answer: a day. While the daemon is away the agent pauses instead of failing;
at the end the call does not run. It is under 2**31 ms, past which timers of the CLI's runtime fire at once."""

HOOK_EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "ConfigChange",
)
"""The hooks that are registered. Each costs a round trip when it fires, so only what the core looks at is listed."""


def initialize(request_id: str, events: Sequence[str] = HOOK_EVENTS) -> bytes:
    """The first line in: registers the hooks, each under its event's name."""
    hooks = {
        event: [{"matcher": None, "hookCallbackIds": [event], "timeout": HOOK_TIMEOUT_SECONDS}] for event in events
    }
    return request(request_id, {"subtype": "initialize", "hooks": hooks})


def request(request_id: str, body: Mapping[str, Any]) -> bytes:
    """A control request of ours; its answer comes back with the same id."""
    return _line({"type": "control_request", "request_id": request_id, "request": body})


def interrupt(request_id: str) -> bytes:
    """End the running tool and the turn at once; a `result` follows."""
    return request(request_id, {"subtype": "interrupt"})


def cancel_message(request_id: str, uuid: str) -> bytes:
    """Take back a message that no turn has taken up.

    An interrupt alone leaves it to begin the next turn (measured, 2.1.329).
    """
    return request(request_id, {"subtype": "cancel_async_message", "message_uuid": uuid})


def get_usage(request_id: str) -> bytes:
    """Ask what the session has used so far: tokens and cost by model, subagents included (measured, 2.1.329)."""
    return request(request_id, {"subtype": "get_usage"})


def stop_task(request_id: str, task_id: str) -> bytes:
    """End one command in the background.

    A CLI that would have waited for it ends at once when its input closes (2.1.329).
    """
    return request(request_id, {"subtype": "stop_task", "task_id": task_id})


def set_model(request_id: str, model: str | None) -> bytes:
    """Change the model from the next request on; None means the CLI's default."""
    return request(request_id, {"subtype": "set_model", "model": model})


def set_effort(request_id: str, effort: str | None) -> bytes:
    """Change how hard the model thinks: `low`, `medium` or `high`; None means the CLI's default.

    It holds from the next turn on; the requests of a turn under way keep theirs (measured, 2.1.329).
    """
    return request(request_id, {"subtype": "apply_flag_settings", "settings": {"effortLevel": effort}})


SHOWN = "chaperon_shown"
"""The key of what the person of an attached CLI is shown beside a message to the model. No CLI is sent such a line."""


def user_message(text: str, uuid: str = "", shown: str = "") -> bytes:
    """Something said to the model: starts a turn, or reaches the running one with its next tool result.

    Args:
        text: What is said.
        uuid: The message's own id, a UUID. A message of the same id is taken once, however often it is written
            (measured, 2.1.329), and `command_lifecycle` frames say when it was queued, started and completed.
        shown: What the person of an attached CLI is shown beside it, if that is not the text.
    """
    message = {"role": "user", "content": text}
    own = {name: value for name, value in (("uuid", uuid), (SHOWN, shown)) if value}
    return _line({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", **own})


def answer(request_id: str, response: Mapping[str, Any]) -> bytes:
    """The answer to a request of the CLI's."""
    body = {"subtype": "success", "request_id": request_id, "response": response}
    return _line({"type": "control_response", "response": body})


def refuse_unknown(request_id: str, subtype: str) -> bytes:
    """Say that a request of an unknown kind is not served. Never for a hook: the CLI would run the tool."""
    body = {"subtype": "error", "request_id": request_id, "error": f"chaperon does not serve {subtype!r}"}
    return _line({"type": "control_response", "response": body})


def allow_tool(request_id: str, *, context: str = "", updated_input: Mapping[str, Any] | None = None) -> bytes:
    """Answer PreToolUse: the tool runs, with `context` added for the model, or with a changed input."""
    return _pre_tool_use(request_id, {"permissionDecision": "allow"}, context, updated_input)


def deny_tool(request_id: str, reason: str) -> bytes:
    """Answer PreToolUse: the tool does not run and the model gets the reason."""
    return _pre_tool_use(request_id, {"permissionDecision": "deny", "permissionDecisionReason": reason}, "", None)


def _pre_tool_use(
    request_id: str, verdict: dict[str, Any], context: str, updated_input: Mapping[str, Any] | None
) -> bytes:
    output: dict[str, Any] = {"hookEventName": "PreToolUse", **verdict}
    if context:
        output["additionalContext"] = context
    if updated_input is not None:
        output["updatedInput"] = updated_input
    return answer(request_id, {"hookSpecificOutput": output})


def keep_out(request_id: str, reason: str) -> bytes:
    """Answer ConfigChange: the changed settings are ignored in this session, and those from its start stay in force.

    They would come into force with the next re-read of the settings, which `set_effort` triggers (measured, 2.1.329).
    """
    return answer(request_id, {"decision": "block", "reason": reason})


def grant_permission(request_id: str, tool_input: Mapping[str, Any]) -> bytes:
    """Answer `can_use_tool`: the tool runs with this input."""
    return answer(request_id, {"behavior": "allow", "updatedInput": tool_input})


def refuse_permission(request_id: str, reason: str) -> bytes:
    """Answer `can_use_tool`: the tool does not run and the model gets the reason."""
    return answer(request_id, {"behavior": "deny", "message": reason})


def _line(frame: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        # A lone surrogate, as in a text cut inside an emoji, has no UTF-8; an answer that is not sent would hold the CLI.
        return json.dumps(frame, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
