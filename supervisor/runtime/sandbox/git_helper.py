"""The remote helper of git in a sandbox without a proxy of its own: a remote that is named is asked by the gateway.

    git_helper.py SOCKET NAME https://HOST/PATH

Git starts it in the place of its own helper for https, see gitremote-helpers(7). It leads that one's requests to the
gateway's socket, which puts the login in, by a port of the loopback: git knows no sockets with a path. The port is
there for this one command of git, and answers none but who has the word that the command got in its environment.

Standard library only, and this file alone: inside a sandbox there is nothing else of chaperon.
"""

import contextlib
import hmac
import http.client
import http.server
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

PREFIX = "/chaperon-git/"
"""As in `supervisor.runtime.gateway.git_remotes`."""

WORD = "X-Chaperon-Word"
PIECE_BYTES = 65_536

ANSWER_SECONDS = 3_600.0
"""How long the gateway may take for an answer: a remote makes a pack of a large repository for minutes."""

LEFT_OUT = frozenset({"connection", "keep-alive", "transfer-encoding", WORD.lower()})
"""Headers of one connection alone."""


class _Gateway(http.client.HTTPConnection):
    """A connection to the gateway's socket."""

    def __init__(self, path: str) -> None:
        super().__init__("127.0.0.1", timeout=ANSWER_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connect by the path."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Server(http.server.ThreadingHTTPServer):
    """The port of one command of git.

    Args:
        gateway: The path of the gateway's socket.
    """

    daemon_threads = True

    def __init__(self, gateway: str) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.gateway, self.word = gateway, secrets.token_hex(16)


class _Requests(http.server.BaseHTTPRequestHandler):
    """One connection of git's own helper; it has one request."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Hand on a question."""
        self._hand_on(None)

    def do_POST(self) -> None:
        """Hand on what git has to say."""
        self._hand_on(self._body())

    def log_message(self, *_: Any) -> None:
        """Say nothing: standard error is git's."""

    def _hand_on(self, body: Iterator[bytes] | None) -> None:
        self.close_connection = True
        if not self.path.startswith(PREFIX) or not hmac.compare_digest(self.headers.get(WORD, ""), self.server.word):
            self.send_error(403)
            return
        chunked = "content-length" not in self.headers
        headers = {name: value for name, value in self.headers.items() if name.lower() not in LEFT_OUT}
        headers |= {"Transfer-Encoding": "chunked"} if body is not None and chunked else {}
        with contextlib.closing(_Gateway(self.server.gateway)) as gateway:
            try:
                gateway.request(self.command, self.path, body, headers, encode_chunked=chunked)
                answer = gateway.getresponse()
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.send_error(502, explain=f"the gateway of chaperon cannot be asked: {error}")
            else:
                self._answer(answer)

    def _answer(self, answer: http.client.HTTPResponse) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in LEFT_OUT:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := answer.read1(PIECE_BYTES):
            self.wfile.write(piece)

    def _body(self) -> Iterator[bytes]:
        """Yield the body of a request, however its length is said."""
        if "content-length" in self.headers:
            yield from self._pieces(int(self.headers["content-length"]))
            return
        while size := int(self.rfile.readline(PIECE_BYTES).split(b";")[0], 16):
            yield from self._pieces(size)
            self.rfile.readline(PIECE_BYTES)
        self.rfile.readline(PIECE_BYTES)

    def _pieces(self, left: int) -> Iterator[bytes]:
        while left > 0 and (piece := self.rfile.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece


def main(gateway: str, name: str, url: str) -> int:
    """Have git's own helper ask the gateway; return its exit code."""
    server = _Server(gateway)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    given = {
        "GIT_CONFIG_COUNT": str(first + 2),
        f"GIT_CONFIG_KEY_{first}": f"http.{base}/.extraHeader",
        f"GIT_CONFIG_VALUE_{first}": f"{WORD}: {server.word}",
        f"GIT_CONFIG_KEY_{first + 1}": f"http.{base}/.proxy",
        f"GIT_CONFIG_VALUE_{first + 1}": "",
    }
    words = ["git", "remote-http", name, base + PREFIX + url.removeprefix("https://")]
    return subprocess.run(words, env={**os.environ, **given}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
