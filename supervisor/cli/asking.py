"""Actions that wait for a person, shown as a question on the terminal of a run that is followed.

The question stays while the run goes on: lines printed meanwhile come above it, and a reply from elsewhere removes it.
It names its action, for several can wait at once, and what was typed before it was put answers it not.
"""

import os
import sys
import termios
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from supervisor.cli.output import terminal
from supervisor.cli.output.words import clean, rest_of_call, what

CHOICES = "[y]es or [n]o, and what to tell the model, if anything: "

LONGEST_ANSWER = 4_096
"""Bytes of a line that a terminal hands over at most: N_TTY_BUF_SIZE of Linux."""

Answer = Callable[[str, bool, str], None]
"""Answers a request: its id, whether it may run, and a note for the model."""


class Asker:
    """The questions of one run, oldest first.

    Args:
        answer: Answers a request.
        fd: The terminal that is read; None asks nothing.
    """

    def __init__(self, answer: Answer, fd: int | None) -> None:
        self._answer = answer
        self._fd = fd
        self._open: dict[str, tuple[str, Any]] = {}
        self._typed = b""

    @property
    def fd(self) -> int | None:
        """The descriptor to wait for beside all else; None while nothing is asked."""
        return self._fd if self._open else None

    def saw(self, record: Mapping[str, Any], *, printed: bool) -> None:
        """Take in an event: ask, or ask no more.

        Args:
            record: The event.
            printed: Whether anything was printed of it, so that the question has to be put again.
        """
        if self._fd is None:
            return
        before = list(self._open)
        match record["kind"]:
            case "approval_asked":
                self._open[record["request_id"]] = record["action"]["tool"], record["action"]["input"]
            case "review_made" | "approval_given":
                self._open.pop(record["request_id"], None)
            case "state_changed" if record["after"] not in ("running", "paused"):
                self._open.clear()
        if self._open and list(self._open)[:1] != before[:1]:
            self._turn_to_oldest()
        elif self._open and (printed or len(self._open) != len(before)):
            self._ask()

    def make_way(self) -> None:
        """Leave the line of the question, before something else is printed."""
        if self._open:
            terminal.echo(err=True)

    def read(self) -> None:
        """Read what was typed; a whole line answers the oldest question."""
        assert self._fd is not None
        data = os.read(self._fd, LONGEST_ANSWER)
        if not data:  # the end of the input: somebody else may answer
            terminal.echo(err=True)
            self._open.clear()
            return
        self._typed += data
        while b"\n" in self._typed and self._open:
            line, _, self._typed = self._typed.partition(b"\n")
            self._line(line.decode(errors="replace").strip())

    def _line(self, line: str) -> None:
        word, _, note = line.partition(" ")
        granted = {"y": True, "yes": True, "n": False, "no": False}.get(word.lower())
        if granted is None:
            terminal.echo("Say y or n first.", err=True)
            self._ask()
            return
        oldest = next(iter(self._open))
        del self._open[oldest]
        self._answer(oldest, granted, note.strip())
        if self._open:
            self._turn_to_oldest()

    def _turn_to_oldest(self) -> None:
        """Show the oldest action whole and ask about it; what was typed before was meant for none or another."""
        self._typed = b""
        forget_typed(self._fd or 0)
        for line in rest_of_call(*next(iter(self._open.values()))):
            terminal.echo(f"| {line}", err=True)
        self._ask()

    def _ask(self) -> None:
        tool, given = next(iter(self._open.values()))
        terminal.ask(f"Let {clean(tool)} {what(given)} run? {CHOICES}")


def forget_typed(fd: int) -> None:
    """Drop what was typed before something is asked: it answers nothing."""
    with suppress(termios.error):
        termios.tcflush(fd, termios.TCIFLUSH)


def terminal_to_ask() -> int | None:
    """Return the descriptor of the terminal for questions; None if there is none."""
    return sys.stdin.fileno() if sys.stdin.isatty() and sys.stderr.isatty() else None
