"""A remote of git over https with a login, on loopback: git's own server program behind a few lines of Python."""

import base64
import os
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support import answering

LOGIN = "Basic " + base64.b64encode(b"ann:planted-password").decode()


@dataclass
class GitServer:
    """The server, and the requests that came with the right login."""

    root: Path
    certificate: Path
    port: int = 0
    login: str = LOGIN
    seen: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    headers: set[str] = field(default_factory=set)
    """Names of headers that came with the right login."""

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def log(self, repository: str, branch: str) -> str:
        words = ["git", "-C", str(self.root / repository), "log", "--format=%s", branch, "--"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


@contextmanager
def git_server(folder: Path, *repositories: str) -> Iterator[GitServer]:
    """Serve bare repositories with these names below a folder."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    folder.mkdir(parents=True)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    for name in repositories:
        subprocess.run(["git", "init", "--quiet", "--bare", str(folder / "root" / name)], check=True)
        subprocess.run(["git", "-C", str(folder / "root" / name), "config", "http.receivepack", "true"], check=True)
    made = GitServer(folder / "root", certificate)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if self.headers.get("authorization") != made.login:
                made.refused.append(self.path)
                self.send_response(401)
                self.send_header("www-authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            made.seen.append(self.path)
            made.headers.update(name.lower() for name in self.headers)
            environ = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(made.root), "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "ann",
                "CONTENT_TYPE": self.headers.get("content-type", ""), "REMOTE_ADDR": "127.0.0.1",
                "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
                "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            }  # fmt: skip
            done = subprocess.run(
                ["git", "http-backend"], input=self._body(), env=environ, capture_output=True, check=False
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            fields = [line.decode().split(": ", 1) for line in head.split(b"\r\n")]
            status = next((value.split()[0] for name, value in fields if name == "Status"), "200")
            self.send_response(int(status))
            for name, value in fields:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))  # as servers of git do: the end of TLS is no end of it
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - as the library calls it

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length", "0")))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            return body

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    made.port = server.server_port
    with answering(server):
        yield made
