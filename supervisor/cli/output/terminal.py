"""The only output of commands to the terminal.

Names and texts of agents, files and programs may hold characters that a terminal obeys: colours that hide text, moves
of the cursor, directions that turn a name round. They are shown as escapes here. Text from outside has gone through
`wording.clean` before, so this is the second of two fences.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from shutil import get_terminal_size
from typing import Any

import click

from monitors.contract import anyjson
from supervisor.protocol.plain import ACTS, spelled

_OURS = r"\x1b\[(?:[0-2]|22|3[1-7]|9[1-7])m"
"""The colours and weights that commands use. None of them hides anything."""

_PLAIN = re.compile(f"({_OURS})|{ACTS}")


_begun: list[str] = []
"""The beginning that a command told of, while it stands on the terminal."""


def begin(what: str) -> None:
    """Say on a terminal what a command begins with that has much to load, until its first output takes the place."""
    if sys.stderr.isatty():
        draw_over(f"{what} …")
        _begun.append(what)


def begun() -> None:
    """Take away what `begin` said, if it still stands there."""
    if _begun:
        _begun.clear()
        draw_over("")


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text and a newline, if one is wanted, with everything as an escape that acts instead of being shown."""
    begun()
    click.echo(harmless(str(text)), err=err, nl=nl)


def ask(question: str) -> None:
    """Print a question on standard error, and stay in its line."""
    begun()
    click.echo(harmless(question), nl=False, err=True)


def draw_over(text: str) -> None:
    """Draw a line on standard error in place of the one that was drawn so before; an empty one takes it away."""
    click.echo(f"\r\x1b[K{harmless(text)}", nl=False, err=True, color=True)


def answer(data: Any, text: Callable[[], str | Iterable[str]], *, as_json: bool) -> None:
    """Print an answer: its data as JSON, or for people its text, or its lines, if there are any."""
    if as_json:
        echo_json(data)
    elif shown := text():
        echo(shown if isinstance(shown, str) else "\n".join(shown))


def echo_json(data: Any) -> None:
    """Print data as JSON: indented for a terminal, one line for a pipe."""
    begun()
    click.echo(anyjson.pretty(data) if sys.stdout.isatty() else anyjson.dumps(data) + b"\n", nl=False)


def echo_line(line: bytes) -> None:
    """Print a line of JSON from elsewhere."""
    begun()
    click.echo(anyjson.legible(line))


def width() -> int | None:
    """Return the characters of a terminal's line; None in a pipe, which is not wrapped."""
    return get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str, indent: int) -> list[str]:
    """Return an indented text, in as many lines as the terminal needs; none for an empty text."""
    if not text:
        return []
    wide = width()
    lines = [text] if wide is None else textwrap.wrap(text, max(20, wide - indent))
    return [" " * indent + line for line in lines]


def harmless(text: str) -> str:
    """The text with escapes for what a terminal would obey; line breaks, tabs and the colours of commands stay."""
    return _PLAIN.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    return found[1] or spelled(found[0])
