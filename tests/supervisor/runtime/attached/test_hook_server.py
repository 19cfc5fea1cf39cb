"""The server of the socket of hooks, by peers that send whatever they like."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from anyio.abc import UNIXSocketStream

from supervisor.runtime.attached.door import HookHouse
from supervisor.runtime.attached.hook_server import MOST_EARLY, serve_hooks
from supervisor.runtime.attached.http_messages import MOST_HEAD, Head
from supervisor.runtime.attached.relay_settings import MOST_BYTES
from supervisor.runtime.socket.admission import RefusedPeer
from supervisor.runtime.socket.listening import listen
from tests.stages.daemon import until


class Server:
    """What answers: the body itself, once it may."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked: list[tuple[str, bytes]] = []
        self.given_up: list[bytes] = []
        self.refused: list[RefusedPeer] = []
        self.may_answer = anyio.Event()
        self.may_answer.set()
        self.told_of_end = False

    async def answer(self, head: Head, body: bytes, arrival: Any) -> tuple[int, bytes]:
        assert arrival.peer.pid == os.getpid()
        self.asked.append((head.first[1], body))
        try:
            await self.may_answer.wait()
        except BaseException:
            if not self.told_of_end:
                self.given_up.append(body)
            raise
        return 200, body

    def end(self) -> None:
        self.told_of_end = True

    async def connect(self) -> UNIXSocketStream:
        return await anyio.connect_unix(str(self.path))


@asynccontextmanager
async def serving(tmp_path: Path, most: int = 10) -> AsyncIterator[Server]:
    server = Server(tmp_path / "s")
    with closing(await anyio.to_thread.run_sync(listen, server.path)) as listening:
        async with anyio.create_task_group() as tasks:
            about = (server.answer, server.end, listening, HookHouse(), server.refused.append, most)
            tasks.start_soon(serve_hooks, *about)
            yield server
            tasks.cancel_scope.cancel()


def hook(body: bytes, more: str = "") -> bytes:
    return f"POST /v1/hooks HTTP/1.1\r\n{more}content-length: {len(body)}\r\n\r\n".encode() + body


async def heard(connection: UNIXSocketStream, end: bytes = b"", times: int = 1) -> bytes:
    """Return what comes, to the connection's end, or until it ended with this so often."""
    found = b""
    with anyio.fail_after(60):
        while not end or found.count(end) < times:
            try:
                found += await connection.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                break
    return found


async def test_hooks_come_one_after_another_by_one_connection_in_whatever_pieces(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, await server.connect() as connection:
        for number in range(3):
            body = b'{"n": %d}' % number
            for byte in hook(body):
                await connection.send(bytes([byte]))
            answer = await heard(connection, body)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n")
        await connection.send(hook(b"[1]") + hook(b"[2]") + hook(b"[3]", "connection: close\r\n") + hook(b"[4]"))
        answers = await heard(connection)
        assert [answers.count(b"[%d]" % n) for n in (1, 2, 3, 4)] == [1, 1, 1, 0]
    assert [body for _, body in server.asked][3:] == [b"[1]", b"[2]", b"[3]"]
    assert server.told_of_end


async def test_a_request_that_tells_of_no_body_has_none(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        async with await server.connect() as connection:
            await connection.send(b"GET / HTTP/1.1\r\nhost: chaperon\r\nconnection: close\r\n\r\n")
            assert (await heard(connection)).startswith(b"HTTP/1.1 200 OK")
        assert server.asked == [("/", b"")]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"\x16\x03\x01\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\n folded\r\n\r\n", b"400"),
        (b"x" * (MOST_HEAD + 1), b"431"),
        (b"POST / HTTP/1.1\r\ncontent-length: two\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n", b"413"),
        (f"POST / HTTP/1.1\r\ncontent-length: {MOST_BYTES + 1}\r\n\r\n".encode(), b"413"),
    ],
)
async def test_what_is_no_hook_is_answered_and_hung_up_upon(tmp_path: Path, sent: bytes, status: bytes) -> None:
    async with serving(tmp_path) as server:
        async with await server.connect() as connection:
            await connection.send(sent)
            answer = await heard(connection)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert server.asked == []


async def test_a_hook_whose_sender_hangs_up_is_given_up_and_one_that_the_daemon_cuts_is_not(tmp_path: Path) -> None:
    async with AsyncExitStack() as at_last:
        async with serving(tmp_path) as server:
            server.may_answer = anyio.Event()
            gone, waiting = await server.connect(), await at_last.enter_async_context(await server.connect())
            await gone.send(hook(b"gone"))
            await waiting.send(hook(b"waits"))
            await until(lambda: len(server.asked) == 2)
            await gone.aclose()
            await until(lambda: server.given_up == [b"gone"])
        assert await heard(waiting) == b""
    assert server.told_of_end
    assert server.given_up == [b"gone"]


async def test_a_peer_that_sends_on_without_waiting_is_held_to_a_bound(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.may_answer = anyio.Event()
        async with await server.connect() as connection:
            await connection.send(hook(b"first"))
            await until(lambda: len(server.asked) == 1)

            with suppress(anyio.BrokenResourceError):
                for _ in range(100):
                    await connection.send(b"x" * MOST_EARLY)
            await until(lambda: server.given_up == [b"first"])


async def test_one_that_takes_no_answers_is_answered_no_further(tmp_path: Path) -> None:
    hooks = 6
    async with serving(tmp_path) as server, await server.connect() as connection:

        async def send() -> None:
            for _ in range(hooks):
                await connection.send(hook(b"x" * 1_000_000))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await until(lambda: len(server.asked) > 0)
            looks = 0
            while looks < 20:  # it stands still: no further one is asked although more were sent
                before = len(server.asked)
                await anyio.sleep(0.01)
                looks = looks + 1 if len(server.asked) == before else 0
            assert len(server.asked) < hooks
            answers = await heard(connection, b"HTTP/1.1 200", hooks)
        assert answers.count(b"HTTP/1.1 200") == hooks


async def test_connections_over_the_limit_are_refused_and_the_others_served(tmp_path: Path) -> None:
    async with serving(tmp_path, most=1) as server:
        async with await server.connect() as first:
            await first.send(hook(b"{}"))
            assert await heard(first, b"{}")
            async with await server.connect() as second:
                assert b"503" in await heard(second)
            await first.send(hook(b"[]"))
            assert await heard(first, b"[]")
        await until(lambda: [one.reason for one in server.refused] == ["full"])

        async def again() -> bytes:
            async with await server.connect() as connection:
                await connection.send(hook(b"{}"))
                return await heard(connection, b"{}")

        with anyio.fail_after(60):
            while b"503" in await again():  # until the first one's end was seen
                await anyio.lowlevel.checkpoint()
