"""The two clients, over the daemon's socket: `SyncClient` blocks, `AsyncClient` is awaited.

Both speak through the client of the command line, which looks who listens before it sends anything. A client keeps no
connection, so it works on after a restart of the daemon.
"""

import os
import pwd
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from chaperon.calls import ApiCall, Calls, JsonObject
from monitors.contract import anyjson
from supervisor.cli.client import ANSWER_SECONDS, Wait, connect, wait_for
from supervisor.config.paths import sockets_to_try

T = TypeVar("T")


class SyncClient(Calls[JsonObject, list[JsonObject], Iterator[JsonObject]]):
    """A client whose methods block until the daemon answered.

    Args:
        socket: The daemon's socket; None takes this user's daemon, or the system service for this user.
        wait: How an answer is waited for.
    """

    def __init__(self, socket: str | Path | None = None, *, wait: Wait = wait_for) -> None:
        self._socket, self._wait = socket, wait

    def ask(self, call: ApiCall) -> Any:
        """Send a request and give back its answer; for routes that have no method here."""
        seconds = None if call.patient else ANSWER_SECONDS
        daemon = connect(*self._sockets())
        return daemon.request(call.method, call.path, call.body, query=_given(call), seconds=seconds, wait=self._wait)

    def stream(self, call: ApiCall) -> Iterator[JsonObject]:
        """Send a request and yield the objects of its answer, line by line."""
        for line in connect(*self._sockets()).lines(call.path, wait=self._wait, **_given(call)):
            yield anyjson.decode(line)

    def _sockets(self) -> tuple[Path, ...]:
        if self._socket is not None:
            return (Path(self._socket),)
        uid = os.geteuid()
        return sockets_to_try(os.environ, uid, pwd.getpwuid(uid).pw_name)


class AsyncClient(Calls[Awaitable[JsonObject], Awaitable[list[JsonObject]], AsyncIterator[JsonObject]]):
    """A client whose methods are awaited, on asyncio or trio; a request whose caller is cancelled hangs up.

    Args:
        socket: The daemon's socket; None takes this user's daemon, or the system service for this user.
    """

    def __init__(self, socket: str | Path | None = None) -> None:
        self._socket = socket

    async def ask(self, call: ApiCall) -> Any:
        """Send a request and give back its answer; for routes that have no method here."""
        line = _Line()
        try:
            return await _in_thread(partial(SyncClient(self._socket, wait=line).ask, call))
        finally:
            line.hang_up()

    async def stream(self, call: ApiCall) -> AsyncIterator[JsonObject]:
        """Send a request and yield the objects of its answer, line by line."""
        line = _Line()
        records = SyncClient(self._socket, wait=line).stream(call)
        try:
            while (record := await _in_thread(partial(next, records, None))) is not None:
                yield record
        finally:
            line.hang_up()


class _Line:
    """The connection of one request, which its thread waits for and the event loop can end."""

    def __init__(self) -> None:
        self._connection: socket.socket | None = None
        self._ended = False

    def __call__(self, connection: socket.socket, seconds: float | None) -> None:
        """Wait for an answer, in the request's thread; raises like `wait_for`."""
        self._connection = connection
        if self._ended:  # looked at once the connection is known, so that one of the two threads sees the other
            raise ConnectionAbortedError("the caller was cancelled")
        wait_for(connection, seconds)

    def hang_up(self) -> None:
        """End the connection, if it is there: the thread that waits for it finds its end and ends too."""
        self._ended = True
        if self._connection is not None:
            with suppress(OSError):  # it has ended already
                self._connection.shutdown(socket.SHUT_RDWR)


async def _in_thread(work: Callable[[], T]) -> T:
    # A limiter of its own: streams that wait for days must not use up the threads of the program.
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))


def _given(call: ApiCall) -> dict[str, Any]:
    """The query without what was left open."""
    return {name: value for name, value in call.query.items() if value is not None}
