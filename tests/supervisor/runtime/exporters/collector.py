"""An HTTP server that keeps what is posted to it, and answers as it is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from monitors.contract import anyjson
from tests.support import answering


@dataclass
class Collector:
    """What was posted, and what is answered: a status and a body for each coming request, then 200."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    hang: threading.Event | None = None
    """While given and not set, requests are not answered."""

    def numbers(self) -> list[int]:
        """The numbers of the records in all bodies that were taken, in order."""
        return [int(anyjson.decode(line)["n"]) for body in self.bodies for line in body.splitlines()]


@contextmanager
def collecting() -> Iterator[Collector]:
    made = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if made.hang is not None:
                made.hang.wait(20)
            status, answer = made.answers.pop(0) if made.answers else (200, b"{}")
            if status == 200:
                made.bodies.append(body)
                made.headers.append({key.lower(): value for key, value in self.headers.items()})
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_address[1]}/ingest"
    with answering(server):
        yield made
