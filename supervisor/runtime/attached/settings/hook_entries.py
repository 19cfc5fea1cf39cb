"""The hooks that are put into settings: which events, and how each reaches the daemon.

By HTTP no program is started for a hook. The CLI itself blocks a call whose hook fails (`onFailure`), which it knows
from 2.1.295 on; an older one lets such a call run, so it is given a command, which blocks by its exit code.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from supervisor.protocol.claude.control import HOOK_TIMEOUT_SECONDS
from supervisor.runtime.attached import hook, relay_settings
from supervisor.runtime.attached.adapters.other_cli import NAMES, adapter
from supervisor.runtime.attached.hook import ALL_SECONDS, CALL_SECONDS, CONTEXT, GATE
from supervisor.runtime.attached.relay_settings import TOKEN_VARIABLE, RelaySettings

WhenAway = Literal["ask", "block", "allow"]
Way = Literal["http", "command"]

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    GATE,
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "Notification",
    "PreCompact",
    "ConfigChange",
    "SessionEnd",
)
"""The hooks that are registered. An event that a CLI does not know is passed over by it (measured, 2.1.329)."""

BY_COMMAND = frozenset({"SessionStart"})
"""Events whose hooks the CLI does not send by HTTP (measured, 2.1.329)."""

BLOCKS_FROM = (2, 1, 295)
"""The first version that knows `onFailure`."""

PROXIES = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
"""Variables by which the CLI would send a hook to a proxy, which does not reach our loopback."""

GATES = (GATE, *{event for cli in NAMES for event, ours in adapter(cli).EVENTS.items() if ours == GATE})
"""The hooks whose answer says whether a call runs, of each CLI."""

PROGRAM, SHELL_PROGRAM = (Path(hook.__file__).with_name(name) for name in ("hook.py", "hook.sh"))

_PYTHON = (os.path.realpath(sys.executable), "-I", "-S")

FAILED = (
    "The hook of chaperon could not run, so this call was not run. If chaperon is no longer on this machine, take its "
    "hooks out of the settings of this CLI, of the user and of the project."
)
"""Text for a call whose hook could not run, as once chaperon was removed and its hooks were left."""

NO_RELAY = (
    "The hook of chaperon could not run, and calls of this session may be blocked. If chaperon is no longer on this "
    "machine, take its hooks out of the settings of this CLI, of the user and of the project."
)
"""Text for the person in a session that begins."""

BASH_PATH = "/bin:/usr/bin:/usr/local/bin"
"""The folders in which bash is looked for: no agent writes there."""


@dataclass(frozen=True, slots=True)
class RelayUse:
    """The way of hooks to the relay."""

    folder: Path
    """The folder of its settings."""
    settings: RelaySettings
    token: str
    """The token in hooks by HTTP: itself, or `$` and the variable's name; empty: no hook goes by HTTP."""
    program: Path | None = None
    """The compiled program of hooks; None if this machine has none."""


def handlers(
    socket: Path, when_away: WhenAway, wait: float = CALL_SECONDS, relay: RelayUse | None = None
) -> dict[str, dict[str, Any]]:
    """The entries of a settings file, by hook.

    Args:
        socket: The daemon's socket of hooks.
        when_away: The answer to a call while no daemon is there.
        wait: How long a daemon is waited for before that, in seconds.
        relay: The relay; None: each hook is a program that asks the daemon itself.
    """
    return {event: {"hooks": [_handler(event, socket, when_away, wait, relay)]} for event in EVENTS}


def _handler(event: str, socket: Path, when_away: WhenAway, wait: float, relay: RelayUse | None) -> dict[str, Any]:
    blocks = event == GATE and when_away != "allow"
    failing = {"onFailure": "block"} if blocks else {}
    if relay is not None and relay.token and event not in BY_COMMAND:
        headers = {"authorization": f"Bearer {relay.token}"}
        headers.update({f"x-{name.lower().replace('_', '-')}": f"${name}" for name in CONTEXT})
        allowed = [*CONTEXT, *([TOKEN_VARIABLE] if relay.token.startswith("$") else [])]
        address = relay.settings.address(event, when_away, wait)
        return {
            "type": "http",
            "url": address,
            "headers": headers,
            "allowedEnvVars": allowed,
            "timeout": HOOK_TIMEOUT_SECONDS,
            **failing,
        }
    words = [*_PYTHON, str(PROGRAM), str(socket), when_away, f"{wait:g}", event]
    if relay is not None and event in BY_COMMAND:
        words.append(str(relay.folder))  # by which a session that begins has the relay started
    command = " ".join(map(shlex.quote, words))
    bash = shutil.which("bash", path=BASH_PATH)
    if relay is not None and (bash or relay.program is not None):
        file = str(relay.folder / relay_settings.FOR_SHELLS)
        given = [file, event, when_away, f"{wait:g}", f"{ALL_SECONDS:.0f}", *words]
        # -p: neither BASH_ENV nor functions of the environment, which a repository's settings can set.
        by_shell = [bash, "-p", str(SHELL_PROGRAM)] if bash else []
        command = " ".join(map(shlex.quote, [*by_shell, *given]))
        if relay.program is not None:  # a sandbox may not show it, and then it is as if it were not there
            compiled, other = shlex.quote(str(relay.program)), " ".join(map(shlex.quote, by_shell)) or "shift 5;"
            run = f'if [ -x {compiled} ]; then {compiled} "$@"; else {other} "$@"; fi'
            command = f"set -- {' '.join(map(shlex.quote, given))}; {run}"
    # Exit code 2 alone blocks: a program that is missing or was killed must not let the call run (measured, 2.1.329).
    if blocks:
        said = f"[ $? = 2 ] && [ -r {shlex.quote(str(PROGRAM))} ]"  # Python, too, ends with 2 without its program
        command = f"{command} || {{ {said} || echo {shlex.quote(FAILED)} >&2; exit 2; }}"
    elif event in BY_COMMAND:
        command = f"{command} || echo {shlex.quote(json.dumps({'systemMessage': NO_RELAY}))}"
    return {
        "type": "command",
        "command": command,
        "timeout": HOOK_TIMEOUT_SECONDS,
        **failing,
    }


def entries_for(cli: str, socket: Path, when_away: WhenAway, wait: float) -> dict[str, dict[str, Any]]:
    """The entries of the settings file of another CLI, by its own events: each starts the program of hooks.

    Args:
        cli: The name of its adapter.
        socket: The daemon's socket of hooks.
        when_away: The answer to a call while no daemon is there.
        wait: How long a daemon is waited for before that, in seconds.

    Raises:
        ValueError: There is no adapter of that name.
    """
    own, found = adapter(cli), {}
    for event, ours in own.EVENTS.items():
        words = [*_PYTHON, str(PROGRAM), str(socket), when_away, f"{wait:g}", ours, "", cli]
        command = " ".join(map(shlex.quote, words))
        if (
            ours == GATE and when_away != "allow"
        ):  # with a text, since a CLI may let silence pass, whatever the exit code
            command = f"{command} || {{ echo {shlex.quote(FAILED)} >&2; exit 2; }}"
        found[event] = own.entry(event, command, HOOK_TIMEOUT_SECONDS)
    return found


def best_way(
    version: tuple[int, int, int] | None, environ: Mapping[str, str], *, shared: bool, walled: bool
) -> tuple[Way, str]:
    """Return how hooks go best, and why not by HTTP.

    Args:
        version: The CLI's version; None if it is not known.
        environ: The person's environment.
        shared: Whether the settings file is one that others get too, so that no token may stand there.
        walled: Whether agents of chaperon run in a sandbox without this machine's loopback.
    """
    if shared:
        return "command", "the file is shared, and a token does not belong there"
    if version is None or version < BLOCKS_FROM:
        text = ".".join(map(str, version)) if version else "that was not found"
        return "command", f"a CLI {text} lets calls run whose hook by HTTP fails"
    if proxy := next((name for name in PROXIES if environ.get(name)), ""):
        return "command", f"{proxy} is set, and a proxy does not reach this machine's loopback"
    if walled:
        return "command", "agents of the sandbox do not reach this machine's loopback"
    return "http", ""


def ways_in(path: Path) -> str:
    """Say how the hooks of a settings file reach the daemon, and what a call meets without one; empty without hooks.

    Blocks for as long as a read of the file takes.
    """
    try:
        by_event = json.loads(path.read_bytes())["hooks"]
        entries = [entry for event in GATES for entry in by_event.get(event, ())]
        hooks = [one for entry in entries for one in entry.get("hooks", [entry])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    for one in hooks:
        if relay_settings.ROUTE in str(one.get("url")):
            asked = parse_qs(urlsplit(str(one["url"])).query)
            return f"by HTTP; while no daemon is there: {asked.get('away', ['?'])[0]}"
        words = _words(str(one.get("command", "")))
        if words[:2] == ["set", "--"] and str(PROGRAM) in words:
            return f"by a compiled program; while no daemon is there: {words[4]}"
        for program, way, choice in ((SHELL_PROGRAM, "by bash", 3), (PROGRAM, "by Python", 2)):
            if str(program) in words[:-choice]:
                return f"{way}; while no daemon is there: {words[words.index(str(program)) + choice]}"
    return ""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []
