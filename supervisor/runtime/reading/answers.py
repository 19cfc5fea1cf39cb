"""HTTP as the reading process speaks it: one answer a connection, sent as fast as the peer takes it."""

import socket
from collections.abc import AsyncIterator
from http import HTTPStatus

import anyio
import anyio.lowlevel
import orjson

from supervisor import __version__
from supervisor.protocol.words import VERSION_HEADER

SENT_BYTES = 65_536
"""Most that is given to the kernel at once: others get their turn behind it."""


class GoneError(Exception):
    """The peer has hung up."""


class ResponseStream:
    """The response to one peer.

    Args:
        connection: The peer's.
        http_version: The peer's version; only 1.1 has bodies in chunks, whose end shows that they are complete.
    """

    def __init__(self, connection: socket.socket, http_version: str) -> None:
        self._connection = connection
        self._chunked = http_version == "1.1"
        connection.setblocking(False)

    async def whole(self, body: bytes, content_type: str, status: int = 200) -> None:
        """Send an answer at once.

        Raises:
            GoneError: Nobody takes it.
        """
        await self._send(_head(status, content_type, f"content-length: {len(body)}"))
        await self._send(body)

    async def problem(self, status: int, what: str, way_out: str = "") -> None:
        """Say why there is no answer; raises like `whole`."""
        body = orjson.dumps({"kind": "Unavailable", "what": what, "way_out": way_out})
        await self.whole(body, "application/json", status)

    async def stream(self, parts: AsyncIterator[bytes], content_type: str) -> None:
        """Send what comes, part by part, to its end; raises like `whole`."""
        await self._send(_head(200, content_type, "transfer-encoding: chunked" if self._chunked else ""))
        async for part in parts:
            await self._send(b"%x\r\n%b\r\n" % (len(part), part) if self._chunked else part)
        if self._chunked:
            await self._send(b"0\r\n\r\n")

    async def gone(self) -> None:
        """Wait until the peer has hung up."""
        while True:
            await anyio.wait_readable(self._connection)
            try:
                if not self._connection.recv(SENT_BYTES):  # what it says beside is passed over
                    return
            except BlockingIOError:
                continue
            except OSError:
                return

    async def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._connection.send(view[:SENT_BYTES]) :]
            except BlockingIOError:
                await anyio.wait_writable(self._connection)
            except OSError as error:
                raise GoneError from error
            else:
                await anyio.lowlevel.checkpoint()


def _head(status: int, content_type: str, more: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"{VERSION_HEADER}: {__version__}",
        f"content-type: {content_type}",
        "connection: close",
    ]
    return "\r\n".join([*lines, *([more] if more else []), "", ""]).encode()
