"""The hooks of Cursor, editor and CLI, as its documentation has them (cursor.com/docs/hooks, 2026).

A call's gate reads a flat `permission`; if `failClosed` stands in its entry, everything else blocks the call: no
output, an exit code other than 0, the end of its time. At the gates `allow` and `deny` alone are enforced: an `ask` of
`preToolUse` lets the call run, so none is answered. By captures of its hooks, a read comes by `beforeReadFile` in
each version, and in some of them by `preToolUse` as well.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from supervisor.runtime.attached.adapters.other_cli import (
    UnreadCallError,
    checked,
    in_folder,
    renamed,
    text,
    what_passes,
    why_not,
)

NAME = "Cursor"
FOLDER, FILE = ".cursor", "hooks.json"
TOP: Mapping[str, Any] = {"version": 1}

EVENTS = {
    "beforeSubmitPrompt": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "beforeReadFile": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "stop": "Stop",
    "sessionEnd": "SessionEnd",
}
"""The daemon's event of each of its own. `beforeShellExecution` and its like come beside `preToolUse` for the same
call, and are left out."""

READS = frozenset({"Read", "ReadFile"})
"""Its tools whose gate is `beforeReadFile`; asked about twice, a read would look like two."""

TOOLS = {"Shell": "Bash", "StrReplace": "Edit", "EditNotebook": "NotebookEdit", "Delete": "Bash"}
"""The reviewer's tool of those that have another name. Every other is reviewed by its own name."""

FIELDS = {
    "Write": {"path": "file_path", "contents": "content"},
    "Edit": {"path": "file_path"},
    "NotebookEdit": {"path": "file_path", "target_notebook": "file_path", "notebook_path": "file_path"},
    "Delete": {"path": "file_path"},
}
"""The reviewer's names of fields, by its tool; `contents` by captures of its hooks."""

PATCH = "ApplyPatch"
"""Its tool that changes files by a patch, in a form that differs by version and is not read."""

CALLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
"""Events of calls."""

MCP = "MCP:"
"""The beginning of the name of a server's tool. The server is not named."""


def entry(event: str, command: str, seconds: float) -> dict[str, Any]:
    """Entry of its settings for an event. Its time limits are in seconds."""
    closed = {"failClosed": True} if EVENTS[event] == "PreToolUse" else {}
    return {"command": command, "timeout": seconds, **closed}


def payload(event: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a hook as the daemon takes it; None for what is asked about by another hook.

    Raises:
        UnreadCallError: It is a call that cannot be read whole.
    """
    roots, read = given.get("workspace_roots"), given.get("hook_event_name") == "beforeReadFile"
    tool = given.get("tool_name")
    if not read and isinstance(tool, str) and tool in READS and event in CALLS:
        return None
    root = roots[0] if isinstance(roots, list) and roots else ""
    own: dict[str, Any] = {"session_id": given.get("conversation_id"), "cwd": given.get("cwd") or root}
    if event in CALLS:
        text(own, "cwd")
    if event == "UserPromptSubmit":
        own["prompt"] = given.get("prompt")
    if read:
        if tool is not None and not (isinstance(tool, str) and tool in READS):
            raise UnreadCallError(f"A hook for reads says that it is of the tool {tool!r:.80}, so it was not run.")
        own["tool_name"], own["tool_input"] = "Read", {"file_path": text(given, "file_path")}
    elif event in CALLS:
        own["tool_name"], own["tool_input"] = _call(given, own["cwd"])
        own["tool_use_id"] = given.get("tool_use_id")
    if event == "PostToolUse":
        own["tool_response"] = _result(given.get("tool_output"))
    if event == "PostToolUseFailure":
        own["error"] = given.get("error_message")
    return {name: value for name, value in own.items() if value is not None or name == "tool_input"}


def _call(given: Mapping[str, Any], cwd: object) -> tuple[str, object]:
    tool, input_ = text(given, "tool_name"), _read(given.get("tool_input"))
    if tool == PATCH:
        raise UnreadCallError(
            f"Chaperon does not read patches, so {PATCH} was not run. Use Write, StrReplace or Delete."
        )
    if tool.startswith(MCP):
        return f"mcp__cursor__{tool.removeprefix(MCP)}", input_
    name = TOOLS.get(tool, tool)
    if not isinstance(input_, Mapping):
        return name, input_  # which no review takes, so that the call is refused
    own = renamed(input_, FIELDS.get(tool, FIELDS.get(name, {})))
    if tool == "Delete":  # the reviewer has no tool that deletes; this is what it does
        own = {"command": f"rm -- {shlex.quote(text(own, 'file_path'))}"}
    elif name == "Bash":
        own["command"] = in_folder(own.get("command"), own.pop("working_directory", None), cwd)
    checked(name, own)
    return name, own


def _result(output: object) -> object:
    """Return a result, which comes as text with JSON in it."""
    found = _read(output)
    return found if isinstance(found, Mapping | list) else {"stdout": "" if output is None else str(output)}


def _read(value: object) -> object:
    """Return what JSON in a text says; every other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def answer(given: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return the daemon's answer as the CLI reads it.

    A changed input is taken by some versions, and the others would run the call as it was. So a call that would be
    changed is denied, with the input that passes.
    """
    event, output = str(given.get("hook_event_name")), ours.get("hookSpecificOutput") or {}
    if event == "stop":
        return {"followup_message": str(ours.get("reason"))} if ours.get("decision") == "block" else {}
    if event == "beforeSubmitPrompt":
        stopped = ours.get("continue") is False
        return {"continue": not stopped, **({"user_message": str(ours.get("stopReason"))} if stopped else {})}
    if EVENTS.get(event, "PreToolUse") != "PreToolUse":
        more = output.get("additionalContext")
        return {"additional_context": str(more)} if more and event == "postToolUse" else {}
    why = why_not(output) or ("updatedInput" in output and what_passes(output))
    return {"permission": "deny", "user_message": why, "agent_message": why} if why else {"permission": "allow"}
