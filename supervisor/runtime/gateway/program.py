"""The process of the gateway: it outlives the daemon, as shims do, and ends when there is no agent left to serve.

It is started with what it imports by as its first argument, the folder of its sockets as its second, and the token by
which daemons are known on its standard input.
"""

import hmac
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import Credential
from supervisor.runtime.gateway.exchange import AgentSite, Exchange
from supervisor.runtime.gateway.hosts import Hosts
from supervisor.runtime.gateway.messages import (
    LONGEST_LINE,
    SOCKET,
    GatewaySettings,
    GrantedHost,
    Opened,
    Reached,
    line,
    settings_of,
)
from supervisor.runtime.shim.credentials import peer_of
from supervisor.runtime.shim.spawn import refuse_tracers

CONTROL = "control"
"""Name of the socket for daemons."""

TOKEN_SECONDS = 10.0
"""How long a daemon may take to say its token."""

LOOK_SECONDS = 1.0
"""Between two looks whether anything is left to serve."""

ALONE_SECONDS = 3_600.0
"""How long agents are served without a daemon: their calls wait at its gate, so they do not get far. The next daemon
starts the gateway again."""

MOST_TOLD = 400
"""Refusals, and hosts that were reached, in one answer: a refusal has up to 1,200 bytes, and a line is bounded."""

MOST_CONNECTIONS = 256
"""Connections of one agent at a time."""


class Gateway:
    """The process.

    Args:
        folder: The folder of its own socket.
        token: What daemons must say first.
    """

    def __init__(self, folder: Path, token: str) -> None:
        self._folder = folder
        self._token = token
        self._settings: GatewaySettings | None = None
        self._credential: Credential | None = None
        self._hosts = Hosts(())
        self._sites: dict[str, AgentSite] = {}
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._controls = 0
        self._alone_since = anyio.current_time()
        self._left = anyio.Event()

    async def run(self) -> None:
        """Serve until there is no agent and no daemon."""
        listener = await listen(self._folder, CONTROL)
        async with anyio.create_task_group() as tasks, listener:
            self._tasks = tasks
            tasks.start_soon(listener.serve, self._control, name="daemons")
            await self._be_needed()
            tasks.cancel_scope.cancel()

    async def _be_needed(self) -> None:
        """Return once there is nothing left to serve."""
        while True:
            with anyio.move_on_after(LOOK_SECONDS):
                await self._left.wait()
            self._left = anyio.Event()
            if self._is_done():
                return

    def _is_done(self) -> bool:
        if self._controls:
            return False
        alone = anyio.current_time() - self._alone_since
        if self._settings is None:
            return alone > TOKEN_SECONDS
        return alone > ALONE_SECONDS or self._settings.ends_with_daemon or not self._sites

    # ── daemons ──

    async def _control(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            lines = BufferedByteReceiveStream(stream)
            try:
                with anyio.fail_after(TOKEN_SECONDS):
                    first = json.loads(await lines.receive_until(b"\n", LONGEST_LINE))
                said = str(first.get("token", "")) if isinstance(first, dict) else ""
                peer = peer_of(stream.extra_attributes[anyio.abc.SocketAttribute.raw_socket]())
                if peer.uid not in (os.getuid(), 0) or not hmac.compare_digest(said.encode(), self._token.encode()):
                    return
            except (ValueError, TimeoutError, anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError):
                return
            self._controls += 1
            try:
                await stream.send(line("hello", {"pid": os.getpid()}))
                while True:
                    asked = json.loads(await lines.receive_until(b"\n", LONGEST_LINE))
                    await stream.send(await self._do(asked))
            except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
                return
            finally:
                self._controls -= 1
                self._alone_since = anyio.current_time()
                self._left.set()

    async def _do(self, asked: Mapping[str, Any]) -> bytes:
        match asked["do"]:
            case "settings":
                self._settings = settings_of({**asked})
                self._credential = Credential(self._settings.credential, Clock())
                self._hosts = Hosts(self._settings.hosts)
                for site in self._sites.values():
                    site.settings, site.credential, site.hosts = self._settings, self._credential, self._hosts
                return line("done")
            case "open":
                return await self._open(Opened(asked["agent"], asked["folder"], asked["most_tokens"]))
            case "close":
                self._close(asked["agent"])
                return line("done")
            case "look":
                for agent, granted in asked.get("granted", {}).items():
                    if agent in self._sites:
                        self._sites[agent].grant(GrantedHost(**each) for each in granted)
                return self._look()
            case other:
                return line("failed", {"why": f"{other!r} is not known here"})

    async def _open(self, opened: Opened) -> bytes:
        if self._settings is None or self._credential is None:
            return line("failed", {"why": "there are no settings yet"})
        if site := self._sites.get(opened.agent):
            site.most_tokens = opened.most_tokens
            return line("done")
        try:
            listener = await listen(Path(opened.folder), SOCKET)
        except OSError as error:
            return line("failed", {"why": str(error)})
        site = AgentSite(opened.agent, self._settings, self._credential, self._hosts, most_tokens=opened.most_tokens)
        self._sites[opened.agent] = site
        self._scopes[opened.agent] = anyio.CancelScope()
        self._tasks.start_soon(self._serve_agent, listener, site, self._scopes[opened.agent])
        return line("done")

    def _close(self, agent: str) -> None:
        self._sites.pop(agent, None)
        if scope := self._scopes.pop(agent, None):
            scope.cancel()

    def _look(self) -> bytes:
        """Return the use of the model by all agents, with refusals and hosts that no daemon has been told of."""
        spent = {agent: asdict(site.spent) for agent, site in self._sites.items()}
        refused, reached = list[dict[str, Any]](), list[dict[str, Any]]()
        for agent, site in self._sites.items():
            while site.refused and len(refused) < MOST_TOLD:
                refused.append(asdict(site.refused.pop(0)))
            while site.reached and len(reached) < MOST_TOLD:
                (host, allowance), times = site.reached.popitem()
                reached.append(Reached(agent, host, times, allowance).as_told())
        more = any(site.refused or site.reached for site in self._sites.values())
        return line("seen", {"spent": spent, "refused": refused, "reached": reached, "more": more})

    # ── agents ──

    async def _serve_agent(self, listener: anyio.abc.SocketListener, site: AgentSite, scope: anyio.CancelScope) -> None:
        bound = anyio.CapacityLimiter(MOST_CONNECTIONS)

        async def serve(stream: anyio.abc.SocketStream) -> None:
            async with bound:
                await Exchange(stream, site).serve()

        with scope:
            async with listener:
                await listener.serve(serve)


async def listen(folder: Path, name: str) -> anyio.abc.SocketListener:
    """Listen on a socket in a folder, whose path may be longer than a Unix socket's; one that is there is replaced.

    Raises:
        OSError: It cannot be made.
    """
    directory = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        path = Path(f"/proc/self/fd/{directory}/{name}")
        path.unlink(missing_ok=True)  # noqa: ASYNC240 - a moment, in a folder of our own
        return await anyio.create_unix_listener(path, mode=0o600)
    finally:
        os.close(directory)


def main(folder: Path) -> None:
    """Leave the starter, and serve."""
    refuse_tracers()
    token = sys.stdin.readline().strip()
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir(folder)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):  # it outlives the terminal, as agents do
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1):
        os.dup2(nothing, each)

    async def serve() -> None:
        await Gateway(folder, token).run()

    anyio.run(serve)
