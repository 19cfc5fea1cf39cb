"""The door of the panel: what each request must show before any page sees it, and the headers of each answer.

A page of another site can make a browser send requests here. So the name that the browser used must be ours, which a
rebound name of DNS is not; the browser says where the request comes from (Fetch Metadata, Origin), and nothing from
elsewhere passes; the cookie is not sent from other sites; and an action carries a token that only our pages have.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from supervisor.panel.access.sessions import BrowserSession, Sessions
from supervisor.panel.pages.sign_in import elsewhere_page, sign_in_page

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With `no-referrer`, browsers send `Origin: null` with our own forms (Fetch, "append a request Origin header").
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""Headers of each answer."""

READING = frozenset({"GET", "HEAD"})

OPEN = ("/static/", "/sign-in")
"""Paths that need no session: they show nothing of the daemon's."""

TOKEN_HEADER = "x-chaperon-token"  # noqa: S105 - the name of a header
"""The header with the session's token."""


@dataclass(frozen=True, slots=True)
class Address:
    """The addresses under which browsers may ask for the panel.

    Args:
        port: The port of this machine.
        names: Further names with their ports, as a proxy before it is asked for them. Example: `agents.example:443`.
    """

    port: int
    names: tuple[str, ...] = ()

    @property
    def hosts(self) -> frozenset[str]:
        """The allowed values of `Host`, whole."""
        named = {name.removesuffix(":443") for name in self.names}
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}", *self.names, *named})

    @property
    def origins(self) -> frozenset[str]:
        """The allowed values of `Origin`; a proxy speaks HTTPS."""
        named = {f"https://{name.removesuffix(':443')}" for name in self.names}
        return frozenset({f"http://127.0.0.1:{self.port}", f"http://localhost:{self.port}", *named})

    @property
    def cookie(self) -> str:
        """The name of the cookie, with the port: browsers share cookies between the ports of a host."""
        return f"chaperon-{self.port}"


@dataclass(frozen=True, slots=True)
class Door:
    """Middleware that lets in what may come in.

    Args:
        app: What answers.
        place: Where we are.
        sessions: Who signed in.
        read_only: Whether nothing may be done.
    """

    app: ASGIApp
    place: Address
    sessions: Sessions
    read_only: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        session = self._session(headers)
        scope.setdefault("state", {})["session"] = session
        refused = self._refusal(scope["method"], scope["path"], headers, session)
        await (refused or self.app)(scope, receive, with_headers)

    def _session(self, headers: Headers) -> BrowserSession | None:
        try:
            cookies = SimpleCookie("; ".join(headers.getlist("cookie")))
        except CookieError:
            return None
        found = cookies.get(self.place.cookie)
        return self.sessions.of(found.value) if found else None

    def _refusal(self, method: str, path: str, headers: Headers, session: BrowserSession | None) -> Response | None:
        """Return the refusal of a request; None if it may pass."""
        if len(named := headers.getlist("host")) != 1 or named[0].lower() not in self.place.hosts:
            return _no(421, "The panel is not served under this name. Open the address that chaperon panel printed.")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            if method in READING and headers.get("sec-fetch-mode") == "navigate":
                return HTMLResponse(elsewhere_page(_target(path)), 403)
            return _no(403, "The panel takes no requests from pages of other sites.")
        if method not in READING and headers.get("origin") not in self.place.origins:
            return _no(403, "The panel takes actions from its own pages alone.")
        if path.startswith(OPEN):
            return None
        if session is None:
            if method in READING and "text/html" in headers.get("accept", ""):
                return HTMLResponse(sign_in_page(), 401)
            return _no(401, "You are signed out. Press Enter where chaperon panel runs, for another link.")
        if method not in READING:
            token = headers.get(TOKEN_HEADER, "")
            if not secrets.compare_digest(token.encode(), session.token.encode()):
                return _no(403, "The page that asked is of an earlier session. Load it anew.")
            if self.read_only:
                return _no(403, "The panel was started with --read-only. Nothing was done.")
        return None


def _no(status: int, what: str) -> Response:
    return JSONResponse({"what": what, "way_out": ""}, status)


def _target(path: str) -> str:
    """Return a path that leads nowhere but to us, even if it begins with two slashes."""
    return "/" + urlsplit(path).path.lstrip("/\\")
