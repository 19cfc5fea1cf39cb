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
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from host import identity
from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.agent_site import LONGEST_REASON, AgentSite
from supervisor.runtime.gateway.counts import SUFFIX, Counts
from supervisor.runtime.gateway.credential import Credential
from supervisor.runtime.gateway.door import CONTROL, token_of
from supervisor.runtime.gateway.exchange import Exchange
from supervisor.runtime.gateway.hosts import Hosts
from supervisor.runtime.gateway.messages import (
    LONGEST_LINE,
    SOCKET,
    CredentialSource,
    FailedLogin,
    GatewaySettings,
    GrantedHost,
    Opened,
    Reached,
    line,
    settings_of,
)
from supervisor.runtime.gateway.upstream import Connections
from supervisor.runtime.shim.credentials import peer_of
from supervisor.runtime.shim.spawn import refuse_tracers

TOKEN_SECONDS = 10.0
"""How long a daemon may take to say its token."""

LOOK_SECONDS = 1.0
"""Between two looks whether anything is left to serve."""

ALONE_SECONDS = 3_600.0
"""How long agents are served without a daemon: their calls wait at its gate, so they do not get far. The next daemon
starts the gateway again."""

LEFT_SECONDS = 60.0
"""How long it waits for a daemon once the processes of all agents have ended, with a credential that has no use then.
A daemon that was killed is started again within seconds, and would start a gateway anew too."""

MOST_TOLD = 250
"""Refusals, and hosts that were reached, in one answer: a refusal has up to 2,300 bytes with the host that a person can
open, and a line is bounded."""

TAKES = ("login",)
"""Kinds of credentials that not every gateway knows: one that is of an earlier version than its daemon serves agents
until they end."""

MOST_FAILED = 50
"""Failed logins that are kept for the daemon, and known ones that are not told again."""

FAILED_SECONDS = 300.0
"""How long the same failed login is not told again: each call of each agent meets it."""

MOST_CONNECTIONS = 256
"""Connections of one agent at a time."""


class Gateway:
    """The process.

    Args:
        folder: The folder of its own socket.
        token: What daemons must say first.
        stays: Whether it serves on while there is no agent and no daemon, as a service of its own does.
    """

    def __init__(self, folder: Path, token: str, *, stays: bool = False) -> None:
        self._stays = stays
        self._folder = folder
        self._token = token
        self._settings: GatewaySettings | None = None
        self._credential: Credential | None = None
        self._credentials: dict[CredentialSource, Credential] = {}
        """Credentials that were in use: one that comes back has its login, which may not be on the disk yet."""
        self._connections = Connections()
        self._clock = Clock()
        self._failed: list[FailedLogin] = []
        """Failed logins that no daemon was told of."""
        self._failed_at: dict[tuple[str, str], float] = {}
        self._hosts = Hosts(())
        self._sites: dict[str, AgentSite] = {}
        self._counts: dict[str, Counts] = {}
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
            await self._connections.prune()
            if self._is_done():
                await self._connections.close()
                return

    def _is_done(self) -> bool:
        if self._controls or self._stays:
            return False
        alone = anyio.current_time() - self._alone_since
        if self._settings is None:
            return alone > TOKEN_SECONDS
        left = alone > LEFT_SECONDS and all(map(AgentSite.has_left, self._sites.values()))
        return alone > ALONE_SECONDS or self._settings.ends_with_daemon or left or not self._sites

    # ── daemons ──

    async def _control(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            lines = BufferedByteReceiveStream(stream)
            try:
                with anyio.fail_after(TOKEN_SECONDS):
                    first = json.loads(await lines.receive_until(b"\n", LONGEST_LINE))
                said = str(first.get("token", "")) if isinstance(first, dict) else ""
                peer = peer_of(stream.extra_attributes[anyio.abc.SocketAttribute.raw_socket]())
                if peer.uid not in (os.geteuid(), 0) or not hmac.compare_digest(said.encode(), self._token.encode()):
                    return
            except (ValueError, TimeoutError, anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError):
                return
            self._controls += 1
            try:
                await stream.send(line("hello", {"pid": os.getpid(), "takes": TAKES}))
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
                self._credential = self._credential_of(self._settings)
                self._hosts = Hosts(self._settings.hosts)
                for site in self._sites.values():
                    site.renew(self._settings, self._credential, self._hosts)
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

    def _credential_of(self, settings: GatewaySettings) -> Credential:
        if known := self._credentials.get(settings.credential):
            return known
        made = Credential(settings.credential, self._clock, partial(self._fail, settings.account))
        self._credentials[settings.credential] = made
        return made

    def _fail_now(self, error: ChaperonError) -> None:
        """Note a failed login with the credential in force."""
        if self._settings is not None:
            self._fail(self._settings.account, error)

    def _fail(self, account: str, error: ChaperonError) -> None:
        """Note a failed login for the daemon, once in a while. Called by any thread."""
        now = self._clock.mono()
        known = account, error.what
        if now < self._failed_at.get(known, 0.0) or len(self._failed) >= MOST_FAILED:
            return
        if len(self._failed_at) >= MOST_FAILED:
            self._failed_at.clear()
        self._failed_at[known] = now + FAILED_SECONDS
        self._failed.append(FailedLogin(account, error.what[:LONGEST_REASON], error.way_out[:LONGEST_REASON]))

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
        name = Path(opened.folder).name
        try:
            counts = Counts(self._folder / f"{name}{SUFFIX}")
        except OSError as error:
            await listener.aclose()
            return line("failed", {"why": str(error)})
        site = AgentSite(
            opened.agent,
            self._settings,
            self._credential,
            self._hosts,
            self._connections,
            failed=self._fail_now,
            most_tokens=opened.most_tokens,
            spent=counts.known(),
            counted=counts.keep,
        )
        self._counts[opened.agent] = counts
        self._sites[opened.agent] = site
        self._scopes[opened.agent] = anyio.CancelScope()
        self._tasks.start_soon(self._serve_agent, listener, site, self._scopes[opened.agent])
        return line("done")

    def _close(self, agent: str) -> None:
        if site := self._sites.pop(agent, None):
            site.close()
        if counts := self._counts.pop(agent, None):
            counts.remove()
        if scope := self._scopes.pop(agent, None):
            scope.cancel()

    def _look(self) -> bytes:
        """Return the use of the model by all agents, with refusals and hosts that no daemon has been told of."""
        spent = {agent: asdict(site.spent) for agent, site in self._sites.items()}
        refused, reached, hosts = list[dict[str, Any]](), list[dict[str, Any]](), list[tuple[str, str, str]]()
        for agent, site in self._sites.items():
            while site.refused and len(refused) < MOST_TOLD:
                one = site.refused.pop(0)
                refused.append(one.as_told())
                hosts += [(agent, one.what, one.host)] if one.host else []
            while site.reached and len(reached) < MOST_TOLD:
                (host, allowance), times = site.reached.popitem()
                reached.append(Reached(agent, host, times, allowance).as_told())
        more = any(site.refused or site.reached for site in self._sites.values())
        failed = [asdict(each) for each in self._failed]
        self._failed.clear()
        told = {"spent": spent, "refused": refused, "hosts": hosts, "reached": reached, "failed": failed, "more": more}
        return line("seen", told)

    # ── agents ──

    async def _serve_agent(self, listener: anyio.abc.SocketListener, site: AgentSite, scope: anyio.CancelScope) -> None:
        bound = anyio.CapacityLimiter(MOST_CONNECTIONS)

        async def serve(stream: anyio.abc.SocketStream) -> None:
            site.visited(stream.extra(anyio.abc.SocketAttribute.raw_socket))  # noqa: S610 - no query
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


def stay(folder: Path) -> None:
    """Serve in the foreground until SIGTERM, as a service of its own.

    Raises:
        OSError: The folder cannot be had.
    """
    refuse_tracers()
    token = token_of(folder)
    os.chdir(folder)

    async def serve() -> None:
        """Serve; at the end wait for a refresh of a login, whose answer may be the only one."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Gateway(folder, token, stays=True).run)
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    tasks.cancel_scope.cancel()
                    return

    anyio.run(serve)


def main(folder: Path) -> None:
    """Leave the starter, and serve."""
    identity.keep()
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
