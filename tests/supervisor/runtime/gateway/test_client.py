"""The daemon's side of the gateway."""

import os
import signal
from pathlib import Path

import anyio
import httpx
import pytest

from supervisor.runtime.gateway import client
from supervisor.runtime.gateway.agent_site import MOST_REFUSALS
from supervisor.runtime.gateway.client import GatewayError
from supervisor.runtime.gateway.messages import CredentialSource
from supervisor.runtime.gateway.program import MOST_TOLD
from tests.stages.daemon import until
from tests.stages.gateway import gateway


async def test_a_gateway_that_was_killed_is_there_again_at_the_same_socket(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        first = stage.process()
        assert first is not None
        first.send_signal(signal.SIGKILL)
        await until(lambda: (now := stage.process()) is not None and now.pid != first.pid)
        await until(lambda: stage.client.socket_of("a1").exists())

        async def answered() -> bool:
            try:
                async with stage.http() as http:
                    return (await http.post("/v1/messages", content=b"a")).status_code == 200
            except httpx.TransportError:
                return False

        with anyio.fail_after(20):
            while not await answered():
                await anyio.sleep(0.05)


async def test_what_agents_used_counts_on_after_a_gateway_was_killed_until_they_end(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        await stage.client.open("a1", 30)
        async with stage.http() as http:
            assert (await http.post("/v1/messages", content=b"a")).status_code == 200
        (counts,) = stage.folder.glob("*.counts")
        await until(lambda: any(counts.read_bytes()))
        first = stage.process()
        assert first is not None
        first.send_signal(signal.SIGKILL)
        await until(lambda: (now := stage.process()) is not None and now.pid != first.pid)
        await until(lambda: "a1" in stage.client.spent and stage.client.spent["a1"].calls == 1)
        assert (stage.client.spent["a1"].input_tokens, stage.client.spent["a1"].output_tokens) == (23, 7)
        async with stage.http() as http:
            answer = await http.post("/v1/messages", content=b"a")
        assert answer.status_code == 403
        assert "30 that it may" in answer.text
        stage.live.clear()
        await until(lambda: not counts.exists())


async def test_no_file_of_the_gateway_and_no_argument_has_the_credential(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage, stage.http() as http:
        await http.post("/v1/messages", content=b"a")
        process = stage.process()
        assert process is not None
        assert "sk-real" not in " ".join([*process.cmdline(), *process.environ().values()])
        files = [path for path in stage.folder.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if b"sk-real" in path.read_bytes()]
        assert [oct(path.stat().st_mode & 0o777) for path in files] == ["0o600"] * len(files)


async def test_what_was_refused_just_before_the_daemon_ends_is_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LOOK_SECONDS", 3_600.0)
    async with gateway(tmp_path) as stage:
        await stage.raw(b"GET /v1/files HTTP/1.1\r\nhost: x\r\n\r\n")
        assert stage.refused == []
    assert [each.what for each in stage.refused] == ["GET /v1/files"]


async def test_the_answer_to_one_that_was_cancelled_is_not_taken_for_the_next_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LOOK_SECONDS", 3_600.0)
    async with gateway(tmp_path) as stage:
        process = stage.process()
        assert process is not None
        async with anyio.create_task_group() as tasks:
            stage.live.append("a2")
            await stage.looked()
            process.suspend()
            tasks.start_soon(stage.client.open, "a2")
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
            process.resume()
        await stage.looked()
        assert "a1" in stage.client.spent


async def test_more_refusals_than_one_answer_has_are_all_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LOOK_SECONDS", 3_600.0)
    agents = [f"a{number}" for number in range(1, 11)]
    async with gateway(tmp_path) as stage:
        stage.live += agents[1:]
        for agent in agents:
            await stage.client.open(agent)
            for number in range(MOST_REFUSALS):
                await stage.raw(b"GET /v1/files/%d HTTP/1.1\r\nhost: x\r\n\r\n" % number, agent)
        await stage.looked()
        assert len(stage.refused) == len(agents) * MOST_REFUSALS > MOST_TOLD


async def test_an_answer_that_is_too_long_for_a_line_is_a_failure_of_the_gateway_and_not_of_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway(tmp_path) as stage:
        for number in range(4):
            stage.live.append(str(number) * 20_000)
            await stage.client.open(stage.live[-1])
        with monkeypatch.context() as patched:
            patched.setattr(client, "LONGEST_LINE", 10)
            with pytest.raises(GatewayError):
                await stage.looked()
        await stage.looked()


async def test_a_gateway_of_an_earlier_version_is_given_no_login(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        stage.client._takes = ()
        stage.settings["credential"] = CredentialSource("login", path=str(tmp_path / "login"))
        stage.client.renew(stage.client._settings)
        with pytest.raises(GatewayError, match="of an earlier version"):
            await stage.looked()
        stage.settings["credential"] = CredentialSource("value", value="sk-real")
        stage.client.renew(stage.client._settings)
        await stage.looked()


async def test_a_gateway_of_an_earlier_version_ends_with_its_agents(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        assert stage.process() is not None
        stage.client._takes = ()
        stage.settings["credential"] = CredentialSource("login", path=str(tmp_path / "login"))
        stage.client.renew(stage.client._settings)
        stage.live.clear()
        await until(lambda: stage.process() is None)


async def test_a_gateway_that_hangs_holds_the_end_of_the_daemon_up_for_seconds_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path) as stage:
        daemon = client.GatewayClient(stage.client._settings, stage.folder, os.environ, lambda: ["b1"])
        await daemon.open("b1")
        process = stage.process()
        assert process is not None
        process.suspend()
        try:
            with anyio.fail_after(client.ANSWER_SECONDS / 2):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(daemon.run, lambda _: None)
                    daemon.hurry()
                    await until(lambda: daemon._waiting is not None)
                    daemon.ending()
                    tasks.cancel_scope.cancel()
        finally:
            process.kill()
