"""The commands by which a person's own Claude comes under watch, and goes from it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from monitors.contract.errors import ChaperonError
from supervisor.cli import common, terminal
from supervisor.cli.client import NoDaemonError
from supervisor.cli.words import clean
from supervisor.runtime.attached.hook import CALL_SECONDS

if TYPE_CHECKING:
    from supervisor.runtime.attached.attachments import Attachments, Scope, SettingsChange, WhenAway

_SCOPES = (
    click.option("--local", "scope", flag_value="local", help="Yours, in this project: `.claude/settings.local.json`."),
    click.option("--project", "scope", flag_value="project", help="The project's: `.claude/settings.json`."),
    click.option("--user", "scope", flag_value="user", help="Yours, everywhere: `~/.claude/settings.json`."),
)

_PRINT = click.option("--print", "only_print", is_flag=True, help="Only show the change.")


def when_away_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what a call meets while no daemon is there."""
    for option in (
        click.option(
            "--wait",
            type=click.FloatRange(0, 3600),
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


@click.command()
@_SCOPES[0]
@_SCOPES[1]
@_SCOPES[2]
@when_away_options
@_PRINT
@common.json_option
def attach(scope: str | None, when_away: str, wait: float, only_print: bool, as_json: bool) -> None:
    """Put every Claude that you start here under the daemon's watch.

    Hooks are put into a settings file of the CLI: into your own of this project if no other is named. Sessions that
    begin from now on are agents: reviewed, in `ps`, stopped by `stop`. The change is shown; all else in the file stays
    as it is, byte for byte, and `chaperon detach` takes the hooks out again.
    """

    def work() -> None:
        from supervisor.runtime.attached import attachments

        kept, path = _kept(), _path(scope)
        with kept.alone():
            entries = attachments.handlers(hooks_socket(), cast("WhenAway", when_away), wait)
            change = kept.attaching(path, entries)
            _carry_out(kept, change, "already attached as asked", only_print=only_print, as_json=as_json)

    common.run(work)


@click.command()
@_SCOPES[0]
@_SCOPES[1]
@_SCOPES[2]
@_PRINT
@common.json_option
def detach(scope: str | None, only_print: bool, as_json: bool) -> None:
    """Take the hooks that `attach` put into a settings file out again.

    The file becomes what it was before, byte for byte; if you edited it since, only the hooks go. Sessions that run
    keep the hooks that they began with.
    """

    def work() -> None:
        kept, path = _kept(), _path(scope)
        with kept.alone():
            _carry_out(kept, kept.detaching(path), "not attached", only_print=only_print, as_json=as_json)

    common.run(work)


def _kept() -> "Attachments":
    from supervisor.runtime.attached.attachments import Attachments

    return Attachments(common.here().state / "attached")


def _path(scope: str | None) -> Path:
    from checkpoints.workspace.worktree import worktree_of
    from supervisor.runtime.attached.attachments import place_of

    here = Path.cwd()
    try:
        top = worktree_of(here)
    except ChaperonError:
        top = here
    return place_of(cast("Scope", scope or "local"), top, os.environ)


def hooks_socket() -> Path:
    """The socket of hooks of the daemon that listens, or of the one that this user's would be."""
    try:
        return common.daemon().socket.with_name(common.here().hooks_socket.name)
    except NoDaemonError:
        return common.here().hooks_socket


def _carry_out(kept: "Attachments", change: "SettingsChange", without: str, *, only_print: bool, as_json: bool) -> None:
    """Show a change, and make it.

    Args:
        kept: Makes it.
        change: The change.
        without: What the file is if there is nothing to change.
        only_print: Whether it is only shown.
        as_json: Whether it is shown as JSON.
    """
    path, changes = str(change.path), change.before != change.after
    if not as_json:
        terminal.echo(
            change.difference if changes else f"{clean(path)}: {without}; nothing was changed", nl=not changes
        )
    written = changes and not only_print
    if written:
        kept.carry_out(change)
    if as_json:
        terminal.echo_json({"path": path, "written": written, "difference": change.difference if changes else ""})
    elif written:
        terminal.echo(f"{clean(path)}: written")
