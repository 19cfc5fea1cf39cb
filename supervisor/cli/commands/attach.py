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
def attach(scope: str | None, when_away: str, wait: float, only_print: bool) -> None:
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
            _carry_out(kept, change, only_print, "already attached as asked; nothing was changed")

    common.run(work)


@click.command()
@_SCOPES[0]
@_SCOPES[1]
@_SCOPES[2]
@_PRINT
def detach(scope: str | None, only_print: bool) -> None:
    """Take the hooks that `attach` put into a settings file out again.

    The file becomes what it was before, byte for byte; if you edited it since, only the hooks go. Sessions that run
    keep the hooks that they began with.
    """

    def work() -> None:
        kept, path = _kept(), _path(scope)
        with kept.alone():
            _carry_out(kept, kept.detaching(path), only_print, "not attached; nothing was changed")

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


def _carry_out(kept: "Attachments", change: "SettingsChange", only_print: bool, nothing: str) -> None:
    if change.before == change.after:
        terminal.echo(f"{clean(str(change.path))}: {nothing}")
        return
    terminal.echo(change.difference, nl=False)
    if not only_print:
        kept.carry_out(change)
        terminal.echo(f"{clean(str(change.path))}: written")
