"""The process of the gateway, and who it serves."""

import os
from pathlib import Path

import anyio
import pytest

from supervisor.runtime.gateway.client import GatewayClient
from tests.stages.gateway import gateway


async def test_it_outlives_its_daemon_for_agents_that_live_and_serves_the_next(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        first = stage.process()
        assert first is not None
        other = GatewayClient(stage.client._settings, stage.folder, os.environ, lambda: stage.live)
        await stage.client._drop()
        await anyio.sleep(1.5)
        await other.open("a1")
        async with stage.http("a1") as http:
            assert (await http.post("/v1/messages", content=b"a")).status_code == 200
        now = stage.process()
        assert now is not None
        assert now.pid == first.pid
        await other._drop()


async def test_a_process_without_the_token_gets_no_word(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage, await anyio.connect_unix(stage.folder / "control") as stream:
        await stream.send(b'{"do":"daemon","token":"guessed"}\n')
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await stream.receive()
