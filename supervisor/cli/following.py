"""Streams of the daemon as commands read them: across its restarts, past damaged lines, and until our reader goes."""

import itertools
import os
import select
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from io import UnsupportedOperation
from typing import Any, NamedTuple

from monitors.contract import anyjson
from supervisor.cli import common
from supervisor.cli.client import Client, Wait
from supervisor.cli.client_errors import DaemonGoneError, NoDaemonError
from supervisor.cli.output import terminal

RETRY_SECONDS = 0.2
"""Between two looks for a daemon that went away: a restart takes seconds, and a look microseconds."""

QUOTED = 120
"""Characters of a line that cannot be read that are shown."""

WINDOW = 200
"""Events that are looked at first for the last so many lines; fewer than half of all events say something to people."""


class StreamLine(NamedTuple):
    """One line of a stream."""

    line: bytes
    record: Mapping[str, Any]


def readable(lines: Iterable[bytes]) -> Iterator[StreamLine]:
    """Yield the lines that can be read; of each other one, a notice goes to standard error."""
    for line in lines:
        try:
            record = anyjson.decode(line)
        except ValueError:
            _notice("it is no JSON", line)
            continue
        if not isinstance(record, dict):
            _notice("it is no object", line)
        elif "oversized" in record:
            _notice(f"it has {record['oversized']:,} bytes", str(record["head"]).encode())
        else:
            yield StreamLine(line, record)


def _notice(why: str, line: bytes) -> None:
    shown = line[:QUOTED].decode(errors="replace")
    terminal.echo(f"chaperon: A line was passed over, for {why}. It begins: {shown}", err=True)


Lines = Callable[[StreamLine], list[str]]
"""Makes lines of a record."""


class OutputWatch:
    """Watches for the end of the reader of this command's output."""

    def __init__(self) -> None:
        self._fd: int | None = None
        with suppress(UnsupportedOperation, ValueError, OSError):  # output that is no file has nobody who could leave
            self._fd = sys.stdout.fileno()

    @property
    def pipe(self) -> int | None:
        """The descriptor of output that is no terminal; the end of a terminal is a signal."""
        return None if self._fd is None or os.isatty(self._fd) else self._fd

    def wait(self, connection: socket.socket | None, seconds: float | None) -> None:
        """Wait for a connection, as `client.wait_for`; with none, for as long as is said.

        Raises:
            TimeoutError: Nothing came.
            BrokenPipeError: Nobody reads any more.
        """
        poll = select.poll()
        if connection is not None:
            poll.register(connection, select.POLLIN)
        if self._fd is not None:
            poll.register(self._fd, 0)  # only that it was closed at the other end
        ready = poll.poll(None if seconds is None else seconds * 1000)
        if not ready:
            raise TimeoutError
        if self._fd in [fd for fd, _ in ready]:
            raise BrokenPipeError

    def pause(self, seconds: float) -> None:
        """Wait for nothing but the time; raises BrokenPipeError as `wait` does."""
        with suppress(TimeoutError):
            self.wait(None, seconds)


def events(daemon: Client, wait: Wait, **query: Any) -> Iterator[StreamLine]:
    """Yield the events that are there."""
    return readable(daemon.lines("/v1/events", wait=wait, **query))


def follow_events(
    daemon: Client,
    after: int,
    *,
    wait: Wait,
    pause: Callable[[float], object],
    patience: float | None = None,
    **query: Any,
) -> Iterator[StreamLine]:
    """Yield the events behind one as they come, each once, over restarts of the daemon.

    Args:
        daemon: Which.
        after: The last event not wanted.
        wait: How more is waited for.
        pause: How a daemon that went away is waited for, for so many seconds at a time.
        patience: How many seconds it may be away; None waits for ever, and 0 not at all.
        query: What else the route is asked.

    Raises:
        DaemonGoneError: It did not come back in that time.
        RefusedError: It refuses the question.
    """
    last = after
    while True:
        with suppress(DaemonGoneError):
            for one in readable(daemon.lines("/v1/events", wait=wait, after=last, follow=True, **query)):
                last = one.record.get("n", last)
                yield one
        daemon = _back(pause, patience)


def follow_incidents(
    daemon: Client, *, wait: Wait, pause: Callable[[float], object], skip: int = 0
) -> Iterator[StreamLine]:
    """Yield the lines of the incident log after the first so many, as `follow_events` does.

    Lines are only ever added to it.
    """
    passed = skip
    while True:
        with suppress(DaemonGoneError):
            for number, line in enumerate(daemon.lines("/v1/incidents", wait=wait, follow=True), 1):
                if number > passed:
                    passed = number
                    yield from readable([line])
        daemon = _back(pause, None)


def _back(pause: Callable[[float], object], patience: float | None) -> Client:
    """Wait for a daemon that went away.

    Raises:
        DaemonGoneError: It stayed away.
    """
    said = False
    for tries in itertools.count():
        if patience is not None and tries * RETRY_SECONDS >= patience:
            break
        pause(RETRY_SECONDS)
        with suppress(NoDaemonError, DaemonGoneError):
            daemon = common.daemon()
            daemon.get("/v1/health")
            if said:
                terminal.echo("chaperon: The daemon is back.", err=True)
            return daemon
        if not said:
            said = True
            terminal.echo("chaperon: The daemon went away. Waiting for it to come back.", err=True)
    raise DaemonGoneError(
        "The daemon went away and did not come back." if patience else "The daemon ended.",
        way_out="Agents wait for it at their next tool call: start it again with chaperon serve, or its service.",
    )


def last_lines(
    daemon: Client, count: int, wait: Wait, make: Callable[[], Lines], **query: Any
) -> tuple[list[str], int, Lines]:
    """The last so many lines, the number of the last event there is, and what made the lines, to go on with.

    Args:
        daemon: Which.
        count: How many lines.
        wait: How events are waited for.
        make: Makes what makes lines of events; it may remember what it made.
        query: What else the route is asked.
    """
    last = int(daemon.get("/v1/health")["last_event"])
    window = max(WINDOW, count)
    while True:
        begin, lines, found = max(0, last - window), make(), 0
        kept: deque[str] = deque(maxlen=min(count, sys.maxsize))
        for one in events(daemon, wait, after=begin, **query):
            last = max(last, int(one.record.get("n", last)))
            made = lines(one)
            found += len(made)
            kept.extend(made)
        if found >= count or begin == 0:
            return list(kept), last, lines
        window *= 4
