"""The process of the gateway, and who it serves."""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.client import GatewayClient
from supervisor.runtime.gateway.door import token_of
from supervisor.runtime.gateway.messages import SOCKET, CredentialSource, GatewaySettings
from tests.sources import ROOT
from tests.stages import forked
from tests.stages.daemon import until
from tests.stages.gateway import gateway
from tests.stages.token_server import NEW_REFRESH, login, token_server, write_login


@pytest.mark.slow
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


async def test_it_ends_soon_once_its_daemon_and_the_processes_of_agents_are_gone_without_a_word(tmp_path: Path) -> None:
    settings = GatewaySettings("http://127.0.0.1:9", CredentialSource("value", value="sk-real"))
    client = GatewayClient(lambda: settings, tmp_path, os.environ, lambda: ["a1"])
    begin = "import sys; from pathlib import Path; from supervisor.runtime.gateway import program; program.LEFT_SECONDS = -1"
    words = [sys.executable, "-c", f"{begin}; program.main(Path(sys.argv[1]))", str(tmp_path)]
    token = await anyio.to_thread.run_sync(token_of, tmp_path)
    await anyio.run_process(words, input=f"{token}\n".encode(), cwd=ROOT, stdout=None, stderr=None)
    await until((tmp_path / "control").exists)
    (process,) = [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == words]
    ask = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(b'?\\r\\n\\r\\n'); s.recv(9)"
    try:
        socket = await client.open("a1") / SOCKET
        comes = [sys.executable, "-c", f"{ask}; print(flush=True); sys.stdin.read()", str(socket)]
        async with await anyio.open_process(comes) as agent:
            assert agent.stdout is not None
            await agent.stdout.receive()
            await client._drop()
            await anyio.sleep(1.5)
            assert process.is_running(), "the agent lives"
            agent.kill()
        await until(lambda: not process.is_running())
    finally:
        with suppress(psutil.NoSuchProcess):
            process.kill()


async def test_a_gateway_that_is_a_service_of_its_own_is_used_and_serves_on_without_agents(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STATE_DIRECTORY": str(tmp_path)}
    words = ["supervisor.cli", "serve", "--gateway"]
    service = forked.Program(words, env=environ, cwd=ROOT)
    try:
        await until((tmp_path / "gateway/control").exists)
        async with gateway(tmp_path) as stage:
            async with stage.http() as http:
                assert (await http.post("/v1/messages", content=b"a")).status_code == 200
            assert stage.process() is None, "none was started"
            stage.live.clear()
            await stage.looked()
            await stage.client._drop()
            assert await stage.client._connected((tmp_path / "gateway/token").read_text()), (
                "it is there for the next agent"
            )
    finally:
        service.terminate()
        assert await anyio.to_thread.run_sync(service.wait) == 0


async def test_a_service_that_is_ended_while_a_login_is_refreshed_keeps_the_answer(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STATE_DIRECTORY": str(tmp_path)}
    words = ["supervisor.cli", "serve", "--gateway"]
    file, goes_on = tmp_path / "login.json", threading.Event()
    write_login(file, login(-1, Clock().wall()))
    with token_server(tmp_path / "server") as server:
        server.meanwhile = goes_on.wait
        source = CredentialSource("login", path=str(file), refreshed_at=server.refresh_url)
        service = forked.Program(words, env=environ, cwd=ROOT)
        try:
            await until((tmp_path / "gateway/control").exists)
            async with gateway(tmp_path, credential=source, upstream=server.address) as stage:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(stage.raw, b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
                    await until(lambda: bool(server.asked))
                    service.terminate()
                    with pytest.raises(subprocess.TimeoutExpired):
                        await anyio.to_thread.run_sync(service.wait, 0.5)
                    goes_on.set()
                    assert await anyio.to_thread.run_sync(service.wait) == 0
                stage.live.clear()
            assert NEW_REFRESH in file.read_text()
        finally:
            goes_on.set()
            service.kill()
            service.wait()


async def test_a_process_without_the_token_gets_no_word(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage, await anyio.connect_unix(stage.folder / "control") as stream:
        await stream.send(b'{"do":"daemon","token":"guessed"}\n')
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await stream.receive()
