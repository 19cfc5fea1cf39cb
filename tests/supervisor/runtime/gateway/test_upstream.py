"""Connections to the model, kept and used again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio
import anyio.abc
import h11
import pytest

from supervisor.runtime.gateway import upstream
from supervisor.runtime.gateway.outbound import DIRECT, Outbound
from supervisor.runtime.gateway.upstream import TRUST_SECONDS, Connections, connect, trusting
from tests.stages.daemon import until

HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"


@dataclass
class Server:
    """A server that gives each request of a connection the next of its answers, and then ends the connection."""

    answers: list[bytes]
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    open: set[anyio.abc.SocketStream] = field(default_factory=set)
    connections: int = 0

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        self.connections += 1
        self.open.add(stream)
        async with stream:
            for answer in self.answers:
                data = b""
                while not data.endswith(b"\r\n\r\n"):
                    try:
                        data += await stream.receive()
                    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                        return
                self.heads.append(data)
                if answer:
                    await stream.send(answer)
        self.open.discard(stream)

    async def ask(self, connections: Connections) -> bytes:
        """Ask once, and read the answer to its end."""
        head = h11.Request(method="GET", target="/", headers=[("host", "x")])
        connection = await connections.begin(urlsplit(f"http://127.0.0.1:{self.port}"), head)
        await connection.write(h11.EndOfMessage())
        text = b""
        try:
            await connection.answer()
            while isinstance(piece := await connection.event(), h11.Data):
                text += bytes(piece.data)
        except BaseException:
            await connection.close()
            raise
        await connections.end(connection)
        return text


@asynccontextmanager
async def serving(*answers: bytes) -> AsyncIterator[tuple[Server, Connections]]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    made, connections = Server(list(answers)), Connections()
    made.port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, made.serve)
        yield made, connections
        await connections.close()
        tasks.cancel_scope.cancel()


def test_the_certificates_of_the_machine_are_read_anew_now_and_then_and_not_for_each_connection() -> None:
    first = trusting(TRUST_SECONDS)
    assert trusting(2 * TRUST_SECONDS - 1) is first
    assert trusting(2 * TRUST_SECONDS) is not first


async def test_one_connection_serves_one_request_after_another() -> None:
    async with serving(HELLO, HELLO, HELLO) as (server, connections):
        assert [await server.ask(connections) for _ in range(3)] == [b"hello"] * 3
        assert server.connections == 1


async def test_one_that_its_server_closed_is_not_used_and_nothing_is_sent_by_it() -> None:
    async with serving(HELLO) as (server, connections):
        for _ in range(3):
            assert await server.ask(connections) == b"hello"
            await until(lambda: not server.open)
        assert (server.connections, len(server.heads)) == (3, 3)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nkeep-alive: timeout=1\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        HELLO + HELLO,
    ],
)
async def test_one_whose_server_says_its_end_or_more_than_was_asked_is_not_kept(answer: bytes) -> None:
    async with serving(answer, answer) as (server, connections):
        assert [await server.ask(connections) for _ in range(2)] == [b"hello"] * 2
        assert server.connections == 2


async def test_what_a_server_says_unasked_is_never_an_answer() -> None:
    async with serving(HELLO, HELLO) as (server, connections):
        await server.ask(connections)
        (stream,) = server.open
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nplante")
        (kept,) = connections._idle
        await until(lambda: not kept.is_quiet)
        assert await server.ask(connections) == b"hello"
        assert server.connections == 2


async def test_a_request_that_was_sent_is_not_sent_again() -> None:
    async with serving(HELLO, b"") as (server, connections):
        await server.ask(connections)
        with pytest.raises(OSError, match="without an answer"):
            await server.ask(connections)
        assert (server.connections, len(server.heads)) == (1, 2)


@pytest.mark.parametrize(
    "answer", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", b"HTTP/1.1 2"]
)
async def test_an_answer_that_is_none_is_told_as_one(answer: bytes) -> None:
    async with serving(answer) as (server, connections):
        with pytest.raises(OSError, match=r"no answer of HTTP|without an answer"):
            await server.ask(connections)


async def test_one_that_is_not_used_for_long_is_closed() -> None:
    async with serving(HELLO, HELLO) as (server, connections):
        await server.ask(connections)
        await connections.prune()
        assert server.open
        (kept,) = connections._idle
        kept.until = 0.0
        await connections.prune()
        await until(lambda: not connections._idle)
        assert await server.ask(connections) == b"hello"
        assert server.connections == 2


async def test_no_more_are_kept_than_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "MOST_IDLE", 2)
    async with serving(HELLO, HELLO) as (server, connections):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(server.ask, connections)
        assert len(connections._idle) <= 2


async def test_several_who_close_old_ones_at_once_do_not_meet() -> None:
    async with serving(HELLO, HELLO) as (server, connections):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(server.ask, connections)
        assert len(connections._idle) > 1
        for each in connections._idle:
            each.until = 0.0
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(connections.prune)
        assert not connections._idle


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 Connection established\r\n\r\n"], ids=["itself", "proxy"])
async def test_an_end_in_the_midst_of_tls_is_an_error_of_the_network(answer: bytes) -> None:
    async with anyio.create_task_group() as tasks:

        async def serve(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                await stream.receive()
                if answer:
                    await stream.send(answer)
                    await stream.receive()

        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        tasks.start_soon(listener.serve, serve)
        here = f"127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        way = Outbound(proxy=f"http://{here}") if answer else DIRECT
        with pytest.raises(ConnectionResetError, match="TLS"):
            await connect(urlsplit("https://model.example" if answer else f"https://{here}"), way)
        tasks.cancel_scope.cancel()
    await listener.aclose()
