"""Serving the API on a Unix socket, to its owner and to nobody that an agent started.

The socket's mode keeps other users out. Whoever connects is looked at before a byte is read: another user is refused,
and so is a process in the tree of an agent, for an agent may not steer itself or others.
"""

import asyncio
import contextlib
import errno
import os
import pwd
import socket
import stat
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from supervisor.protocol.errors import ChaperonError
from supervisor.runtime.log import log
from supervisor.runtime.trees import ancestors

BACKLOG = 128
"""Connections that may wait: `chaperon` commands in scripts come in bursts."""

GOODBYE_SECONDS = 2
"""How long streams may take to end when the daemon does."""


class SocketTakenError(ChaperonError):
    """A living daemon listens on the socket."""


def listen(path: Path, mode: int = 0o600) -> socket.socket:
    """Listen on the path; a socket that a dead daemon left is taken over.

    Raises:
        SocketTakenError: A living daemon listens there, or what is there is no socket. Nothing was changed.
    """
    _clear(path)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~mode)
    try:
        server.bind(str(path))
    finally:
        os.umask(before)
    server.listen(BACKLOG)
    return server


def _clear(path: Path) -> None:
    """Remove what a dead daemon left on the path."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise SocketTakenError(
                f"{path} exists and is not a socket, so it was left alone.", way_out="Move it away, and start again."
            )
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError as error:
            if error.errno not in (errno.ECONNREFUSED, errno.ENOENT):
                raise SocketTakenError(f"{path} could not be probed ({error}), so it was left alone.") from error
        else:
            raise SocketTakenError(
                f"A daemon already listens on {path}; this one was not started.",
                way_out="Use that one (chaperon ps), or stop it first.",
            )
    path.unlink(missing_ok=True)


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


def protocol_for(mode: int, shims: Callable[[], frozenset[int]]) -> type[H11Protocol]:
    """The HTTP protocol that looks at each peer first.

    Args:
        mode: The socket's file mode; with group bits, the kernel has let the group's members in.
        shims: Gives the process ids of all living shims: what is below one is an agent's.
    """

    class PeerChecked(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            pid, uid = peer_of(transport.get_extra_info("socket"))
            refusal = objection(pid, uid, mode, shims())
            if refusal:
                log.warning("refused process %d on the socket: %s", pid, refusal)
                transport.abort()
                return
            super().connection_made(transport)
            self.client = (_user_name(uid), pid)

        def data_received(self, data: bytes) -> None:
            if self.client is not None:
                super().data_received(data)

    return PeerChecked


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
    """Serve until cancelled; streams are given a moment to end."""
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
    try:
        await server.serve(sockets=[listening])
    except asyncio.CancelledError:
        server.should_exit = True
        for each in getattr(server, "servers", ()):
            each.close()  # else the loop goes on to watch a descriptor that another socket may get
        raise
