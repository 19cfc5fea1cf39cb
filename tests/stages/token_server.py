"""A token endpoint with the model behind the same port, on loopback: plain, over TLS, and as a proxy that names lead to."""

import json
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support import answering

OLD, NEW = "sk-ant-oat01-old", "sk-ant-oat01-new"
OLD_REFRESH, NEW_REFRESH = "sk-ant-ort01-old", "sk-ant-ort01-new"
TLS_HELLO = b"\x16"

ROTATED: Mapping[str, Any] = {
    "token_type": "Bearer",
    "access_token": NEW,
    "refresh_token": NEW_REFRESH,
    "expires_in": 28_800,
    "scope": "user:inference user:profile",
}
"""An answer that replaces both tokens."""

EVENTS: tuple[Mapping[str, Any], ...] = (
    {
        "type": "message_start",
        "message": {
            "id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
)  # fmt: skip


@dataclass
class TokenServer:
    """The server, what it answers, and what it was asked."""

    certificate: Path
    port: int = 0
    answer: Mapping[str, Any] = field(default_factory=lambda: dict(ROTATED))
    status: int = 200
    refused: set[str] = field(default_factory=set)
    """Access tokens and keys that the model refuses."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of refreshes."""
    calls: list[dict[str, str]] = field(default_factory=list)
    """Headers of calls of the model."""
    connections: int = 0
    """Connections in which the model was called."""
    proxied: list[tuple[str, str]] = field(default_factory=list)
    """What it was asked for as a proxy, each with the login."""
    proxy_login: str = ""
    """The one login that it takes as a proxy; empty for any."""
    meanwhile: Callable[[], object] = lambda: None
    """Done while a refresh waits for its answer."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def refresh_url(self) -> str:
        return f"{self.address}/v1/oauth/token"


def login(expires_in: float, now: float, **more: object) -> dict[str, Any]:
    """Return what the CLI's file has after somebody logged in."""
    return {
        "claudeAiOauth": {
            "accessToken": OLD,
            "refreshToken": OLD_REFRESH,
            "expiresAt": int(1e3 * (now + expires_in)),
            "scopes": ["user:inference", "user:profile"],
            "subscriptionType": "max",
            "rateLimitTier": None,
            **more,
        },
        "mcpOAuth": {"kept": True},
    }


def write_login(path: Path, content: Mapping[str, Any]) -> None:
    """Write a login whole, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name("written")
    new.touch(mode=0o600)
    new.write_text(json.dumps(content))
    new.replace(path)


@contextmanager
def token_server(folder: Path) -> Iterator[TokenServer]:
    """Serve until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    key, certificate = folder / "key.pem", folder / "cert.pem"
    names = "subjectAltName=DNS:platform.claude.com,DNS:api.anthropic.com,IP:127.0.0.1"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=tests", "-addext", names, "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    made = TokenServer(certificate)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        has_called = False

        def setup(self) -> None:
            super().setup()
            if self.request.recv(1, socket.MSG_PEEK) == TLS_HELLO:
                self._speak_tls()

        def finish(self) -> None:
            super().finish()
            self.request.close()

        def _speak_tls(self) -> None:
            super().finish()
            self.request = self.connection = context.wrap_socket(self.request, server_side=True)
            self.rfile = self.connection.makefile("rb", -1)
            self.wfile = self.connection.makefile("wb", 0)

        def log_message(self, *_: object) -> None:
            pass

        def do_CONNECT(self) -> None:
            if not self._may_ask():
                return
            self.close_connection = False  # a client that asks for the tunnel in HTTP/1.0 goes on within it
            self.send_response(200)
            self.end_headers()
            self._speak_tls()

        def _may_ask(self) -> bool:
            login = self.headers.get("proxy-authorization", "")
            made.proxied.append((self.path, login))
            if made.proxy_login not in ("", login):
                self._say(407, {})
                return False
            return True

        def do_GET(self) -> None:
            self._say(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            if self.path.startswith("http://") and self._may_ask():
                self.path = urlsplit(self.path).path
            if self.path == "/v1/oauth/token":
                made.asked.append(json.loads(body))
                made.meanwhile()
                self._say(made.status, made.answer)
            elif self.path.startswith("/v1/messages"):
                self._call()
            else:
                self._say(404, {})

        def _call(self) -> None:
            made.connections += not self.has_called
            self.has_called = True
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.calls.append(headers)
            key = headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")
            if key in made.refused:
                said = {"type": "authentication_error", "message": "OAuth token has expired."}
                self._say(401, {"type": "error", "error": said})
                return
            events = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in EVENTS)
            self._say(200, events.encode(), "text/event-stream")

        def _say(self, status: int, said: Mapping[str, Any] | bytes, kind: str = "application/json") -> None:
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that went away is no fault of a test."""

    server = Server(("127.0.0.1", 0), Handler)
    made.port = server.server_port
    with answering(server):
        yield made
