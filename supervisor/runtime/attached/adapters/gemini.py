"""The hooks of the Gemini CLI, as its reference documents them (docs/hooks/reference.md, August 2026).

A hook that fails otherwise than by exit code 2, or that says nothing on either output, lets the call run; so does one
that is longer under way than its time limit (docs/hooks/index.md). A changed input is merged with the model's: a field
that it leaves out stays as it was.
"""

import json
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
    "run_shell_command": ("Bash", {"directory": "dir_path"}),
    "write_file": ("Write", {}),
    "replace": ("Edit", {}),
    "read_file": ("Read", {"absolute_path": "file_path"}),
    "list_directory": ("LS", {"dir_path": "path"}),
    "glob": ("Glob", {"dir_path": "path"}),
    "grep_search": ("Grep", {"dir_path": "path", "include": "glob", "include_pattern": "glob"}),
    "search_file_content": ("Grep", {"dir_path": "path", "include": "glob", "include_pattern": "glob"}),
    "web_fetch": ("WebFetch", {}),
    "google_web_search": ("WebSearch", {}),
    "write_todos": ("TodoWrite", {}),
}
"""The reviewer's tool of each of its own, and fields of another name. Every other is reviewed as a tool not known."""


def entry(event: str, command: str, seconds: float) -> dict[str, Any]:
    """Entry of its settings for an event. Its time limits are in milliseconds."""
    return {"hooks": [{"name": f"chaperon {event}", "type": "command", "command": command, "timeout": seconds * 1000}]}


def payload(event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hook as the daemon takes it. Its session file is in a format of its own, and is left out.

    Raises:
        UnreadCallError: It is a call that cannot be read whole.
    """
    own = {name: given[name] for name in ("session_id", "cwd", "prompt", "message") if name in given}
    if event in ("PreToolUse", "PostToolUse"):
        text(given, "cwd")
        own["tool_name"], own["tool_input"] = _call(given)
    if event == "PostToolUse":
        response = given.get("tool_response")
        response = response if isinstance(response, Mapping) else {"llmContent": response}
        own["tool_response"] = {"stdout": _text(response.get("llmContent")), "stderr": _text(response.get("error"))}
    if event == "Stop":
        own["last_assistant_message"] = given.get("prompt_response")
    return own


def _call(given: Mapping[str, Any]) -> tuple[str, object]:
    tool, input_, server = text(given, "tool_name"), given.get("tool_input"), given.get("mcp_context")
    if isinstance(server, Mapping):  # the name itself does not tell where the server's ends and the tool's begins
        return f"mcp__{text(server, 'server_name')}__{text(server, 'tool_name')}", input_
    name, fields = TOOLS.get(tool, (_unknown(tool), {}))
    if not isinstance(input_, Mapping):
        return name, input_  # which no review takes, so that the call is refused
    own = renamed(input_, fields)
    if name == "Bash":
        own["command"] = in_folder(own.get("command"), own.pop("dir_path", None), given.get("cwd"))
    if name == "WebFetch" and "prompt" in own:
        if "url" in own:
            raise UnreadCallError(
                "The call names an address by url and by prompt, so it was not run. Give one of them."
            )
        own["url"] = _address(text(own, "prompt"))
    checked(name, own)
    return name, own


def _unknown(tool: str) -> str:
    """Return the name of a tool that is none of its own, which must not be taken for another CLI's or a server's."""
    return f"gemini_{tool}" if tool[:1].isupper() or tool.startswith("mcp__") else tool


def _address(prompt: str) -> str:
    """Return the address that a prompt names: the CLI fetches each word with `://` in it.

    Raises:
        UnreadCallError: There is none, or more than one.
    """
    if (number := prompt.count("://")) != 1:
        raise UnreadCallError(
            f"Chaperon reviews one address at a time, and the prompt has {number}. Nothing was fetched."
        )
    return next(word for word in prompt.split() if "://" in word)


def answer(given: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return the daemon's answer as the CLI reads it."""
    output = ours.get("hookSpecificOutput") or {}
    theirs: dict[str, Any] = {name: ours[name] for name in ("systemMessage", "continue", "stopReason") if name in ours}
    more: dict[str, Any] = {}
    if why := why_not(output):
        theirs |= {"decision": "deny", "reason": why}
    elif ours.get("decision") == "block":
        theirs |= {"decision": "deny", "reason": str(ours.get("reason") or "Not done yet.")}
    elif "updatedInput" in output:
        changed = _changed(given, output["updatedInput"])
        if changed is None:
            theirs |= {"decision": "deny", "reason": what_passes(output)}
        else:
            more["tool_input"] = changed
    if output.get("additionalContext"):
        if given.get("hook_event_name") == "BeforeTool":  # which carries no text to the model
            theirs["systemMessage"] = theirs.get("systemMessage") or str(output["additionalContext"])
        else:
            more["additionalContext"] = output["additionalContext"]
    return {**theirs, "hookSpecificOutput": more} if more else theirs


def _changed(given: Mapping[str, Any], changed: object) -> dict[str, Any] | None:
    """Return a changed input by the names that its call gave the fields; None if merging would not bring it about."""
    tool, own = _call(given)
    if not isinstance(changed, Mapping) or not isinstance(own, Mapping) or own.keys() - changed.keys():
        return None
    if tool == "WebFetch":  # its address is within the prompt
        return None
    asked: Mapping[str, Any] = given["tool_input"]
    fields: Mapping[str, str] = TOOLS.get(str(given["tool_name"]), ("", {}))[1]
    back = {name: field for field, name in fields.items() if field in asked}
    return {back.get(str(field), str(field)): value for field, value in changed.items()}


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)
