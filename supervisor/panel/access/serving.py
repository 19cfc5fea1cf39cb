"""Serving the panel on a loopback port: each connection is looked at before HTTP is spoken with it."""

import asyncio
import socket
from collections.abc import Callable, Collection

import anyio
import anyio.to_thread
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from monitors.contract.errors import ChaperonError
from supervisor.panel.access import peers
from supervisor.panel.link import PanelLink
from supervisor.runtime.api.serving.server import GOODBYE_SECONDS, Server
from supervisor.runtime.shim.socket_owner import SocketAddress

BACKLOG = 64
"""Connections that may wait: a browser opens six at most (HTTP/1.1), and forty of its kind are no person's."""

MOST_CONNECTIONS = 256
"""Connections at once."""

LATE_SECONDS = 1.0
"""Pause where a connection cannot be taken, for want of descriptors."""


class PortError(ChaperonError):
    """The panel's port could not be had."""


def listen(port: int) -> socket.socket:
    """Listen on a port of loopback; 0 for any that is free.

    Raises:
        PortError: Somebody else does already.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        raise PortError(
            f"The panel cannot be served on 127.0.0.1:{port} ({error}); nothing was started.",
            way_out="Another panel may run there. Choose a port with --port, or 0 for any.",
        ) from error
    listening.setblocking(False)
    return listening


async def shims(link: PanelLink) -> list[int]:
    """Return the process ids of the shims of live agents; raises like `PanelLink.get`."""
    return [
        one["shim_pid"]
        for one in await link.get("/v1/agents", recent="true")
        if one["ended_at"] is None and one["shim_pid"]
    ]


async def serve(app: ASGIApp, listening: socket.socket, link: PanelLink, told: Callable[[str], object]) -> None:
    """Serve until cancelled.

    Args:
        app: What answers.
        listening: The socket.
        link: The daemon, which knows which processes are agents'.
        told: Told why a connection was refused.
    """
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # rights come from our own session, and no header says who asks
        timeout_graceful_shutdown=GOODBYE_SECONDS,
    )
    config.load()
    server = Server(config)

    async def run() -> None:
        with anyio.CancelScope(shield=True):  # it ends by being told to, so that it can say goodbye
            await server.serve(sockets=[])  # connections come from elsewhere

    async def admit(connection: socket.socket, client: SocketAddress) -> None:
        try:
            why = await _refusal(connection, client, link)
            if why:
                told(f"A connection to the panel was refused: {why}.")
                connection.close()
                return
            connection.setblocking(False)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: H11Protocol(config=config, server_state=server.server_state, app_state={}), connection
            )
        except OSError:  # it has gone
            connection.close()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, name="uvicorn")
        try:
            while True:
                try:
                    connection, client = await asyncio.get_running_loop().sock_accept(listening)
                except OSError:
                    await anyio.sleep(LATE_SECONDS)
                    continue
                if len(server.server_state.connections) >= MOST_CONNECTIONS:
                    connection.close()
                    continue
                tasks.start_soon(admit, connection, client, name="connection")
        finally:
            server.should_exit = True


async def _refusal(connection: socket.socket, client: SocketAddress, link: PanelLink) -> str:
    """Return why a connection is refused; empty if it is not."""
    known: Collection[int] = ()
    try:
        known = await shims(link)
    except ChaperonError:  # the daemon is away; the mark of an agent's process remains
        known = ()
    return await anyio.to_thread.run_sync(peers.refusal, client, connection.getsockname(), known)
