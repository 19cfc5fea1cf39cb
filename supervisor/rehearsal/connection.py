"""One HTTP/1.1 connection, served with h11 on an anyio stream.

A web framework would do for the good answers. The bad ones are the point here: a stream cut inside an event needs the
connection itself, and leaving the model must end every open stream at once, without a server's grace period.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio
import h11
from anyio.abc import ByteStream

READ_BYTES = 256 * 1024
"""Bytes taken from the socket at a time; a CLI's request is 50 to 500 KB."""

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request, whole."""

    method: str
    path: str
    """With its query."""
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes = field(repr=False)


class Connection:
    """The server's end of a connection: requests come out of `ask`, answers go in by `answer` or `stream`."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def serve(self, handle: Callable[[HttpRequest, "Connection"], Awaitable[None]]) -> None:
        """Hand each request to `handle`, until either side ends the connection."""
        try:
            while (asked := await self._ask()) is not None:
                await handle(asked, self)
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    return
                self._http.start_next_cycle()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, h11.RemoteProtocolError):
            return  # the CLI went away, as it does on an interrupt; there is nobody left to tell
        finally:
            await anyio.aclose_forcefully(self._stream)

    async def answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Answer the request whole."""
        await self._begin(status, {"content-length": str(len(body)), "content-type": JSON_TYPE, **(headers or {})})
        await self._send(h11.Data(body))
        await self.end()

    async def begin_stream(self) -> None:
        """Begin an answer of server-sent events."""
        await self._begin(200, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"})

    async def write(self, data: bytes) -> None:
        """Send a piece of the stream."""
        await self._send(h11.Data(data))

    async def end(self) -> None:
        """End the answer in order."""
        await self._send(h11.EndOfMessage())

    async def cut(self, partial: bytes) -> None:
        """Send part of a piece, then close the connection with the answer unfinished."""
        await self.write(partial)
        self._http.send_failed()
        await self._stream.aclose()

    async def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        await self._send(h11.Response(status_code=status, headers=list(headers.items())))

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            await self._stream.send(data)

    async def _ask(self) -> HttpRequest | None:
        head = await self._next()
        if not isinstance(head, h11.Request):
            return None
        body = bytearray()
        while isinstance(piece := await self._next(), h11.Data):
            body += piece.data
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        return HttpRequest(head.method.decode(), head.target.decode(), headers, bytes(body))

    async def _next(self) -> object:
        """The next event of h11; its sentinels have no type of their own."""
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            try:
                data = await self._stream.receive(READ_BYTES)
            except anyio.EndOfStream:
                data = b""
            self._http.receive_data(data)
