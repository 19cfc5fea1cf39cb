"""A connection that is given away in the middle of a conversation."""

import socket
from pathlib import Path

import anyio.to_thread

from tests.stages.daemon import Base, served

HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"
EVENTS = b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n"
DESCRIPTION = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"


def say(path: Path, *said: bytes, first: bool = False) -> bytes:
    """All that is answered; with `first`, an answer is only read once everything was said."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(60)
        peer.connect(str(path))
        data = b""
        for each in said:
            peer.sendall(each)
            if each is not said[-1] and not first:
                data += peer.recv(100_000)
        while part := peer.recv(100_000):
            data += part
    return data


async def test_what_was_asked_before_on_the_connection_is_answered_first(tmp_path: Path) -> None:
    base = Base(tmp_path)
    async with served(base):
        answered = await anyio.to_thread.run_sync(say, base.places.socket, HEALTH, HEALTH, EVENTS)
    assert answered.count(b"HTTP/1.1 200 OK") == 3
    assert answered.rindex(b'"kind":"daemon_started"') > answered.rindex(b'"version"')
    assert answered.endswith(b"0\r\n\r\n")


async def test_a_peer_that_asks_on_without_reading_gets_both_answers_whole(tmp_path: Path) -> None:
    base = Base(tmp_path)

    def both() -> bytes:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.settimeout(60)
            peer.connect(str(base.places.socket))
            peer.sendall(DESCRIPTION)
            data = peer.recv(1)  # the first answer is on its way, and takes more than the socket holds
            peer.sendall(EVENTS)
            while part := peer.recv(4096):
                data += part
        return data

    async with served(base):
        answered = await anyio.to_thread.run_sync(both)
    assert answered.count(b"HTTP/1.1 200 OK") == 2
    assert b'"openapi"' in answered
    assert b'"kind":"daemon_started"' in answered
    assert answered.endswith(b"0\r\n\r\n")


async def test_an_old_peer_gets_lines_to_the_end_of_the_connection(tmp_path: Path) -> None:
    base = Base(tmp_path)
    async with served(base):
        answered = await anyio.to_thread.run_sync(say, base.places.socket, EVENTS.replace(b"1.1", b"1.0"))
    assert b"chunked" not in answered
    assert answered.split(b"\r\n\r\n", 1)[1].startswith(b'{"n":1,')


async def test_what_cannot_be_read_is_refused_before_anything_is_handed_over(tmp_path: Path) -> None:
    base = Base(tmp_path)
    async with served(base) as (_, client):
        assert (await client.get("/v1/events", params={"after": -2})).status_code == 422
        assert (await client.get("/v1/events", params={"agent": "nobody"})).status_code == 404
        assert (await client.get("/v1/health")).status_code == 200
