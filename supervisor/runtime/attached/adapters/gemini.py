"""The hooks of the Gemini CLI, as its reference documents them (docs/hooks/reference.md, August 2026).

A hook that fails otherwise than by exit code 2, or that says nothing on either output, lets the call run; so does one
that is longer under way than its time limit (docs/hooks/index.md).
"""

import json
from collections.abc import Mapping
from typing import Any

from supervisor.runtime.attached.adapters.other_cli import in_folder

NAME = "Gemini CLI"
FOLDER, FILE = ".gemini", "settings.json"
TOP: Mapping[str, Any] = {}

EVENTS = {
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "Notification": "Notification",
    "PreCompress": "PreCompact",
    "SessionEnd": "SessionEnd",
}
"""The daemon's event of each of its own. `BeforeModel` and its like carry whole conversations, and are left out."""

TOOLS = {
    "run_shell_command": ("Bash", {}),
    "write_file": ("Write", {}),
    "replace": ("Edit", {}),
    "read_file": ("Read", {"absolute_path": "file_path"}),
    "list_directory": ("LS", {"dir_path": "path"}),
    "glob": ("Glob", {"dir_path": "path"}),
    "grep_search": ("Grep", {"dir_path": "path"}),
    "search_file_content": ("Grep", {"dir_path": "path"}),
    "web_fetch": ("WebFetch", {"prompt": "url"}),
    "google_web_search": ("WebSearch", {}),
    "write_todos": ("TodoWrite", {}),
}
"""The reviewer's tool of each of its own, and fields of another name. Every other is reviewed as a tool not known."""


def entry(event: str, command: str, seconds: float) -> dict[str, Any]:
    """Entry of its settings for an event. Its time limits are in milliseconds."""
    return {"hooks": [{"name": f"chaperon {event}", "type": "command", "command": command, "timeout": seconds * 1000}]}


def payload(event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hook as the daemon takes it. Its session file is in a format of its own, and is left out."""
    own = {name: given[name] for name in ("session_id", "cwd", "prompt", "message") if name in given}
    if event in ("PreToolUse", "PostToolUse"):
        own["tool_name"], own["tool_input"] = _call(given)
    if event == "PostToolUse":
        response = given.get("tool_response")
        response = response if isinstance(response, Mapping) else {"llmContent": response}
        own["tool_response"] = {"stdout": _text(response.get("llmContent")), "stderr": _text(response.get("error"))}
    if event == "Stop":
        own["last_assistant_message"] = given.get("prompt_response")
    return own


def _call(given: Mapping[str, Any]) -> tuple[str, object]:
    tool, input_, server = str(given.get("tool_name")), given.get("tool_input"), given.get("mcp_context")
    if isinstance(server, Mapping):  # the name itself does not tell where the server's ends and the tool's begins
        return f"mcp__{server.get('server_name')}__{server.get('tool_name')}", input_
    name, fields = TOOLS.get(tool, (tool, {}))
    if not isinstance(input_, Mapping):
        return name, input_  # which no review takes, so that the call is refused
    own = {fields.get(key, key): value for key, value in input_.items()}
    if name == "Bash":
        own["command"] = in_folder(own.get("command"), own.pop("dir_path", None), given.get("cwd"))
    return name, own


def answer(given: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return the daemon's answer as the CLI reads it."""
    output = ours.get("hookSpecificOutput") or {}
    theirs: dict[str, Any] = {name: ours[name] for name in ("systemMessage", "continue", "stopReason") if name in ours}
    more: dict[str, Any] = {}
    if output.get("permissionDecision") in ("deny", "ask"):  # it knows no question to the person
        theirs |= {"decision": "deny", "reason": str(output.get("permissionDecisionReason") or "Not reviewed.")}
    elif ours.get("decision") == "block":
        theirs |= {"decision": "deny", "reason": str(ours.get("reason") or "Not done yet.")}
    elif isinstance(output.get("updatedInput"), Mapping):
        back = {value: key for key, value in TOOLS.get(str(given.get("tool_name")), ("", {}))[1].items()}
        more["tool_input"] = {back.get(key, key): value for key, value in output["updatedInput"].items()}
    if output.get("additionalContext"):
        if given.get("hook_event_name") == "BeforeTool":  # which carries no text to the model
            theirs["systemMessage"] = theirs.get("systemMessage") or str(output["additionalContext"])
        else:
            more["additionalContext"] = output["additionalContext"]
    return {**theirs, "hookSpecificOutput": more} if more else theirs


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)
