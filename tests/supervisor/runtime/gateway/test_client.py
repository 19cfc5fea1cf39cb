"""The daemon's side of the gateway."""

import signal
from pathlib import Path

import anyio
import httpx

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
