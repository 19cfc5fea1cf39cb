"""The panel beside a daemon of another version, which says more, less, or other things than it knows."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.abc
import httpx
import orjson
import pytest

from tests.stages.daemon import PATIENCE_SECONDS, Base, ended, served
from tests.stages.panel import panel

pytestmark = pytest.mark.slow

Change = Callable[[Any], tuple[int, Any]]
"""Makes status and answer of another version of the daemon from this one's answer."""


@asynccontextmanager
async def another_version(base: Base, client: httpx.AsyncClient, changes: dict[str, Change]) -> AsyncIterator[Path]:
    """The runtime directory of a daemon that answers like the real one, but for some paths.

    Paths that no change is for go through byte by byte, streams too.
    """
    runtime = base.root / "next"
    runtime.mkdir(mode=0o700)

    async def through(one: anyio.abc.ByteStream, other: anyio.abc.ByteStream) -> None:
        try:
            async for data in one:
                await other.send(data)
            await other.send_eof()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                try:
                    head += await stream.receive()
                except anyio.EndOfStream:
                    return
            target = head.split(b" ", 2)[1].decode()
            change = changes.get(urlsplit(target).path)
            if change is None:
                async with await anyio.connect_unix(base.places.socket) as real, anyio.create_task_group() as both:
                    await real.send(head)
                    both.start_soon(through, real, stream)
                    both.start_soon(through, stream, real)
                return
            status, answer = change((await client.get(target)).json())
            data = orjson.dumps(answer)
            begin = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n"
            with suppress(anyio.BrokenResourceError):  # the panel waits no longer
                await stream.send(f"{begin}connection: close\r\n\r\n".encode() + data)

    listener = await anyio.create_unix_listener(runtime / base.places.socket.name, mode=0o600)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield runtime
        tasks.cancel_scope.cancel()


def with_more(agents: Any) -> tuple[int, Any]:
    return 200, [{**one, "state": "hibernating", "orbit": {"moons": [1, None]}, "cost_usd": None} for one in agents]


def with_less(agents: Any) -> tuple[int, Any]:
    return 200, [{"agent": one["agent"]} for one in agents]


def in_another_form(_agents: Any) -> tuple[int, Any]:
    return 200, {"pages": 3}


def gone(_answer: Any) -> tuple[int, Any]:
    return 404, {"detail": "Not Found"}


async def test_an_answer_that_is_other_than_the_panel_knows_is_told_with_the_way_out_and_the_rest_goes_on(
    base: Base,
) -> None:
    base.plan("ls")
    changes: dict[str, Change] = {}
    async with served(base) as (daemon, client), another_version(base, client, changes) as runtime:
        await daemon.submit(base.submission(prompt="List it"), by="test")
        await ended(daemon)
        async with panel(base, environ={"RUNTIME_DIRECTORY": str(runtime)}) as shown, shown.person() as person:
            assert "List it" in (await person.get("/")).text
            changes["/v1/agents"] = with_more
            more = await person.get("/")
            assert (more.status_code, "List it" in more.text, "hibernating" in more.text) == (200, True, True)
            for change in (with_less, in_another_form):
                changes["/v1/agents"] = change
                less = await person.get("/")
                assert less.status_code == 500
                assert "cannot be shown here" in less.text
                assert "end the panel and start it anew" in less.text
            with anyio.fail_after(PATIENCE_SECONDS):
                async with person.stream("GET", "/live/board") as answer:
                    async for line in answer.aiter_lines():
                        if line.startswith("data:"):
                            assert "end the panel and start it anew" in line
                            break
            changes["/v1/agents"] = gone
            away = await person.get("/")
            assert (away.status_code, "Not Found" in away.text) == (404, True)
            assert "Bash ls" in (await person.get("/agents/a1")).text
            changes.clear()
            assert "List it" in (await person.get("/")).text
