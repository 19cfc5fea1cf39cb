"""The command that stands in for `claude`: it becomes the CLI, with our hooks beside those of its caller."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from monitors.contract.errors import UsageError
from monitors.contract.words import Severity
from supervisor.cli import common
from supervisor.cli.commands.work.attach import hooks_socket, relay_use, way_of, way_option, when_away_options
from supervisor.cli.output import terminal
from supervisor.runtime.attached.hook import LAUNCHED

if TYPE_CHECKING:
    from supervisor.runtime.attached.settings.hook_entries import WhenAway

NAME = "claude"

SETTINGS = "--settings"
"""The CLI's option for more settings, as a file or as JSON; given twice, its last value alone counts."""


@click.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@when_away_options
@way_option
@click.option("--standalone", is_flag=True, help="Be the daemon as well, for as long as the CLI runs, as CI wants it.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With --standalone: put the journal there, and what was found as SARIF and JUnit.",
)
@click.option(
    "--fail-on",
    type=click.Choice([str(one) for one in Severity]),
    help="With --standalone: fail (exit code 4) if there was an incident of this severity or worse.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_claude(
    when_away: str,
    wait: float,
    way: str,
    standalone: bool,
    report: Path | None,
    fail_on: str | None,
    command: tuple[str, ...],
) -> int | None:
    """Become the Claude CLI of COMMAND (`-- claude …`), under the daemon's watch.

    Input, output, exit code, signals and terminal are the CLI's own: this process becomes it. A link named `claude` to
    `chaperon` that comes first on PATH does the same, and so does such a link as the CLI path of an agent SDK.
    """
    if not standalone and (report is not None or fail_on is not None):
        raise click.UsageError("--report and --fail-on go with --standalone alone: a daemon has its own reports.")
    if standalone:
        return _alone(command, wait, report, fail_on)
    from supervisor.runtime.attached import relay_client, relay_settings
    from supervisor.runtime.attached.relay_settings import TOKEN_VARIABLE
    from supervisor.runtime.attached.settings import hook_entries
    from supervisor.runtime.shim import process_tree

    path, socket, relay = program(command[0]), hooks_socket(), None
    if LAUNCHED not in os.environ:
        found, _ = way_of(way, shared=False, command=path)
        subject = f"p-{os.getpid()}-{process_tree.start_ticks(os.getpid())}"  # which it stays as it becomes the CLI
        with relay_settings.alone(common.here().attached):
            relay_settings.lend(common.here().attached, subject)
            relay = relay_use(subject if found == "http" else "", socket, f"${TOKEN_VARIABLE}")
            relay_client.start(relay.folder)
        os.environ[TOKEN_VARIABLE] = relay.settings.token(subject)
    entries = hook_entries.handlers(socket, cast("WhenAway", when_away), wait, relay)
    arguments = with_hooks(command[1:], entries)
    terminal.begun()
    try:
        os.execv(path, [path, *arguments])  # noqa: S606 - no shell is wanted
    except OSError as error:
        from supervisor.runtime.processes.find_cli import CliNotStartedError

        raise CliNotStartedError(path, error) from error


def _alone(command: Sequence[str], wait: float, report: Path | None, fail_on: str | None) -> int:
    """Run the CLI under a daemon of its own; its exit code."""
    terminal.begin("loading the daemon")
    from supervisor.runtime.attached.settings import hook_entries
    from supervisor.standalone.watched_run import WatchedRun, run_watched

    def arguments(socket: Path) -> list[str]:
        return with_hooks(command[1:], hook_entries.handlers(socket, "block", wait))

    def tell(text: str) -> None:
        terminal.echo(f"chaperon: {text}", err=True)

    severity, config = Severity(fail_on) if fail_on else None, common.configuration().config
    terminal.begun()  # the CLI has the terminal from here on
    return run_watched(WatchedRun(program(command[0]), arguments, config, tell, report, severity))


def program(name: str) -> str:
    """Return the path of the CLI of that name, which is not a link to ourselves.

    Raises:
        UsageError: There is none, or it is another program.
    """
    if Path(name).name != NAME:
        raise UsageError(
            f"{name!r} is not the Claude CLI, so hooks mean nothing to it; nothing was started.",
            way_out="Say: chaperon exec -- claude …, or put a link named claude to chaperon first on PATH.",
        )
    if "/" in name:
        return str(Path(name).absolute())
    ours = Path(sys.argv[0]).resolve()
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    kept = [folder for folder in folders if (Path(folder) / name).resolve() != ours]
    from supervisor.runtime.processes.find_cli import locate

    path, _ = locate(common.setting("agent.command"), {**os.environ, "PATH": os.pathsep.join(kept)})
    return path


def with_hooks(arguments: Sequence[str], entries: dict[str, dict[str, Any]]) -> list[str]:
    """Return the CLI's arguments with settings that have these hooks too.

    Raises:
        UsageError: The settings of the arguments cannot be read.
    """
    kept, given, number = list[str](), "", 0
    while number < len(arguments):
        argument = arguments[number]
        if argument == "--":
            break
        if argument == SETTINGS and number + 1 < len(arguments):
            given, number = arguments[number + 1], number + 2
        elif argument.startswith(f"{SETTINGS}="):
            given, number = argument.partition("=")[2], number + 1
        else:
            kept.append(argument)
            number += 1
    settings = _settings(given) if given else {}
    hooks = settings.setdefault("hooks", {})
    if not isinstance(hooks, dict) or any(not isinstance(hooks.get(event, []), list) for event in entries):
        raise UsageError(f"The hooks of {SETTINGS} {given[:200]!r} are no lists by their names; nothing was started.")
    for event, entry in entries.items():
        hooks[event] = [*hooks.get(event, []), entry]
    return [SETTINGS, json.dumps(settings), *kept, *arguments[number:]]


def _settings(given: str) -> dict[str, Any]:
    try:
        text = given if given.lstrip().startswith("{") else Path(given).read_text()
        found = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"The settings {given[:200]!r} cannot be read ({error}); nothing was started.") from error
    if not isinstance(found, dict):
        raise UsageError(f"The settings {given[:200]!r} are no object; nothing was started.")
    return found
