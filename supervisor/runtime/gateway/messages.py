"""The words between daemon and gateway: one JSON object a line, over the control socket."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from supervisor.runtime.gateway.outbound import DIRECT, Outbound
from supervisor.runtime.gateway.token_endpoint import TOKEN_URL

LONGEST_LINE = 1_048_576
"""Bytes of a line that are taken; the longest has the headers and hosts of a configuration."""

SOCKET = "s"
"""Name of an agent's socket in its folder: short, since the path of a Unix socket may have 107 bytes."""

PLACEHOLDER = "sk-ant-held-by-chaperon"
"""The key that an agent has; the gateway puts the real one in its place."""


@dataclass(frozen=True, slots=True)
class CredentialSource:
    """The source of the credential."""

    kind: Literal["value", "file", "command", "login", "none"]
    """`login`: that of `claude`, in a file. `none`: it was taken away from agents that run."""
    value: str = field(repr=False, default="")
    """The credential itself."""
    path: str = ""
    """Of a file."""
    command: tuple[str, ...] = ()
    """A program that prints it."""
    bearer: bool = False
    """Whether it is sent as `Authorization: Bearer`, and not as an API key."""
    refreshed_at: str = TOKEN_URL
    """The address that refreshes a login."""
    outbound: Outbound = DIRECT
    """The way there."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """All that holds for every agent."""

    upstream: str
    """The model's base URL."""
    credential: CredentialSource
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Further headers of each call of the model."""
    hosts: tuple[str, ...] = ()
    """Hosts that agents may reach beside the model, as `NAME` or `NAME:PORT`, with `*.` before it for all below."""
    git_remotes: tuple[str, ...] = ()
    """Remotes of git to which agents are logged in by the gateway, as addresses of https."""
    account: str = ""
    """The name of the account that the credential is of."""
    others: bool = False
    """Whether the daemon has other credentials to choose from."""
    ends_with_daemon: bool = False
    """Whether the gateway ends with its daemon, because no other daemon will come."""
    outbound: Outbound = DIRECT
    """The way to the model, to hosts and to remotes."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An agent that gets a socket."""

    agent: str
    folder: str
    """Folder of its socket, which is there."""
    most_tokens: int | None = None
    """Tokens of answers from which on its calls are refused; None for no bound."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was not forwarded."""

    agent: str
    what: str
    why: str
    host: str = ""
    """The host with its port that a person can open; empty for other requests."""

    def as_told(self) -> dict[str, Any]:
        """Return what a daemon of before is told too; the host is told apart."""
        return {"agent": self.agent, "what": self.what, "why": self.why}


@dataclass(frozen=True, slots=True)
class FailedLogin:
    """A credential that did not serve: it cannot be had, was refused, or could not be refreshed."""

    account: str
    why: str
    way_out: str = ""


@dataclass(frozen=True, slots=True)
class Reached:
    """A host that an agent was connected to."""

    agent: str
    host: str
    """With its port."""
    times: int
    """How often, since that was told before."""
    allowance: str = ""
    """The allowance by which; empty for a host of the configuration."""

    def as_told(self) -> dict[str, Any]:
        """Return what the daemon is told: a gateway outlives its daemon, and one of before knows no `allowance`."""
        told = asdict(self)
        return told if self.allowance else {name: told[name] for name in ("agent", "host", "times")}


@dataclass(frozen=True, slots=True)
class GrantedHost:
    """A host that a person lets one agent reach beside those of the configuration."""

    id: str
    """The allowance."""
    host: str
    """As `GatewaySettings.hosts` has them."""
    uses: int | None
    """How often yet; None for as often as wanted."""
    seconds: float | None
    """For how long yet; None for as long as the agent lives."""


@dataclass(slots=True)
class ModelUse:
    """Use of the model by one agent, its tools included."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    refused: int = 0


def line(word: str, facts: Mapping[str, Any] | None = None) -> bytes:
    """Return a message as a line."""
    return json.dumps({"do": word, **(facts or {})}, separators=(",", ":")).encode() + b"\n"


def settings_line(settings: GatewaySettings) -> bytes:
    """Return the settings as a line."""
    return line("settings", asdict(settings))


def settings_of(facts: Mapping[str, Any]) -> GatewaySettings:
    """Return settings as a line has them."""
    source = facts["credential"]
    return GatewaySettings(
        facts["upstream"],
        CredentialSource(
            source["kind"],
            source["value"],
            source["path"],
            tuple(source["command"]),
            bearer=source["bearer"],
            refreshed_at=source.get("refreshed_at", TOKEN_URL),  # a daemon of before says none
            outbound=Outbound(**source.get("outbound", {})),
        ),
        tuple((name, value) for name, value in facts["headers"]),
        tuple(facts["hosts"]),
        git_remotes=tuple(facts.get("git_remotes", ())),  # a daemon of before says none
        account=facts.get("account", ""),
        others=facts.get("others", False),
        ends_with_daemon=facts["ends_with_daemon"],
        outbound=Outbound(**facts.get("outbound", {})),  # a daemon of before says none
    )
