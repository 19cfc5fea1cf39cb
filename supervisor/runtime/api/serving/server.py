"""The API's server on a Unix socket, for peers that `supervisor.runtime.socket.admission` admits.

HTTP is spoken with no others: no protocol is made for a connection that was not checked.
"""

import contextlib
import socket
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from starlette.types import ASGIApp

from supervisor import __version__
from supervisor.protocol.words import VERSION_HEADER
from supervisor.runtime.reading.handing_over import HandOverProtocol
from supervisor.runtime.socket.admission import Admission, Arrival, House, Protocols, RefusedPeer

GOODBYE_SECONDS = 2
"""How long streams may take to end when the daemon does."""


ARRIVAL = "arrival"
"""Under which name routes find the peer that asks, in the request's state."""


class Admitted(HandOverProtocol):
    """HTTP with a peer that was let in; routes find it where the address of a network peer would be."""

    def __init__(self, who: tuple[str, int], **about: Any) -> None:
        """Speak with the process of this user and number."""
        super().__init__(**about)
        self._who = who

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        super().connection_made(transport)
        self.client = self._who


class Server(uvicorn.Server):
    """Uvicorn, leaving signals to the daemon."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def serve(
    api: ASGIApp,
    listening: socket.socket,
    house: House,
    whose: Callable[[Collection[int], int], str],
    refused: Callable[[RefusedPeer], object],
    most: int,
    regained: Callable[[Path, str], object] = lambda _path, _lost: None,
) -> None:
    """Serve until cancelled; what is being answered is given a moment to end.

    At the end the event loop no longer watches the socket: once its number is another's, that one would not be watched.

    Args:
        api: What answers.
        listening: The socket.
        house: What the look at each peer is made by.
        whose: Says whose agent's a process is, see `Admission`.
        refused: Told of each peer that was turned away.
        most: How many connections may be open at once.
        regained: Told if the socket's path was gone or is another's, see `Admission`.
    """
    config = uvicorn.Config(
        api,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        headers=[(VERSION_HEADER, __version__)],
        timeout_graceful_shutdown=GOODBYE_SECONDS,
    )
    server = Server(config)

    async def run() -> None:
        with anyio.CancelScope(shield=True):  # it ends by being told to, so that it can say goodbye
            await server.serve(sockets=[])  # connections come from elsewhere

    def make(arrival: Arrival) -> Admitted:
        who, about = (arrival.user, arrival.peer.pid), {ARRIVAL: arrival}
        return Admitted(who, config=config, server_state=server.server_state, app_state=about)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, name="uvicorn")
        welcome = Protocols(make, tasks, lambda: len(server.server_state.connections), most).welcome
        try:
            await Admission(listening, house, whose, refused, welcome, regained).run()
        finally:
            server.should_exit = True
