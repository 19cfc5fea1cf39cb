"""The port by which git's own helper asks the gateway: it hands on what the word comes with, and nothing else."""

import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import pytest

from supervisor.runtime.gateway import git_remotes
from supervisor.runtime.sandbox import git_helper as helper


class Gateway(HTTPServer):
    address_family = socket.AF_UNIX
    seen: list[tuple[str, str, bytes]]

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "", 0


class Asked(helper._Requests):
    server: Gateway  # type: ignore[assignment]

    def do_POST(self) -> None:  # noqa: N802 - as the standard library calls it
        self.close_connection = True
        self.server.seen.append((self.path, str(self.headers), b"".join(self._body())))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the answer")


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(str(tmp_path / "socket"), Asked) as made:  # type: ignore[arg-type]
        made.seen = []
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[helper._Server]:
    with helper._Server(str(tmp_path / "socket")) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def asked(port: helper._Server, path: str, word: str, body: Any = b"packed") -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port.server_port, timeout=20)
    connection.request("POST", path, body, {helper.WORD: word}, encode_chunked=not isinstance(body, bytes))
    answer = connection.getresponse()
    said = answer.status, answer.read()
    connection.close()
    return said


PATH = f"{helper.PREFIX}git.example/a.git/git-receive-pack"


@pytest.mark.parametrize("body", [b"packed" * 50_000, [b"packed" * 100] * 500], ids=["length", "pieces"])
def test_a_request_with_the_word_is_handed_on_whole_and_without_the_word(
    gateway: Gateway, port: helper._Server, body: Any
) -> None:
    assert asked(port, PATH, port.word, iter(body) if isinstance(body, list) else body) == (200, b"the answer")
    ((path, headers, got),) = gateway.seen
    assert (path, got) == (PATH, b"packed" * 50_000)
    assert port.word not in headers


def test_without_the_word_or_for_anything_but_git_nothing_is_handed_on(gateway: Gateway, port: helper._Server) -> None:
    for path, word in ((PATH, ""), (PATH, "another"), ("/v1/messages", port.word)):
        assert asked(port, path, word)[0] == 403
    assert gateway.seen == []


def test_a_gateway_that_is_not_there_is_told(port: helper._Server) -> None:
    status, said = asked(port, PATH, port.word)
    assert status == 502
    assert b"the gateway of chaperon cannot be asked" in said


def test_it_asks_for_what_the_gateway_takes() -> None:
    assert helper.PREFIX == git_remotes.PREFIX
