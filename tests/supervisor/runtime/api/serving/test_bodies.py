"""Bodies of any length, by a real daemon on a real Unix socket."""

import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator
from typing import cast

import anyio.to_thread
import httpx
import orjson
import psutil
import pytest

from supervisor.runtime.api.app import make_api
from supervisor.runtime.api.serving.bodies import MAX_BODY_BYTES
from supervisor.runtime.api.serving.turnstile import Turnstile
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.reading.reader import ReadingService
from tests.stages.daemon import Base, served

JSON = {"content-type": "application/json"}


async def pieces(of: int, size: int = 65536) -> AsyncIterator[bytes]:
    """A body of so many bytes, whose length is not stated beforehand."""
    while of > 0:
        yield b" " * min(of, size)
        of -= size


def raw(base: Base, request: bytes) -> bytes:
    """All that the socket answers to these bytes."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(base.places.socket))
        answer = b""
        with contextlib.suppress(BrokenPipeError):  # it has answered before all was sent
            connection.sendall(request)
        with contextlib.suppress(ConnectionResetError):  # which follows the answer where bytes were left unread
            while data := connection.recv(65536):
                answer += data
        return answer


async def test_a_body_over_the_bound_is_refused_with_the_figures_as_json(base: Base) -> None:
    async with served(base) as (_, client):
        refused = await client.post("/v1/review", content=b" " * (MAX_BODY_BYTES + 1))
        assert refused.status_code == 413
        problem = refused.json()
        assert problem["kind"] == "TooLarge"
        assert str(MAX_BODY_BYTES + 1) in problem["what"]
        assert str(MAX_BODY_BYTES) in problem["what"]
        assert (await client.get("/v1/health")).status_code == 200


async def test_a_body_without_a_stated_length_is_refused_once_it_is_over_the_bound(base: Base) -> None:
    async with served(base) as (_, client):
        refused = await client.post("/v1/review", content=pieces(of=3 * MAX_BODY_BYTES))
        assert refused.status_code == 413
        assert refused.json()["kind"] == "TooLarge"


async def test_a_body_of_a_hundred_megabytes_takes_no_memory(base: Base) -> None:
    async with served(base) as (_, client):
        await client.get("/v1/health")
        own = psutil.Process()
        before = own.memory_info().rss
        refused = await client.post("/v1/agents", content=pieces(of=100_000_000))
        assert refused.status_code == 413
        assert own.memory_info().rss - before < 4 * MAX_BODY_BYTES


async def test_a_client_that_asks_before_it_sends_is_refused_at_once(base: Base) -> None:
    async with served(base):
        head = b"POST /v1/review HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"
        answer = await anyio.to_thread.run_sync(raw, base, head % (MAX_BODY_BYTES + 1))
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"100 Continue" not in answer


async def test_a_body_at_the_bound_is_read(base: Base) -> None:
    async with served(base) as (_, client):
        head, tail = b'{"tool":"Read","input":{"file_path":"', b'"}}'
        body = head + b"a" * (MAX_BODY_BYTES - len(head) - len(tail)) + tail
        assert len(body) == MAX_BODY_BYTES
        assert (await client.post("/v1/review", content=body, headers=JSON)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"tool":"Bash","input":{"command":"\\ud800"}}', id="half a surrogate pair"),
        pytest.param(b'{"tool":"Bash","input":{"a":[{"\\udfff":1}]}}', id="half a pair as a key within"),
        pytest.param(b'{"tool":"Bash","input":{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}}", id="very deep"),
        pytest.param(b'{"tool":"Bash","input":{"a":' + b"[" * 700 + b"]" * 700 + b"}}", id="deep"),
        pytest.param(b'{"tool":"Bash","input":{"command":' + b"9" * 10_000 + b"}}", id="a huge integer"),
        pytest.param(b'{"tool":"Bash","input":{"command":NaN}}', id="no number"),
        pytest.param(b'{"tool":"Bash","input":{"command":"\xff"}}', id="no UTF-8"),
        pytest.param(b"{", id="cut short"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b"", id="nothing"),
    ],
)
async def test_what_is_no_request_is_answered_with_json_and_not_with_an_error_of_ours(base: Base, body: bytes) -> None:
    async with served(base) as (_, client):
        answer = await client.post("/v1/review", content=body, headers=JSON)
        assert answer.status_code < 500, answer.text
        assert isinstance(orjson.loads(answer.content), dict)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(os.urandom(300) + b"\r\n\r\n", id="noise"),
        pytest.param(b"GET \x00 HTTP/1.1\r\n\r\n", id="no path"),
        pytest.param(b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n", id="a long header"),
        pytest.param(b"POST /v1/review HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n{}", id="a negative length"),
        pytest.param(
            b"POST /v1/review HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", id="a bad chunk"
        ),
    ],
)
async def test_bytes_that_are_no_http_are_answered_with_json(base: Base, request_: bytes) -> None:
    async with served(base) as (_, client):
        answer = await anyio.to_thread.run_sync(raw, base, request_)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400")
        assert json.loads(body)["kind"] == "Usage"
        assert (await client.get("/v1/health")).status_code == 200


async def test_a_failure_of_ours_is_answered_with_json() -> None:
    api = make_api(cast("Daemon", None), cast("ReadingService", None), Turnstile(Clock().mono))
    transport = httpx.ASGITransport(api, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://chaperon") as client:
        answer = await client.get("/v1/health")
        assert answer.status_code == 500
        assert "AttributeError" in answer.json()["what"]
