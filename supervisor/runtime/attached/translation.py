"""The payloads of hooks as lines that the CLI would print to a shim, and lines to the CLI as answers of hooks.

An attached CLI speaks with us by hooks alone. Made into the lines of a stream, what it tells is seen by the same core
as that of every other agent, is journalled alike, and can be replayed. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from supervisor.core.observing.observer import shortened, text_of

Payload = Mapping[str, Any]
Frame = dict[str, Any]

GATE = "PreToolUse"
"""The hook whose answer says whether a call runs."""

RETURNS = {"PostToolUse": False, "PostToolUseFailure": True}
"""The hooks by which a call comes back, and whether it failed."""

TURN_EVENTS = frozenset({"UserPromptSubmit", GATE, *RETURNS, "SubagentStart", "SubagentStop"})
"""The hooks that show that a turn is under way."""

TELLS = frozenset({"UserPromptSubmit", "SessionStart", GATE, *RETURNS})
"""The hooks whose answer can carry text for the model, as `additionalContext` (measured, 2.1.329)."""

LONGEST_TEXT = 200_000
"""Characters of a structured result that are looked at. The observer keeps 32,768 of a text."""

LONGEST_SHOWN = 600
"""Characters of a text that a person is shown in the terminal: some lines. The journal has all of it."""


def request(payload: Payload, request_id: str) -> Frame:
    """The hook as a request of the CLI."""
    event = str(payload.get("hook_event_name") or "")
    kept = {key: value for key, value in payload.items() if key != "tool_response"}  # it is in the result's line
    body = {"subtype": "hook_callback", "callback_id": event, "input": kept}
    return {"type": "control_request", "request_id": request_id, "request": body}


def turn_begins(payload: Payload, model: str, version: str) -> Frame:
    """The line with which a turn begins."""
    return {
        "type": "system",
        "subtype": "init",
        "session_id": str(payload.get("session_id") or ""),
        "cwd": str(payload.get("cwd") or ""),
        "model": model,
        "permissionMode": str(payload.get("permission_mode") or ""),
        "claude_code_version": version,
    }


def turn_ends(payload: Payload) -> Frame:
    """The line with which a turn ends, of a `Stop` hook."""
    said = payload.get("last_assistant_message")
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": said if isinstance(said, str) else "",
        "num_turns": 1,
        "session_id": str(payload.get("session_id") or ""),
    }


def result(payload: Payload) -> Frame:
    """The result of a call, of a hook of `RETURNS`."""
    failed = RETURNS[str(payload["hook_event_name"])]
    response = payload.get("error") if failed else payload.get("tool_response")
    block = {
        "type": "tool_result",
        "tool_use_id": str(payload.get("tool_use_id") or ""),
        "content": shortened(result_text(response)),
        "is_error": failed,
    }
    return {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "parent_tool_use_id": payload.get("agent_id") if isinstance(payload.get("agent_id"), str) else None,
        "session_id": str(payload.get("session_id") or ""),
        "tool_use_result": response if isinstance(response, Mapping) else None,
    }


def result_text(response: object) -> str:
    """Return the text of a tool's response, near what the model is told of it."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return text_of(response)
    if not isinstance(response, Mapping):
        return "" if response is None else str(response)
    if isinstance(response.get("stdout"), str):
        return "\n".join(str(response[part]) for part in ("stdout", "stderr") if response.get(part))
    if isinstance(content := response.get("content"), list):
        return text_of(content)
    return orjson.dumps(response, default=str).decode()[:LONGEST_TEXT]


def cancelled(request_id: str) -> Frame:
    """The CLI no longer waits for this answer."""
    return {"type": "control_cancel_request", "request_id": request_id}


def taken(message_id: str) -> Frame:
    """The model gets the message of this id."""
    return {"type": "command_lifecycle", "command_uuid": message_id, "state": "started"}


def spoken(line: Payload) -> Frame | None:
    """The line of a session file as the CLI prints it; None if it is no reply of the agent's own model."""
    message = line.get("message")
    if line.get("type") != "assistant" or line.get("isSidechain") is True or not isinstance(message, Mapping):
        return None
    return {"type": "assistant", "message": message, "uuid": str(line.get("uuid") or ""), "parent_tool_use_id": None}


def encoded(frames: Sequence[Frame]) -> bytes:
    """The frames as lines."""
    return b"".join(orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE) for frame in frames)


def for_the_person(request: Payload) -> str:
    """Return what its person is asked to do, for a request that reaches no CLI by hooks; empty for other requests."""
    match request.get("subtype"):
        case "set_model" if request.get("model"):
            return f"Chaperon would go on with a smaller model, which only you can: /model {request['model']}"
        case "apply_flag_settings" if effort := (request.get("settings") or {}).get("effortLevel"):
            return f"Chaperon would go on with less effort, which only you can: /effort {effort}"
        case "stop_task":
            return (
                f"Chaperon would end the command {request.get('task_id')} in the background, which only you can: /tasks"
            )
    return ""


# ── to the CLI ────────────────────────────────────────────────────────────────────────────────────────────────────────


def reply(event: str, response: Payload, told: Sequence[str] = (), shown: Sequence[str] = (), stop: str = "") -> Frame:
    """The answer to a hook.

    A call that passes is not granted beyond that: the CLI's own rules, and the question to the person before it, hold
    as they would without us. A changed input counts without a grant too (measured, 2.1.329).

    Args:
        event: The hook.
        response: The core's answer.
        told: Texts for the model.
        shown: Texts for the person. A changed input is shown as well.
        stop: Why the turn is to end here; empty if it is not.
    """
    answer = dict(response)
    if stop:
        answer = {"continue": False, "stopReason": stop}
        if event == GATE:  # `continue` alone lets the call run (measured, 2.1.329)
            answer["hookSpecificOutput"] = refusal(stop)
        return answer
    output = dict(answer.get("hookSpecificOutput") or {})
    if "updatedInput" in output:
        shown = [f"Chaperon changed this call: {output.get('additionalContext') or 'see chaperon tail'}", *shown]
    if shown:
        answer["systemMessage"] = "\n".join(
            f"{text[:LONGEST_SHOWN]}…" if len(text) > LONGEST_SHOWN else text for text in shown
        )
    if output.get("permissionDecision") == "allow":
        del output["permissionDecision"]
    texts = [text for text in (output.get("additionalContext"), *told) if text]
    if event == "Stop" and told:
        return {**answer, "decision": "block", "reason": "\n\n".join(told)}
    if texts and event in TELLS:
        output = {"hookEventName": event, **output, "additionalContext": "\n\n".join(texts)}
    if output.keys() - {"hookEventName"}:
        answer["hookSpecificOutput"] = output
    else:
        answer.pop("hookSpecificOutput", None)
    return answer


def refusal(why: str) -> Frame:
    """The part of an answer by which a call does not run."""
    return {"hookEventName": GATE, "permissionDecision": "deny", "permissionDecisionReason": why}
