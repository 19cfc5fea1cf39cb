"""The served socket's end; who may connect is seen in the tests of the daemon as a whole."""

import asyncio
import os
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from supervisor.runtime.api.serving.server import serve
from supervisor.runtime.socket.admission import House
from supervisor.runtime.socket.listening import listen


def make_api(said: list[Any]) -> FastAPI:
    api = FastAPI()

    async def forever() -> object:
        try:
            yield b"first\n"
            await anyio.sleep_forever()
        finally:
            said.append("the stream ended")

    @api.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(forever())  # type: ignore[arg-type]

    return api


def watched() -> list[int]:
    """The descriptors that the event loop watches."""
    return list(asyncio.get_running_loop()._selector.get_map())  # type: ignore[attr-defined]


def closed(fds: list[int]) -> list[int]:
    """Those of the descriptors that are closed."""
    found = []
    for fd in fds:
        try:
            os.fstat(fd)
        except OSError:
            found.append(fd)
    return found


@pytest.mark.parametrize("connected", [False, True])
async def test_a_server_that_has_ended_leaves_nothing_in_the_event_loop(tmp_path: Path, connected: bool) -> None:
    """A socket closed while the loop watches its number would hide whatever gets the number next: a pipe to git, say."""
    said: list[Any] = []
    listening = await anyio.to_thread.run_sync(listen, tmp_path / "socket")
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, make_api(said), listening, House(), lambda *_: "", said.append, 10)
            async with await anyio.connect_unix(tmp_path / "socket") as client:
                await client.send(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
                while b"first" not in await client.receive():
                    pass
                if connected:
                    tasks.cancel_scope.cancel()
                    await anyio.lowlevel.cancel_shielded_checkpoint()
            tasks.cancel_scope.cancel()
        listening.close()
        assert await anyio.to_thread.run_sync(closed, watched()) == []
        assert said == ["the stream ended"]
