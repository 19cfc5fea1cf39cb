"""The command that shows the board in a terminal."""

import os
import sys

import click

from monitors.contract.errors import ChaperonError
from supervisor.cli import common
from supervisor.cli.output import terminal


class NoTerminalError(ChaperonError):
    """The board needs a terminal, and packages, that are not there."""


@click.command()
def top() -> None:
    """Show all agents full screen, answer what waits, and steer. `?` lists the keys."""
    terminal.begin("loading the board")
    try:
        from supervisor.top.app import Top
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        raise NoTerminalError(
            "The board needs packages that are not installed; nothing was started.",
            way_out="Install chaperon with its extra [top], as its README has it for [claude]. chaperon ps needs none.",
        ) from error
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NoTerminalError(
            "The board needs a terminal; this is a pipe.", way_out="chaperon ps prints the same once."
        )
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        raise NoTerminalError(
            f"The board draws over the screen, which a terminal with TERM={os.environ.get('TERM', '')} does not understand.",
            way_out="Set TERM to the terminal's kind, such as xterm-256color. chaperon ps prints the same once.",
        )
    common.daemon().get("/v1/health")
    terminal.begun()
    Top(common.daemon).run()
