"""The server of the socket of hooks: HTTP with the peers that were let in.

A hook is awaited by a person's CLI, and a server of all of HTTP takes a fifth of its time (measured: uvicorn with h11
0.6 ms of 2.5 ms of processor). So this one speaks what hooks speak, and answers in one piece.
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from socket import socket
from typing import Any

import anyio
from anyio.abc import TaskGroup

from supervisor.runtime.attached.http_messages import END, MOST_HEAD, Head, HttpError, read_head
from supervisor.runtime.attached.relay_settings import MOST_BYTES
from supervisor.runtime.socket.admission import Admission, Arrival, House, Protocols, RefusedPeer

Answerer = Callable[[Head, bytes, Any], Awaitable[tuple[int, bytes]]]
"""Returns the status and the body of the answer to a request of an admitted peer."""

MOST_EARLY = 64 * 1024
"""Bytes that may come before the answer to what came before them. No client of ours sends any; one that does is held to
this much of memory."""


class HookConnection(asyncio.Protocol):
    """One connection: hook after hook. A hook whose sender hangs up is given up.

    Args:
        answer: What answers.
        tasks: The tasks in which hooks are answered.
        arrival: The peer.
        those: The connections that are open.
    """

    def __init__(self, answer: Answerer, tasks: TaskGroup, arrival: Arrival, those: set["HookConnection"]) -> None:
        self._answer, self._tasks, self._arrival, self._those = answer, tasks, arrival, those
        self._transport: asyncio.Transport
        self._come = bytearray()
        self._head: Head | None = None
        """The head of the message whose body is awaited."""
        self._answering: anyio.CancelScope | None = None
        self._may_write = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._those.add(self)

    def data_received(self, data: bytes) -> None:
        """Take what came, and answer it if it is a whole hook."""
        self._come += data
        if self._answering is None:
            self._next()
        elif len(self._come) > MOST_EARLY:
            self._transport.abort()

    def pause_writing(self) -> None:
        """Read and answer no further hook until the answers were taken."""
        self._may_write = False
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on."""
        self._may_write = True
        self._transport.resume_reading()
        if self._answering is None:
            self._next()

    def connection_lost(self, _: Exception | None) -> None:
        """Give up the hook that is being answered."""
        self._give_up()
        self._those.discard(self)

    def close(self) -> None:
        """Hang up, once what was answered is sent."""
        self._give_up()
        self._transport.close()

    def _give_up(self) -> None:
        if self._answering is not None:
            self._answering.cancel()

    def _next(self) -> None:
        """Begin to answer the next hook if it came whole."""
        if not self._may_write or self._transport.is_closing():
            return
        if self._head is None and not self._has_head():
            return
        assert self._head is not None
        length = 0 if self._head.has_no_body else self._head.length
        if not 0 <= length <= MOST_BYTES:
            told = f"The hook has {'unknown' if length < 0 else length} bytes, and {MOST_BYTES} are read."
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, told)
        elif len(self._come) >= length:
            head, body, self._head = self._head, bytes(self._come[:length]), None
            del self._come[:length]
            self._answering = anyio.CancelScope(shield=True)  # the end of the daemon is told to the door first
            self._tasks.start_soon(self._serve, head, body, self._answering, name="a hook")

    def _has_head(self) -> bool:
        """Whether the next head came; one that is none is refused."""
        end = self._come.find(END)
        if end < 0:
            if len(self._come) > MOST_HEAD:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"A head has {MOST_HEAD} bytes at most.")
            return False
        try:
            self._head = read_head(bytes(self._come[:end]))
        except HttpError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"The hook was not read. {error}")
            return False
        del self._come[: end + len(END)]
        return True

    def _refuse(self, status: int, told: str) -> None:
        """Answer, and hang up: what else comes cannot be told from this message's body."""
        self._write(status, told.encode(), closes=True)

    async def _serve(self, head: Head, body: bytes, scope: anyio.CancelScope) -> None:
        with scope:
            status, answer = await self._answer(head, body, self._arrival)
            self._write(status, answer, closes=head.closes)
        self._answering = None
        self._next()

    def _write(self, status: int, body: bytes, *, closes: bool) -> None:
        """Send an answer in one piece, so that the other end wakes once."""
        if self._transport.is_closing():
            return
        close = "connection: close\r\n" if closes else ""
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n{close}"
        self._transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        if closes:
            self._transport.close()


async def serve_hooks(
    answer: Answerer,
    ending: Callable[[], object],
    listening: socket,
    house: House,
    refused: Callable[[RefusedPeer], object],
    most: int,
    regained: Callable[[Path, str], object] = lambda _path, _lost: None,
) -> None:
    """Serve until cancelled. A hook that is not answered by then asks the next daemon.

    Args:
        answer: What answers.
        ending: Called at the end, before the hooks that wait are cut.
        listening: The socket.
        house: What the look at each peer is made by.
        refused: Told of each peer that was turned away.
        most: How many connections may be open at once.
        regained: Told if the socket's path was gone or is another's, see `Admission`.
    """
    connections: set[HookConnection] = set()

    def make(arrival: Arrival) -> HookConnection:
        return HookConnection(answer, tasks, arrival, connections)

    async with anyio.create_task_group() as tasks:
        welcome = Protocols(make, tasks, lambda: len(connections), most).welcome
        try:
            await Admission(listening, house, lambda _lineage, _mark: "", refused, welcome, regained).run()
        finally:
            ending()
            for connection in list(connections):
                connection.close()
