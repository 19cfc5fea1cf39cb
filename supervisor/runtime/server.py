"""Serving the API on a Unix socket, to its owner and to nobody that an agent started.

The socket's mode keeps other users out. Whoever connects is looked at before a byte is read: another user is refused,
and so is a process in the tree of an agent, for an agent may not steer itself or others.
"""

import contextlib
import json
import os
import pwd
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import uvicorn
from fastapi import FastAPI

from supervisor.runtime.json_protocol import JsonProtocol
from supervisor.runtime.log import log
from supervisor.runtime.trees import ancestors

GOODBYE_SECONDS = 2
"""How long streams may take to end when the daemon does."""

REFUSED_SECONDS = 5.0
"""How long a peer that is refused may take to ask, and so to be told."""


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process id and the user id of who connected, as the kernel noted them."""
    pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def objection(pid: int, uid: int, mode: int, shims: frozenset[int]) -> str:
    """Why this peer is refused; empty where it is not."""
    if uid not in (0, os.getuid()) and not mode & 0o060:
        return f"user {uid} may not steer agents of user {os.getuid()}"
    if shims and not shims.isdisjoint({pid, *ancestors(pid)}):
        return "an agent's own process may not steer agents"
    return ""


def protocol_for(mode: int, shims: Callable[[], frozenset[int]]) -> type[JsonProtocol]:
    """The HTTP protocol that looks at each peer first.

    Args:
        mode: The socket's file mode; with group bits, the kernel has let the group's members in.
        shims: Gives the process ids of all living shims: what is below one is an agent's.
    """

    class PeerChecked(JsonProtocol):
        refusal = b""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            pid, uid = peer_of(transport.get_extra_info("socket"))
            self.client = (_user_name(uid), pid)
            if why := objection(pid, uid, mode, shims()):
                log.warning("refused process %d on the socket: %s", pid, why)
                self.refusal = _refusal(why)
                # Told when it asks: a socket that is closed with something unread in it gives the peer an error instead.
                self.loop.call_later(REFUSED_SECONDS, transport.abort)

        def data_received(self, data: bytes) -> None:
            if not self.refusal:
                super().data_received(data)
            elif not self.transport.is_closing():
                self.transport.write(self.refusal)
                self.transport.close()

    return PeerChecked


def _refusal(why: str) -> bytes:
    """The answer to a peer that is refused, made without looking at what it asks."""
    problem = {"kind": "Refused", "what": f"The daemon refuses this: {why}. Nothing was done.", "way_out": ""}
    body = json.dumps(problem).encode()
    head = "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\nconnection: close\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


class Server(uvicorn.Server):
    """Uvicorn, leaving signals to the daemon."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def serve(api: FastAPI, listening: socket.socket, mode: int, shims: Callable[[], frozenset[int]]) -> None:
    """Serve until cancelled; what is being answered is given a moment to end.

    At the end the event loop no longer watches the socket: once its number is another's, that one would not be watched.
    """
    config = uvicorn.Config(
        api,
        http=protocol_for(mode, shims),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GOODBYE_SECONDS,
    )
    server = Server(config)

    async def run() -> None:
        with anyio.CancelScope(shield=True):  # it ends by being told to, so that it can say goodbye
            await server.serve(sockets=[listening])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, name="uvicorn")
        try:
            await anyio.sleep_forever()
        finally:
            server.should_exit = True
