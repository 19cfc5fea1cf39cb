"""Bounds of requests' bodies: one that is too long is answered 413 before it is read.

Without a bound a body of 100 MB was held in memory whole, several times over, before it could be refused. The bound
holds for the stated length of a request and, if it states none, for the bytes that came.
"""

from collections.abc import MutableMapping
from typing import Any

import anyio
import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Longest body of a request, in bytes. The longest prompt has 1 MiB (`MAX_PROMPT_BYTES`), and JSON may write each of
its bytes with six characters; 2 MiB are left for the rest."""

DRAINED_BYTES = 4 * MAX_BODY_BYTES
"""Most bytes of a refused body that are read and thrown away, so that a client that sends first and reads then gets
the answer and not a broken pipe. After a longer one it finds the connection closed."""

DRAIN_SECONDS = 5.0
"""How long that may take: what a client has ready arrives within milliseconds."""


class BoundedBodies:
    """Middleware that hands a request on once its body is there, whole and within the bound.

    Args:
        app: Gets every other request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        stated = _header(scope, b"content-length")
        if stated.isdigit() and int(stated) > MAX_BODY_BYTES:
            # A client that waits for "100 Continue" sends nothing once it has this answer.
            waits = bool(_header(scope, b"expect"))
            await _refuse(f"states {int(stated)} bytes", None if waits else receive, send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MAX_BODY_BYTES:
                body.clear()
                await _refuse(f"has more than {MAX_BODY_BYTES} bytes", receive if more else None, send)
                return
        await self._app(scope, _Replayed(bytes(body), receive), send)


class _Replayed:
    """Gives a body that was read once more, and then what the connection says."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._message: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._receive = receive

    async def __call__(self) -> MutableMapping[str, Any]:
        message, self._message = self._message, None
        return message or await self._receive()


async def _refuse(found: str, rest: Receive | None, send: Send) -> None:
    """Answer 413, and take what the client still sends; with no `rest` nothing follows."""
    problem = {
        "kind": "TooLarge",
        "what": f"The body of the request {found}, and may have {MAX_BODY_BYTES}. It was not read; nothing was done.",
        "way_out": "Put long text into a file of the repository and name the file.",
    }
    body = orjson.dumps(problem)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    if rest is not None:
        await _drain(rest)
    await send({"type": "http.response.body", "body": b""})


async def _drain(receive: Receive) -> None:
    taken, more = 0, True
    with anyio.move_on_after(DRAIN_SECONDS):
        while more and taken < DRAINED_BYTES:
            message = await receive()
            taken += len(message.get("body", b""))
            more = message.get("more_body", False)  # no message of a client that hung up has it


def _header(scope: Scope, name: bytes) -> bytes:
    value: bytes = next((value for key, value in scope["headers"] if key == name), b"")
    return value
