"""The token endpoint, by which a login of `claude` is refreshed: what is asked, and what is answered. Blocks.

Measured on CLI 2.1.329 (tests/contract/test_login.py): `POST` with JSON `grant_type`, `refresh_token`, `client_id` and
`scope`; the answer has `access_token`, `expires_in` in seconds, `scope`, and `refresh_token` if that one is replaced.
"""

import json
import re
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from supervisor.runtime.gateway.outbound import DIRECT, Outbound, login_of, proxy_to

TOKEN_URL = "https://platform.claude.com/v1/oauth/token"  # noqa: S105 - an address
"""The address of the CLI's own text."""

CLIENT = "9d1c250a-e61b-44d9-88ed-5944d1962f5e"
"""The CLI, as the endpoint knows it: a public word, which it sends itself."""

SECONDS = 30.0
"""How long an answer may take, as the CLI gives it."""

MOST_BYTES = 65_536
"""Most of an answer; the CLI reads some hundred bytes of it."""

USUAL_SECONDS = 3_600.0
"""How long an access token is used whose end is not said (RFC 6749 leaves that open): logins of `claude` last eight
hours."""

LONGEST_TOKEN = 16_384
"""Characters of a token; those of `claude` have 108."""


class TokenRefusedError(Exception):
    """There are no other tokens; the message says why, without any token."""

    def __init__(self, why: str, *, is_final: bool = False) -> None:
        """Keep whether the refresh token is worth nothing any more."""
        super().__init__(why)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """Other tokens of a login."""

    access: str
    refresh: str
    """Empty if the one before stays."""
    expires: float
    """In Unix seconds."""
    scopes: tuple[str, ...] = ()
    """Empty if they stay."""
    refresh_expires: float | None = None
    """In Unix seconds; None if that is not said."""


def refresh(
    url: str, token: str, scopes: Sequence[str], client: str, now: float, way: Outbound = DIRECT
) -> TokenAnswer:
    """Ask for other tokens.

    Args:
        url: The endpoint.
        token: The refresh token.
        scopes: What the login may; no more is asked for.
        client: The program that it was given to; empty for the CLI.
        now: The time, in Unix seconds.
        way: The way to the endpoint.

    Raises:
        TokenRefusedError: There are none.
    """
    asked = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client or CLIENT}
    if scopes:
        asked["scope"] = " ".join(scopes)
    try:
        status, body = _post(url, json.dumps(asked).encode(), way)
    except OSError as error:
        raise TokenRefusedError(f"{urlsplit(url).hostname} was not reached: {error}") from None
    except ValueError as error:
        raise TokenRefusedError(
            f"{urlsplit(url).hostname} gave no answer that could be read: {error!r}"[:200]
        ) from None
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    answer: dict[str, Any] = said if isinstance(said, dict) else {}
    if not 200 <= status < 300:
        word = answer.get("error")
        code = word if isinstance(word, str) and re.fullmatch("[a-z_]{1,40}", word) else ""
        final = status in (400, 401) and code == "invalid_grant"
        raise TokenRefusedError(f"the answer was {status} {code}".rstrip(), is_final=final)
    access = answer.get("access_token")
    if not _is_token(access):
        raise TokenRefusedError(f"the answer of {status} has no access token")
    replaced, scope = answer.get("refresh_token"), answer.get("scope")
    ends = answer.get("refresh_token_expires_in")
    return TokenAnswer(
        access,
        replaced if _is_token(replaced) else "",
        now + (_seconds(answer.get("expires_in")) or USUAL_SECONDS),
        tuple(scope.split()) if isinstance(scope, str) else (),
        now + _seconds(ends) if _seconds(ends) else None,
    )


def _post(url: str, body: bytes, way: Outbound) -> tuple[int, bytes]:
    """Return status and body of an answer; no other address is followed.

    Raises:
        OSError: The endpoint is not reached, or is too slow.
        ValueError: It speaks no HTTP.
    """
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # 12 ms, and few gateways refresh a login

    from supervisor.runtime.gateway.upstream import trust

    where = urlsplit(url)
    is_secret = where.scheme == "https"
    proxy = proxy_to(where.hostname or "", where.port or (443 if is_secret else 80), way)
    if proxy is not None and (proxy.scheme == "https" or not is_secret):
        raise OSError("a login is not refreshed through this proxy: only https through a proxy of http is")
    place = (proxy or where).netloc.rpartition("@")[2]
    connection: HTTPConnection = (
        HTTPSConnection(place, timeout=SECONDS, context=trust(way))
        if is_secret
        else HTTPConnection(place, timeout=SECONDS)
    )
    if proxy is not None:
        connection.set_tunnel(where.hostname or "", where.port, dict(login_of(proxy)))
    connection.connect()
    timer = threading.Timer(SECONDS, _cut, (connection.sock,))  # an answer byte for byte meets no other limit
    timer.start()
    try:
        headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "chaperon"}
        connection.request("POST", where.path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(MOST_BYTES)
    except HTTPException as error:
        raise ValueError(type(error).__name__) from error
    finally:
        timer.cancel()
        connection.close()


def _cut(stream: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(stream, socket.SHUT_RDWR)  # not TLS's own, which is not for two threads


def _is_token(value: object) -> TypeGuard[str]:
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST_TOKEN
        and value.isascii()
        and value.isprintable()
        and " " not in value
    )


def _seconds(value: object) -> float:
    """Return a number of seconds to come; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        return 0.0
    return float(value)
