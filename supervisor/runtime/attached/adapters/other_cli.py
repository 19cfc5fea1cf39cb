"""An adapter at work: a hook of its CLI taken to the daemon, and the answer brought back.

It uses the standard library alone.
"""

import json
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
        """A hook as the daemon takes it; None if the daemon need not be asked."""
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

    Raises:
        ValueError: The body is no JSON object, or there is no adapter of that name.
    """
    own = adapter(name)
    given = json.loads(body)
    if not isinstance(given, dict):
        raise ValueError("what the CLI sent is no JSON object")  # noqa: TRY004 - it is bytes of another program
    payload = own.payload(event, given)
    if payload is None:
        return _line(own.answer(given, {}))
    answer, why = ask(_line({**payload, "hook_event_name": event, "client": name}))
    ours = json.loads(answer or b"{}")
    if why and event == GATE:
        ours = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": why}}
    return _line(own.answer(given, ours))


def in_folder(command: object, folder: object, cwd: object) -> object:
    """Return a command that runs in a folder of its own as one that goes there first, which is how it is reviewed.

    Args:
        command: The command.
        folder: The folder, if one is named.
        cwd: The folder in which the CLI works, from which the other is told.
    """
    if not isinstance(command, str) or not isinstance(folder, str) or not isinstance(cwd, str) or not folder:
        return command
    place = posixpath.normpath(posixpath.join(cwd, folder))
    first = f"cd {shlex.quote(place)} &&\n"
    # One that the daemon changed has the line already, and comes back with it once it ran.
    return command if place == posixpath.normpath(cwd) or command.startswith(first) else first + command


def _line(value: object) -> bytes:
    return json.dumps(value).encode(errors="replace")
