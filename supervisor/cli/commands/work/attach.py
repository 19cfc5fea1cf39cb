"""The commands by which a person's own Claude comes under watch, and goes from it."""

import os
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.wording import counted
from supervisor.cli import common
from supervisor.cli.client_errors import NoDaemonError
from supervisor.cli.output import terminal
from supervisor.cli.output.words import clean
from supervisor.runtime.attached.adapters.other_cli import NAMES, adapter
from supervisor.runtime.attached.hook import CALL_SECONDS

if TYPE_CHECKING:
    from supervisor.runtime.attached.settings.attachments import Attachments, Scope, SettingsChange
    from supervisor.runtime.attached.settings.hook_entries import RelayUse, Way, WhenAway

_SCOPES = (
    click.option("--local", "scope", flag_value="local", help="Yours, in this project: `.claude/settings.local.json`."),
    click.option("--project", "scope", flag_value="project", help="The project's: `.claude/settings.json`."),
    click.option("--user", "scope", flag_value="user", help="Yours, everywhere: `~/.claude/settings.json`."),
)

_FOR = click.option(
    "--for",
    "cli",
    type=click.Choice(["claude", *NAMES]),
    default="claude",
    show_default=True,
    help="The CLI whose settings they are. Other CLIs than Claude's know --user and --project.",
)

_PRINT = click.option("--print", "only_print", is_flag=True, help="Only show the change.")


def when_away_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what a call meets while no daemon is there."""
    for option in (
        click.option(
            "--wait",
            type=common.FiniteRange(0, 3600),
            default=CALL_SECONDS,
            show_default=True,
            help="How many seconds a call waits for a daemon that is away before that.",
        ),
        click.option(
            "--when-away",
            type=click.Choice(["block", "ask", "allow"]),
            default="block",
            show_default=True,
            help="What a call meets while no daemon is there: it does not run, the CLI asks you, or it runs unreviewed.",
        ),
    ):
        command = option(command)
    return command


way_option = click.option(
    "--by",
    "way",
    type=click.Choice(["auto", "http", "command"]),
    default="auto",
    show_default=True,
    help="How hooks come: by HTTP on loopback, or by a program that the CLI starts each time, as older CLIs need.",
)
"""The option that says how hooks come."""


WITHOUT_DAEMON = {
    "block": "Until one does, calls of sessions that begin here do not run.",
    "ask": "Until one does, you are asked of each call of sessions that begin here.",
    "allow": "Until one does, calls of sessions that begin here run without a review.",
}
"""Texts for who attaches while no daemon is there, by their choice."""


@click.command()
@_SCOPES[0]
@_SCOPES[1]
@_SCOPES[2]
@_FOR
@when_away_options
@way_option
@_PRINT
@common.json_option
def attach(scope: str | None, cli: str, when_away: str, wait: float, way: str, only_print: bool, as_json: bool) -> None:
    """Put every Claude that you start here under the daemon's watch.

    Hooks are put into a settings file of the CLI: into your own of this project if no other is named. Sessions that
    begin from now on are agents: reviewed, in `ps`, stopped by `stop`. All else in the file stays as it is, byte for
    byte, and `chaperon detach` takes the hooks out again. `--print` shows the change before it is made.
    """
    terminal.begin("reading the settings of the CLI")
    if not only_print:
        common.refuse_agents()
    from supervisor.runtime.attached import relay_client
    from supervisor.runtime.attached.settings import hook_entries

    kept, path, socket = _kept(), _path(scope, cli), hooks_socket()
    alone = nullcontext() if only_print else kept.alone()
    if cli != "claude":
        if way == "http":
            raise UsageError("Another CLI's hooks are programs, and cannot go by HTTP; nothing was changed.")
        entries = hook_entries.entries_for(cli, socket, cast("WhenAway", when_away), wait)
        with alone:
            change = kept.attaching(path, entries, adapter(cli).TOP)
            _carry_out(kept, change, "already attached as asked", only_print=only_print, as_json=as_json)
        return
    found, why = way_of(way, shared=scope == "project")
    with alone:
        subject = f"f-{sha256(os.fsencode(path)).hexdigest()[:16]}" if found == "http" else ""
        try:
            relay = relay_use(subject, socket, writes=not only_print)
            entries = hook_entries.handlers(socket, cast("WhenAway", when_away), wait, relay)
            change = kept.attaching(path, entries)
            if not only_print and change.before != change.after:
                relay_client.start(relay.folder)
            _carry_out(kept, change, "already attached as asked", only_print=only_print, as_json=as_json)
        finally:
            _end_relay_without_use(kept, only_print=only_print)
    if why and not as_json:
        terminal.echo(f"Hooks come by a program: {why}.")
    if scope in (None, "local") and not only_print and not as_json and (exclude := _not_ignored(path)):
        terminal.echo(
            f"git does not ignore this file, which is yours alone: committed, its hooks would block the calls of others. "
            f"To keep it out: echo .claude/{path.name} >> {shlex.quote(clean(exclude, 1_000))}"
        )
    if not only_print and not as_json and not _is_there():
        terminal.echo(f"No daemon runs. {WITHOUT_DAEMON[when_away]} Start one: chaperon serve")


@click.command()
@_SCOPES[0]
@_SCOPES[1]
@_SCOPES[2]
@_FOR
@_PRINT
@common.json_option
def detach(scope: str | None, cli: str, only_print: bool, as_json: bool) -> None:
    """Take the hooks that `attach` put into a settings file out again.

    The file becomes what it was before, byte for byte; if you edited it since, only the hooks go. Sessions that run
    keep the hooks that they began with.
    """
    terminal.begin("reading the settings of the CLI")
    if not only_print:
        common.refuse_agents()
    kept, path = _kept(), _path(scope, cli)
    with nullcontext() if only_print else kept.alone():
        _carry_out(kept, kept.detaching(path), "not attached", only_print=only_print, as_json=as_json)
        _end_relay_without_use(kept, only_print=only_print)


def _end_relay_without_use(kept: "Attachments", *, only_print: bool) -> None:
    """Take the relay's settings away if no file has hooks by it, as behind an attempt that failed."""
    if not only_print and not kept.files():
        from supervisor.runtime.attached import relay_settings

        relay_settings.remove(_folder())


def _not_ignored(path: Path) -> Path | None:
    """Return git's own list of what to ignore in the repository around a file, if nothing says that it be ignored."""
    from checkpoints.workspace import repository

    opened = repository.open_worktree(path.parent)
    if opened is None or opened.path_is_ignored(os.path.relpath(os.path.realpath(path), opened.workdir)):
        return None
    folders = repository.find(Path(opened.workdir))
    return folders.common / "info/exclude" if folders else None


def _is_there() -> bool:
    """Whether a daemon listens."""
    try:
        common.daemon()
    except NoDaemonError:
        return False
    return True


def _kept() -> "Attachments":
    from supervisor.runtime.attached.settings.attachments import Attachments

    return Attachments(_folder())


def _folder() -> Path:
    return common.here().attached


def _path(scope: str | None, cli: str) -> Path:
    from checkpoints.workspace.worktree import worktree_of
    from supervisor.runtime.attached.settings.attachments import place_for, place_of

    here = Path.cwd()
    try:
        top = worktree_of(here)
    except ChaperonError:
        top = here
    if cli != "claude":
        return place_for(cli, cast("Scope | None", scope), top, os.environ)
    return place_of(cast("Scope", scope or "local"), top, os.environ)


def hooks_socket() -> Path:
    """The socket of hooks of the daemon that listens, or of the one that this user's would be."""
    try:
        return common.daemon().socket.with_name(common.here().hooks_socket.name)
    except NoDaemonError:
        return common.here().hooks_socket


def relay_use(subject: str, socket: Path, token: str = "", *, writes: bool = True) -> "RelayUse":
    """Return the way of hooks to the relay, whose settings are made if there are none.

    Args:
        subject: The subject of the token in hooks by HTTP; empty: no hook goes by HTTP.
        socket: The daemon's socket of hooks.
        token: Stands in the hooks in the token's place.
        writes: Whether what is not there is made; if not, the way is as it would be.
    """
    from supervisor.runtime.attached import launcher, relay_settings
    from supervisor.runtime.attached.settings.hook_entries import RelayUse

    settings = (relay_settings.write if writes else relay_settings.planned)(_folder(), socket)
    program = (launcher.built if writes else launcher.planned)(_folder())
    return RelayUse(_folder(), settings, subject and (token or settings.token(subject)), program)


def way_of(asked: str, *, shared: bool, command: str | None = None) -> "tuple[Way, str]":
    """Return the way of hooks, and why it is not HTTP if the person did not say which.

    Args:
        asked: The person's choice.
        shared: Whether others get the settings too.
        command: The CLI; None for the one that chaperon finds.

    Raises:
        UsageError: It is not possible as asked.
    """
    from supervisor.runtime.attached.settings.hook_entries import best_way

    if asked == "http" and shared:
        raise UsageError(
            "Hooks by HTTP need a token, which a file of the project's would show to others; nothing was changed.",
            way_out="Take --local, or --by command.",
        )
    if asked != "auto":
        return cast("Way", asked), ""
    from supervisor.runtime.processes.find_cli import find_cli

    path, sandbox = common.setting("agent.command"), common.setting("agent.sandbox")
    try:
        version = find_cli(command or path, os.environ).version
    except ChaperonError:
        version = None
    return best_way(version, os.environ, shared=shared, walled=sandbox != "none")


def _carry_out(kept: "Attachments", change: "SettingsChange", without: str, *, only_print: bool, as_json: bool) -> None:
    """Make a change and say so, or show it.

    Args:
        kept: Makes it.
        change: The change.
        without: What the file is if there is nothing to change.
        only_print: Whether it is shown line by line, and not made.
        as_json: Whether it is shown as JSON.
    """
    path, changes = str(change.path), change.before != change.after
    written = changes and not only_print
    if written:
        kept.carry_out(change)
    if as_json:
        terminal.echo_json({"path": path, "written": written, "difference": change.difference if changes else ""})
    elif only_print and changes:
        terminal.echo(change.difference, nl=False)
    else:
        terminal.echo(f"{clean(path)}: {_said(change) if written else f'{without}; nothing was changed'}")


def _said(change: "SettingsChange") -> str:
    """Say what became of a file, in one line: the hooks are some 150, in which no one finds what matters."""
    if change.after is None:
        return "removed, as it was not there before"
    signs = [line[:1] for line in change.difference.splitlines()[2:]]
    added, removed = counted(signs.count("+"), "line"), f"{signs.count('-'):,}"
    return f"written: {added} added, {removed} removed"
