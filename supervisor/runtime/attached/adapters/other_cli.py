"""An adapter at work: a hook of its CLI taken to the daemon, and the answer brought back.

It uses the standard library alone.
"""

import json
import posix
import posixpath
import shlex
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol, cast

NAMES = ("cursor", "gemini")
"""The adapters, by the name of their module."""

GATE = "PreToolUse"
"""The daemon's hook whose answer says whether a call runs."""

Hook = Mapping[str, Any]

Ask = Callable[[bytes], tuple[bytes, str]]
"""Asks the daemon; returns its answer, and why the call may not run, which is empty if it may."""


CANNOT_ASK = (
    "This CLI's hooks put no question to a person, so the call was not run. A person can start the daemon of chaperon "
    "if it is away (chaperon serve) and have the call tried again, or run it."
)
"""Text for a call of which a person was to be asked."""

PLACES = frozenset({"file_path", "notebook_path", "path"})
"""Fields that name the place of a call. The reviewer goes by one of them, and the CLI perhaps by another."""

NEEDS = {
    "Bash": ("command",),
    "Write": ("file_path", "content"),
    "Edit": ("file_path", "new_string"),
    "NotebookEdit": ("file_path",),
    "Read": ("file_path",),
    "WebFetch": ("url",),
}
"""Fields without which a call would be reviewed as one that does less, by the reviewer's tool."""

MAY_BE_EMPTY = frozenset({"content", "new_string"})
"""Those of `NEEDS` of which an empty text says something."""

OPTIONAL = ("path", "glob")
"""Fields of other tools that narrow what is read; null is as if they were not there."""


MOST_WORDS, MOST_BODY = 1_000, 2_000
"""Characters of a name and bytes of a hook that the journal keeps of a call that cannot be read."""


class UnreadCallError(ValueError):
    """A call of which less can be read than may run, so that it does not run."""


class Adapter(Protocol):
    """The parts of an adapter, which the package's docstring explains."""

    NAME: str
    FOLDER: str
    FILE: str
    TOP: Mapping[str, Any]
    EVENTS: Mapping[str, str]

    def entry(self, event: str, command: str, seconds: float) -> dict[str, Any]:
        """Entry of its settings for an event, with a hook's time limit in seconds."""
        ...

    def payload(self, event: str, given: Hook) -> dict[str, Any] | None:
        """A hook as the daemon takes it; None if the daemon need not be asked.

        Raises:
            UnreadCallError: It is a call that cannot be read whole.
        """
        ...

    def answer(self, given: Hook, ours: Hook) -> dict[str, Any]:
        """The daemon's answer as the CLI reads it."""
        ...


def adapter(name: str) -> Adapter:
    """Return the adapter of a CLI.

    Raises:
        ValueError: There is none of that name.
    """
    if name not in NAMES:
        raise ValueError(f"there is no adapter for {name!r}, only for {', '.join(NAMES)}")
    return cast("Adapter", import_module(f"{__package__}.{name}"))


def served(name: str, event: str, body: bytes, ask: Ask) -> bytes:
    """Return what the CLI is to read on a hook's output.

    Args:
        name: The adapter.
        event: The daemon's name of the event, as the settings have it: it alone says whether this hook is the gate.
        body: The hook as the CLI sends it.
        ask: Asks the daemon.

    A call that cannot be read is denied, whatever the daemon says; it is told of it, so that the journal has the call.

    Raises:
        ValueError: There is no adapter of that name.
    """
    own, given = adapter(name), {}
    try:
        given = _given(own, event, body)
        payload = own.payload(event, given)
    except UnreadCallError as error:
        if event != GATE:
            return _line({})
        ask(_line({**_about(given, body), "hook_event_name": event, "client": name, "unread": _words(str(error))}))
        return _line(own.answer({**given, "hook_event_name": _gate(own)}, _refusal(str(error))))
    if payload is None:
        return _line(own.answer(given, {}))
    answer, why = ask(_line({**payload, "hook_event_name": event, "client": name}))
    ours = json.loads(answer or b"{}")
    if why and event == GATE:
        ours = _refusal(why)
    return _line(own.answer(given, ours))


def _given(own: Adapter, event: str, body: bytes) -> dict[str, Any]:
    """Return the hook in a body.

    Raises:
        UnreadCallError: There is none.
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadCallError(_unread(f"what the CLI sent is no JSON ({str(error)[:100]})")) from None
    if not isinstance(given, dict):
        raise UnreadCallError(_unread("what the CLI sent is no JSON object"))
    said = str(given.get("hook_event_name"))
    if own.EVENTS.get(said, event) != event:
        raise UnreadCallError(_unread(f"the CLI says that it is the hook {said:.80}, and the settings say {event}"))
    return given


def _about(given: Hook, body: bytes) -> dict[str, Any]:
    """Return what is said of a call that cannot be read: whose it is, and how its hook begins."""
    cwd = _words(given.get("cwd"))
    return {
        "session_id": _words(given.get("session_id", given.get("conversation_id"))),
        "cwd": cwd if posixpath.isabs(cwd) and posixpath.isdir(cwd) else posix.getcwd(),
        "tool_name": _words(given.get("tool_name")) or "unknown",
        "begins": body[:MOST_BODY].decode(errors="replace"),
    }


def _words(value: object) -> str:
    """Return a text's beginning, whole characters of it; empty of what is no text."""
    return value[:MOST_WORDS].encode(errors="replace").decode() if isinstance(value, str) else ""


def _gate(own: Adapter) -> str:
    """Return the CLI's own name of the gate, for the form of the answer."""
    return next(event for event, ours in own.EVENTS.items() if ours == GATE)


def _refusal(why: str) -> Hook:
    return {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": why}}


def why_not(output: Hook) -> str:
    """Return why a call may not run, by the daemon's output for it; empty if it may.

    A question to the person is a refusal: the Gemini CLI knows none, and Cursor enforces none at the gates.
    """
    decision = output.get("permissionDecision")
    reason = str(output.get("permissionDecisionReason") or "Not reviewed.")
    return "" if decision in (None, "allow") else reason if decision == "deny" else f"{reason} {CANNOT_ASK}"


def what_passes(output: Hook) -> str:
    """Say with which input a call would pass, for a CLI that cannot be given it."""
    return f"{output.get('additionalContext') or ''} This passes: {json.dumps(output['updatedInput'])}".strip()


def text(given: Hook, field: str) -> str:
    """Return a field of a hook that is a text.

    Raises:
        UnreadCallError: It is missing, empty or no text.
    """
    found = given.get(field)
    if not isinstance(found, str) or not found:
        raise UnreadCallError(_unread(f"its field {field} is missing, empty or no text"))
    return found


def renamed(input_: Hook, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a call's input with the reviewer's names of its fields.

    Raises:
        UnreadCallError: Two fields have the same meaning, of which the CLI may take the one that is not reviewed.
    """
    own: dict[str, Any] = {}
    for field, value in input_.items():
        name = names.get(field, field)
        if name in own or (name in PLACES and own.keys() & PLACES):
            raise UnreadCallError(_unread(f"{field} stands beside another field of the same meaning; give one of them"))
        own[name] = value
    return own


def checked(tool: str, input_: Hook) -> None:
    """Look for the fields by which the reviewer knows what a call does.

    Args:
        tool: The reviewer's tool.
        input_: The input, with the reviewer's names.

    Raises:
        UnreadCallError: One is missing, or is no text.
    """
    for field in NEEDS.get(tool, ()):
        if not (field in MAY_BE_EMPTY and input_.get(field) == ""):
            text(input_, field)
    for field in OPTIONAL:
        if tool in ("LS", "Glob", "Grep") and input_.get(field) is not None and not isinstance(input_[field], str):
            raise UnreadCallError(_unread(f"its field {field} is no text"))


def _unread(why: str) -> str:
    return f"Chaperon cannot tell what this call does, so it was not run: {why}."


def in_folder(command: object, folder: object, cwd: object) -> object:
    """Return a command that runs in a folder of its own as one that goes there first, which is how it is reviewed.

    Args:
        command: The command.
        folder: The folder, if one is named.
        cwd: The folder in which the CLI works, from which the other is told.

    Raises:
        UnreadCallError: The folder is no text, or the one from which it is told is none.
    """
    if folder is None or folder == "":
        return command
    if not isinstance(folder, str) or not isinstance(cwd, str):
        raise UnreadCallError(_unread("the folder in which it would run is no text"))
    if not isinstance(command, str):
        return command
    place = posixpath.normpath(posixpath.join(cwd, folder))
    first = f"cd {shlex.quote(place)} &&\n"
    # One that the daemon changed has the line already, and comes back with it once it ran.
    return command if place == posixpath.normpath(cwd) or command.startswith(first) else first + command


def _line(value: object) -> bytes:
    return json.dumps(value).encode(errors="replace")
