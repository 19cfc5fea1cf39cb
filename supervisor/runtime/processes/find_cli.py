"""The search for the Claude CLI, and its version.

First `agent.command`, then `claude` on PATH, then the one that the `[claude]` extra brought. The first that exists is
taken. If it does not work, that is reported, and it is never passed over for another, since the reader believes that it
runs.
"""

import functools
import importlib.util
import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from host.children import ChildCommand, run_child
from host.identity import may, which
from monitors.contract.errors import ChaperonError

Version = tuple[int, int, int]

OLDEST: Version = (2, 1, 9)
"""Oldest version supported: from it on a PreToolUse hook's `additionalContext` reaches the model, by which a warned
agent learns the reason. Changing a call's input needs 2.0.10, the control protocol 2.0.0 (the agent SDK's own least
version)."""

MEASURED: Version = (2, 1, 329)
"""The version that all tests run against."""

VERSION_SECONDS = 15.0
"""Time for `--version`. The bundled program takes 0.02 s; one on Node from a cold disk some seconds."""

MAX_OUTPUT = 4096
"""Bytes of output that are looked at."""

INSTALL = f"Install it as its maker describes, or beside chaperon: {sys.executable} -m pip install claude-agent-sdk"


class CliNotStartedError(ChaperonError):
    """The system refused to start the CLI.

    Args:
        path: The CLI.
        error: Its answer.
    """

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(
            f"The Claude CLI {path!r} cannot be started: {error.strerror}; nothing was started.",
            way_out="chaperon doctor names the one that agents would be started with.",
        )


class CliError(ChaperonError):
    """There is no Claude CLI that could be used."""


@dataclass(frozen=True, slots=True)
class Cli:
    """A CLI that answered."""

    path: str
    """Absolute path, links not followed: an update may replace what they point to."""
    version: Version
    source: str
    """If it was found: `agent.command`, `PATH` or `the [claude] extra`."""

    @property
    def version_text(self) -> str:
        """As people write it. Example: `2.1.329`."""
        return ".".join(map(str, self.version))


def find_cli(command: str | None, environ: Mapping[str, str]) -> Cli:
    """Find the CLI and ask it for its version.

    Blocks for as long as the CLI takes to answer, at most 15 s; an answer is remembered until the file changes.

    Args:
        command: `agent.command`.
        environ: The agent's environment: its PATH is searched, and `--version` runs in it.

    Raises:
        CliError: If there is none, or it does not run, answers nonsense, or is too old.
    """
    path, source = locate(command, environ)
    status = _status(path, source)
    version = _version(path, status.st_mtime_ns, status.st_size, tuple(sorted(environ.items())))
    if version < OLDEST:
        text, least = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        raise CliError(
            f"The Claude CLI {path!r} is version {text}; chaperon needs {least} or newer.",
            way_out="Update it with `claude update`, or set agent.command to a newer one.",
        )
    return Cli(path, version, source)


def locate(command: str | None, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the path of the first CLI that exists, and its source.

    Raises:
        CliError: If there is none.
    """
    if command is not None:
        return command, "agent.command"
    if on_path := which("claude", environ.get("PATH", os.defpath)):
        return str(Path(on_path).absolute()), "PATH"
    if brought := bundled_cli():
        return brought, "the [claude] extra"
    raise CliError(
        "No Claude CLI was found: agent.command is not set, there is no `claude` on PATH, "
        "and the [claude] extra is not installed.",
        way_out=f"{INSTALL} PATH was: {environ.get('PATH', os.defpath)}",
    )


def bundled_cli() -> str | None:
    """Return the path of the CLI in claude-agent-sdk, without importing that package; None if there is none."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / "_bundled" / "claude"
        if path.is_file():
            return str(path)
    return None


def _status(path: str, source: str) -> os.stat_result:
    try:
        status = Path(path).stat()
    except OSError as error:
        raise CliError(
            f"The Claude CLI {path!r} (from {source}) cannot be used: {error.strerror}.",
            way_out=f"Correct or remove agent.command. {INSTALL}",
        ) from error
    if not Path(path).is_file() or not may(path, os.X_OK):
        raise CliError(
            f"The Claude CLI {path!r} (from {source}) is no file that can be executed.",
            way_out=f"Try: chmod +x {path}" if Path(path).is_file() else "Correct or remove agent.command.",
        )
    return status


@functools.lru_cache(maxsize=8)
def _version(path: str, changed_ns: int, size: int, environ: tuple[tuple[str, str], ...]) -> Version:  # noqa: ARG001  # what makes an answer old
    code, output = _ask(path, dict(environ))
    shown = output.decode(errors="replace").strip()[:200]
    if code is None:
        raise CliError(
            f"The Claude CLI {path!r} did not answer `--version` within {VERSION_SECONDS:g} s and was ended.",
            way_out=f"Run `{path} --version` by hand to see why.",
        )
    if code != 0:
        how = f"exit status {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        raise CliError(
            f"The Claude CLI {path!r} ended with {how} when asked for its version; it printed {shown!r}.",
            way_out=f"Run `{path} --version` by hand, and install it again if that fails too. {INSTALL}",
        )
    found = re.search(rb"^(\d+)\.(\d+)\.(\d+)\b.*\(Claude Code\)", output, re.MULTILINE)
    if found is None:
        raise CliError(
            f"{path!r} is no Claude CLI: asked for its version it printed {shown!r} and not `N.N.N (Claude Code)`.",
            way_out="Set agent.command to the CLI, or put it first on PATH.",
        )
    return (int(found[1]), int(found[2]), int(found[3]))


def _ask(path: str, environ: dict[str, str]) -> tuple[int | None, bytes]:
    """Run `--version`; return its exit code, None if it had to be ended for its time, and what it printed."""
    try:
        done = run_child(
            ChildCommand(
                argv=[path, "--version"], environment=environ, seconds=VERSION_SECONDS, output_bytes=MAX_OUTPUT
            )
        )
    except OSError as error:
        raise CliError(
            f"The Claude CLI {path!r} could not be started: {error.strerror}.",
            way_out=f"It may be built for another machine, or its interpreter is missing. {INSTALL}",
        ) from error
    return (0 if done.flooded else done.code), done.output
