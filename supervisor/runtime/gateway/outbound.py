"""The way to servers outside, as the environment has it for the CLI: a person's own proxy, and whom to trust. Pure.

The CLI takes the first of `https_proxy`, `HTTPS_PROXY`, `http_proxy` and `HTTP_PROXY` for every address, and speaks no
SOCKS; agents behind the gateway reach their network as they would without it.
"""

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

PROXIES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")
"""In the order in which the CLI looks (2.1.329)."""


@dataclass(frozen=True, slots=True)
class Outbound:
    """The way to servers outside."""

    proxy: str = field(repr=False, default="")
    """Address of the person's own proxy, with its login; empty for none."""
    no_proxy: str = ""
    """Hosts that are reached without it."""
    certificates: str = ""
    """File of further certificates to trust."""
    client_certificate: str = ""
    client_key: str = ""
    passphrase: str = field(repr=False, default="")


DIRECT = Outbound()
"""Without a proxy, trusting what the machine trusts."""


class ProxyError(OSError):
    """A proxy leads nowhere; the message has no login of it."""


def outbound_of(environment: Mapping[str, str]) -> Outbound:
    """Return the way to servers that an environment has."""
    given = environment.get
    return Outbound(
        proxy=next(filter(None, map(given, PROXIES)), ""),
        no_proxy=given("no_proxy") or given("NO_PROXY") or "",
        certificates=given("NODE_EXTRA_CA_CERTS") or "",
        client_certificate=given("CLAUDE_CODE_CLIENT_CERT") or "",
        client_key=given("CLAUDE_CODE_CLIENT_KEY") or "",
        passphrase=given("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE") or "",
    )


def proxy_to(host: str, port: int, way: Outbound) -> SplitResult | None:
    """Return the proxy by which a host is reached; None if it is reached itself, as this machine always is.

    Raises:
        ProxyError: The proxy is none.
    """
    if not way.proxy or _is_here(host) or _is_left_out(host, port, way.no_proxy):
        return None
    try:
        found = urlsplit(way.proxy if "://" in way.proxy else f"http://{way.proxy}")
        usable = found.scheme in ("http", "https") and found.hostname and found.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ProxyError(
            "the proxy of the environment (HTTPS_PROXY) is no address of http or https, and nothing else leads out"
        )
    return found


def _is_here(host: str) -> bool:
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_left_out(host: str, port: int, no_proxy: str) -> bool:
    """Whether a host is named in `no_proxy`: apart by commas or blanks, each with all names below.

    `*` is all, and `10.0.0.0/8` the addresses of a network.
    """
    for each in no_proxy.replace(",", " ").lower().split():
        if each == "*":
            return True
        if "/" in each and _is_in(host, each):
            return True
        name = each.removeprefix("*").lstrip(".").strip("[]")
        for asked in (host.lower(), f"{host.lower()}:{port}"):
            if asked == name or (name and asked.endswith(f".{name}")):
                return True
    return False


def _is_in(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def login_of(proxy: SplitResult) -> list[tuple[str, str]]:
    """Return the header by which a proxy knows who asks; none if its address has no login."""
    if proxy.username is None:
        return []
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return [("proxy-authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")]
