"""One agent at the gateway: what holds for its requests, and what it used since the daemon was told."""

import os
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import anyio
import anyio.to_thread

from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import Credential, CredentialError
from supervisor.runtime.gateway.git_remotes import GitLogins
from supervisor.runtime.gateway.hosts import HostError, Hosts
from supervisor.runtime.gateway.messages import GatewaySettings, GrantedHost, ModelUse, Refused
from supervisor.runtime.gateway.upstream import Connections
from supervisor.runtime.shim.credentials import Handle, peer_of

MOST_REFUSALS = 50
"""Refusals that are kept for the daemon, of each agent; further ones are counted alone."""

MOST_PROCESSES = 16
"""Processes of an agent that are known, each by a descriptor. The CLI is among the first, and lives as long as it."""

LONGEST_REASON = 1_000
"""Characters of why a request was refused, as the daemon is told it."""

ANOTHER_SECONDS = 8.0
"""How long a call whose credential was refused waits for the daemon to choose another: it looks every two seconds, and
checks the other one."""


def refused_error() -> CredentialError:
    """Return why a call was not answered: for the agent, which reads it, and for a person."""
    return CredentialError(
        "The model refused the credential.",
        way_out="A person replaces it in its place, or names another by agent.credential; agents go on with that.",
    )


@dataclass(slots=True)
class AgentSite:
    """One agent at the gateway."""

    agent: str
    settings: GatewaySettings
    credential: Credential
    hosts: Hosts
    connections: Connections = field(default_factory=Connections)
    logins: GitLogins = field(default_factory=lambda: GitLogins(os.environ, Clock()))
    failed: Callable[[ChaperonError], object] = lambda _: None
    """Told why a credential did not serve."""
    renewed: anyio.Event = field(default_factory=anyio.Event)
    """Set once another credential counts."""
    most_tokens: int | None = None
    spent: ModelUse = field(default_factory=ModelUse)
    counted: Callable[[ModelUse], object] = lambda _: None
    """Keeps what was spent, for a gateway that follows one that was killed."""
    refused: list[Refused] = field(default_factory=list)
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Hosts that the agent was connected to, with ports, by which allowance, and how often since that was told."""
    granted: list[tuple[GrantedHost, float | None]] = field(default_factory=list)
    """Hosts that a person opened for this agent alone, and until when."""

    processes: dict[int, Handle] = field(default_factory=dict)
    """Those of its processes that were here and live, by their numbers."""
    has_come: bool = False

    def visited(self, connection: socket.socket) -> None:
        """Note which process connected, for as long as it lives."""
        self._forget_ended()
        pid = peer_of(connection).pid
        if pid not in self.processes and len(self.processes) < MOST_PROCESSES:
            with suppress(OSError):  # it has ended
                self.processes[pid] = Handle(connection)
        self.has_come = True

    def has_left(self) -> bool:
        """Whether all processes that were here have ended, and no daemon is to be told what they did."""
        self._forget_ended()
        return self.has_come and not (self.processes or self.refused or self.reached)

    def close(self) -> None:
        """Give back the handles of processes."""
        while self.processes:
            self.processes.popitem()[1].close()

    def _forget_ended(self) -> None:
        for pid in [pid for pid, handle in self.processes.items() if handle.has_ended()]:
            self.processes.pop(pid).close()

    def renew(self, settings: GatewaySettings, credential: Credential, hosts: Hosts) -> None:
        """Have other settings count."""
        is_another = credential is not self.credential
        self.settings, self.credential, self.hosts = settings, credential, hosts
        if is_another:
            self.renewed.set()
            self.renewed = anyio.Event()

    async def header(self) -> tuple[str, str]:
        """Return the header that has the credential.

        Raises:
            ChaperonError: It cannot be had; the daemon is told.
        """
        try:
            return await anyio.to_thread.run_sync(self.credential.header)
        except ChaperonError as error:
            self.failed(error)
            raise

    async def another_header(self, refused: tuple[str, str]) -> tuple[str, str]:
        """Return another header than one that the model refused: refreshed, read anew, or of another credential.

        Raises:
            ChaperonError: There is no other; the daemon is told.
        """
        renewed, before = self.renewed, self.credential
        before.refused(refused)
        error: ChaperonError = refused_error()
        try:
            again = await anyio.to_thread.run_sync(self.credential.header)
            if again != refused:
                return again
            self.failed(error)
        except ChaperonError as why:
            error = why
            self.failed(why)
        if self.settings.others and self.credential is before:
            with anyio.move_on_after(ANOTHER_SECONDS):
                await renewed.wait()
        if self.credential is before:
            raise error
        return await self.header()

    def grant(self, hosts: Iterable[GrantedHost]) -> None:
        """Take in what is granted now; uses that no daemon was told of yet are taken off."""
        told = Counter[str]()
        for (_, allowance), times in self.reached.items():
            told[allowance] += times
        now = anyio.current_time()
        self.granted = [
            (
                replace(each, uses=None if each.uses is None else each.uses - told[each.id]),
                None if each.seconds is None else now + each.seconds,
            )
            for each in hosts
        ]

    def take_grant(self, host: str, port: int) -> GrantedHost | None:
        """Use up one use of a grant that fits; None if there is none."""
        now = anyio.current_time()
        for at, (each, until) in enumerate(self.granted):
            if (each.uses is None or each.uses > 0) and (until is None or now < until):
                with suppress(HostError):
                    Hosts((each.host,)).check(host, port)
                    left = None if each.uses is None else each.uses - 1
                    self.granted[at] = (replace(each, uses=left), until)
                    return each
        return None

    def refuse(self, what: str, why: str, host: str = "") -> None:
        """Note a refusal for the daemon, with the host that a person could open."""
        self.spent.refused += 1
        known = any(each.what == what for each in self.refused)
        if not known and len(self.refused) < MOST_REFUSALS:
            self.refused.append(Refused(self.agent, what, why[:LONGEST_REASON], host))
