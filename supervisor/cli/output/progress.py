"""Progress of long work in a command: a line that is drawn over on a terminal, and few lines elsewhere.

It goes to standard error, so that the output of a command can be piped. Work that is over soon is not told of.
"""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import get_terminal_size
from typing import Any, Protocol

from monitors.contract.errors import ChaperonError
from monitors.contract.progress import Report, WorkProgress
from supervisor.cli.client import Client, wait_for
from supervisor.cli.output import terminal
from supervisor.cli.output.words import clean
from supervisor.runtime.clock import Clock

SOON_SECONDS = 0.5
"""Work that is over by then is not drawn: it would be gone before it is read."""

DRAWN_SECONDS = 0.1
"""Between two drawings of the line."""

QUIET_SECONDS = (2.0, 5.0, 10.0, 20.0, 30.0)
"""When lines are printed where no terminal is, in seconds since the begin; from then on each 30 s."""

UNTOLD_SECONDS = 10.0
"""Work from which a line says how long it lasts where no terminal is, if the daemon does not say how far it is: most is
over by then, and the line says no more than a clock."""

ASKED_SECONDS = 0.3
"""Between two questions to the daemon how far it is: a person sees it move, and it has the rest of its time."""


class _Clock(Protocol):
    def mono(self) -> float: ...


class Shower:
    """Draws how far some work is.

    Args:
        on_terminal: Whether the line can be drawn over.
        clock: Tells monotonic seconds.
    """

    def __init__(self, *, on_terminal: bool, clock: _Clock) -> None:
        self._on_terminal, self._clock = on_terminal, clock
        self._began = clock.mono()
        self._drawn = 0.0
        self._printed = 0
        self._is_there = False
        self._lock = threading.Lock()

    def report(self, what: str, subject: str, unit: str) -> Report:
        """Return what some work is to call."""

        def made(done: int, total: int | None) -> None:
            self.show(
                WorkProgress(what, clean(subject, 200), unit, done, total, self._clock.mono() - self._began).sentence
            )

        return made

    def show(self, sentence: str) -> None:
        """Show a sentence, if it is time for one."""
        with self._lock:
            now = self._clock.mono() - self._began
            if self._on_terminal:
                self._draw(sentence, now)
            elif now >= self._due():
                self._printed = sum(at <= now for at in QUIET_SECONDS) + int(
                    max(0.0, now - QUIET_SECONDS[-1]) // QUIET_SECONDS[-1]
                )
                terminal.echo(sentence, err=True)

    def _due(self) -> float:
        """When the next line is printed where no terminal is."""
        if self._printed < len(QUIET_SECONDS):
            return QUIET_SECONDS[self._printed]
        return QUIET_SECONDS[-1] * (2 + self._printed - len(QUIET_SECONDS))

    def _draw(self, sentence: str, now: float) -> None:
        if now < SOON_SECONDS or (self._is_there and now - self._drawn < DRAWN_SECONDS):
            return
        self._drawn, self._is_there = now, True
        terminal.draw_over(sentence[: max(20, get_terminal_size().columns - 1)])

    def end(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._is_there:
                self._is_there = False
                terminal.draw_over("")


@contextmanager
def shown(what: str, subject: str, unit: str, *, quiet: bool = False) -> Iterator[Report]:
    """Show the progress of the work of the block, which calls what it is given.

    Args:
        what: A verb. Example: `replaying`.
        subject: The thing that is worked on.
        unit: The counted thing, in the singular.
        quiet: Whether nothing is shown.
    """
    shower = Shower(on_terminal=sys.stderr.isatty(), clock=Clock())
    report = shower.report(what, subject, unit)
    try:
        yield (lambda _done, _total: None) if quiet else report
    finally:
        shower.end()


def post_long(daemon: Client, path: str, body: Any, what: str, subject: str) -> Any:
    """Ask the daemon for something long, and show how far it is while its answer is waited for; raises like its `post`.

    Args:
        daemon: It is asked how far it is on a connection of its own.
        path: The path of the request.
        body: Its body.
        what: A verb for what was asked. It is shown if the daemon does not say how far it is.
        subject: The thing that is worked on.
    """
    on_terminal, clock = sys.stderr.isatty(), Clock()
    shower = Shower(on_terminal=on_terminal, clock=clock)
    began = clock.mono()

    def wait(connection: socket.socket, seconds: float | None) -> None:
        end = None if seconds is None else clock.mono() + seconds
        while True:
            left = None if end is None else end - clock.mono()
            if left is not None and left <= 0:
                raise TimeoutError
            with suppress(TimeoutError):
                wait_for(connection, ASKED_SECONDS if left is None else min(left, ASKED_SECONDS))
                return
            with suppress(ChaperonError, KeyError, TypeError):  # the request itself says what is wrong
                ours = [one for one in daemon.get("/v1/work") if one["seconds"] <= clock.mono() - began + 1.0]
                lasts = clock.mono() - began
                if ours:
                    shower.show(WorkProgress.of(ours[0]).sentence)
                elif on_terminal or lasts >= UNTOLD_SECONDS:
                    shower.show(WorkProgress(what, clean(subject, 200), "", 0, None, lasts).sentence)

    try:
        return daemon.post(path, body, seconds=None, wait=wait)
    finally:
        shower.end()
