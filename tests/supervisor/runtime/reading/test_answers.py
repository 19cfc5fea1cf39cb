"""HTTP as the reading process speaks it."""

import socket
from collections.abc import AsyncIterator, Iterator

import anyio
import anyio.to_thread
import h11
import pytest

from supervisor import __version__
from supervisor.protocol.words import VERSION_HEADER
from supervisor.runtime.reading.answers import GoneError, ResponseStream

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def read(peer: socket.socket) -> tuple[int, dict[str, str], bytes, bool]:
    """An answer as h11 reads it: status, headers, body, and whether its end was told."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    client.send(h11.EndOfMessage())
    status, headers, body = 0, dict[str, str](), b""
    while True:
        try:
            event = client.next_event()
        except h11.RemoteProtocolError:
            return status, headers, body, False
        if event is h11.NEED_DATA:
            client.receive_data(peer.recv(100_000))
        elif isinstance(event, h11.Response):
            status, headers = event.status_code, {name.decode(): value.decode() for name, value in event.headers}
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return status, headers, body, True


async def parts(*given: bytes) -> AsyncIterator[bytes]:
    for part in given:
        yield part


async def test_a_stream_comes_whole_however_slowly_it_is_read(pair: Pair) -> None:
    given = [bytes([number % 256]) * 70_000 for number in range(100)]

    async def answer() -> None:
        with pair[0]:
            await ResponseStream(pair[0], "1.1").stream(parts(*given), "application/x-ndjson")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer)
        status, headers, body, whole = await anyio.to_thread.run_sync(read, pair[1])
    assert (status, headers["content-type"], headers["connection"]) == (200, "application/x-ndjson", "close")
    assert headers[VERSION_HEADER] == __version__
    assert whole
    assert body == b"".join(given)


async def test_a_peer_that_knows_no_chunks_gets_the_bare_body(pair: Pair) -> None:
    with pair[0]:
        await ResponseStream(pair[0], "1.0").stream(parts(b"one", b"two"), "text/plain")
    assert (await anyio.to_thread.run_sync(pair[1].recv, 1000)).endswith(b"\r\n\r\nonetwo")


async def test_a_stream_that_fails_is_not_told_to_be_whole(pair: Pair) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"one"
        raise ValueError

    with pair[0], pytest.raises(ValueError):
        await ResponseStream(pair[0], "1.1").stream(failing(), "text/plain")
    _, _, body, whole = await anyio.to_thread.run_sync(read, pair[1])
    assert (body, whole) == (b"one", False)


async def test_a_problem_is_json_with_its_status(pair: Pair) -> None:
    with pair[0]:
        await ResponseStream(pair[0], "1.1").problem(503, "It is full.", "Ask later.")
    status, headers, body, _ = await anyio.to_thread.run_sync(read, pair[1])
    assert (status, headers["content-type"]) == (503, "application/json")
    assert body == b'{"kind":"Unavailable","what":"It is full.","way_out":"Ask later."}'


async def test_one_who_hangs_up_is_noticed_while_nothing_is_sent_and_while_something_is(pair: Pair) -> None:
    answer = ResponseStream(pair[0], "1.1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer.gone)
        pair[1].send(b"what it says beside is passed over")
        await anyio.wait_all_tasks_blocked()
        pair[1].close()
    with pytest.raises(GoneError):
        await answer.whole(b"x" * 1_000_000, "text/plain")
