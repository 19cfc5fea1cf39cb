"""Hosts that agents may reach, and the addresses they have: none that is private, whatever a name says."""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

HTTPS = 443
"""Port of a host that is named without one."""


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """A host, or all hosts below a name, at one port."""

    name: str
    port: int
    below: bool

    def fits(self, host: str, port: int) -> bool:
        """Whether this is the host at that port."""
        if port != self.port:
            return False
        return host.endswith(f".{self.name}") if self.below else host == self.name


class HostError(Exception):
    """A host cannot be reached by agents; the message says why, and what would help."""

    def __init__(self, text: str, host: str = "") -> None:
        """Keep the host with its port, if a person can open it."""
        super().__init__(text)
        self.host = host


class Hosts:
    """The hosts of a configuration.

    Args:
        names: As `NAME` or `NAME:PORT`, with `*.` before it for all hosts below.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._allowed = tuple(map(parsed, names))

    def check(self, host: str, port: int) -> None:
        """Look whether a host may be reached.

        Raises:
            HostError: It may not.
        """
        named = host.lower().rstrip(".")
        if not any(each.fits(named, port) for each in self._allowed):
            raise HostError(
                f"{host}:{port} is not among the hosts that agents may reach. Go on without it, or say what you need it "
                f"for. A person can open it for this agent (chaperon allow AGENT {named}:{port} --tool host --for 1h), or "
                "for all in sandbox.hosts of the configuration.",
                f"{named}:{port}",
            )

    async def addresses(self, host: str, port: int, *, proxied: bool = False) -> list[str]:
        """Return the addresses of a host that may be reached, by looking its name up outside.

        Args:
            host: The host.
            port: The port.
            proxied: Whether a proxy leads there: then the name itself stands for addresses that it alone can look up.

        Raises:
            HostError: It may not be reached, has no address, or a private one alone.
        """
        self.check(host, port)
        try:
            found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            if proxied:
                return [host]
            raise HostError(f"{host} has no address: {error.strerror or error}.") from error
        literal = _address(host)
        usable = [each for _, _, _, _, (each, *_) in found if literal is not None or _is_public(str(each))]
        if not usable:
            raise HostError(
                f"{host} leads to addresses of this machine or network, which a name does not open. A person can name "
                "the address itself in sandbox.hosts."
            )
        return list(dict.fromkeys(map(str, usable)))


def parsed(text: str) -> AllowedHost:
    """Return a host of the configuration.

    Raises:
        ValueError: It is none.
    """
    name, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        name, port = text, str(HTTPS)
    below = name.startswith("*.")
    bare = name.removeprefix("*.").strip("[]").lower().rstrip(".")
    if not bare or "*" in bare or "/" in bare or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError(f"{text!r} is no host: write NAME, NAME:PORT or *.NAME")
    return AllowedHost(bare, int(port), below)


NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses that stand for one of IPv4 in their last 32 bits (RFC 6052)."""


def _is_public(text: str) -> bool:
    """Whether an address is public, and stands for no private one."""
    address = ipaddress.ip_address(text)
    meant: list[ipaddress.IPv4Address | ipaddress.IPv6Address | None] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        meant += [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in NAT64:
            meant.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return all(each.is_global and not each.is_multicast for each in meant if each is not None)


def _address(host: str) -> object | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
