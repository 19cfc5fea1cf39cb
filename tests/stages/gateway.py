"""The gateway as a process, with a model behind it that notes what it was sent."""

import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import httpx
import psutil

from supervisor.runtime.gateway.client import GatewayClient
from supervisor.runtime.gateway.messages import (
    CredentialSource,
    FailedLogin,
    GatewaySettings,
    GrantedHost,
    Reached,
    Refused,
)
from tests.stages.daemon import until

ANSWER = b'data: {"usage":{"input_tokens":20,"cache_read_input_tokens":3,"output_tokens":1}}\n\ndata: {"usage":{"output_tokens":7}}\n\n'


@dataclass
class NotingModel:
    """A model that answers with its use of tokens, and keeps the requests as they came."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["NotingModel"]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, self._serve)
            yield self
            tasks.cancel_scope.cancel()
        await listener.aclose()

    async def _serve(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            while await self._answer(stream):
                pass

    async def _answer(self, stream: anyio.abc.SocketStream) -> bool:
        """Answer a request; whether others may follow, as the real model lets its calls."""
        data = b""
        while b"\r\n\r\n" not in data:
            try:
                data += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return False
        head, _, body = data.partition(b"\r\n\r\n")
        length = [int(line.split(b":")[1]) for line in head.lower().splitlines() if line.startswith(b"content-length")]
        while len(body) < sum(length):
            body += await stream.receive()
        self.heads.append(head.decode())
        self.bodies.append(body)
        is_call = head.startswith(b"POST /v1/")
        size = b"content-length: %d\r\n" % len(ANSWER) if is_call else b""
        fields = b"content-type: text/event-stream\r\nset-cookie: a=b\r\n" + size
        await stream.send(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n" + ANSWER)
        return is_call


@dataclass
class GatewayStage:
    client: GatewayClient
    upstream: NotingModel
    folder: Path
    live: list[str]
    refused: list[Refused]
    settings: dict[str, object]
    reached: list[Reached]
    granted: dict[str, list[GrantedHost]]
    failed: list[FailedLogin]

    async def looked(self) -> None:
        """Have the gateway told, and ask it, as the client does every two seconds."""
        await self.client._look()

    def process(self) -> psutil.Process | None:
        found = [each for each in psutil.process_iter() if str(self.folder) in " ".join(_words(each))]
        return found[0] if found else None

    def http(self, agent: str = "a1") -> httpx.AsyncClient:
        transport = httpx.AsyncHTTPTransport(uds=str(self.client.socket_of(agent)), verify=False)
        return httpx.AsyncClient(transport=transport, base_url="http://model.invalid", timeout=20)

    async def raw(self, data: bytes, agent: str = "a1") -> bytes:
        async with await anyio.connect_unix(self.client.socket_of(agent)) as stream:
            answer = b""
            try:
                await stream.send(data)
                while True:
                    answer += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return answer


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@asynccontextmanager
async def gateway(tmp_path: Path, **more: object) -> AsyncIterator[GatewayStage]:
    async with NotingModel().listening() as upstream:
        given: dict[str, object] = {"credential": CredentialSource("value", value="sk-real"), **more}

        def settings() -> GatewaySettings:
            return GatewaySettings(**{"upstream": f"http://127.0.0.1:{upstream.port}", **given})  # type: ignore[arg-type]

        live, refused = ["a1"], list[Refused]()
        granted: dict[str, list[GrantedHost]] = {}
        reached, failed = list[Reached](), list[FailedLogin]()

        def left(agent: str) -> list[GrantedHost]:
            """As a daemon counts: what it was told of is used."""
            used = Counter[str]()
            for each in reached:
                used[each.allowance] += each.times
            wanted = granted.get(agent, [])
            return [replace(each, uses=each.uses and each.uses - used[each.id]) for each in wanted]

        client = GatewayClient(settings, tmp_path / "gateway", os.environ, lambda: live, left)
        stage = GatewayStage(client, upstream, tmp_path / "gateway", live, refused, given, reached, granted, failed)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.run, refused.append, reached.append, lambda _: None, failed.append)
            await client.open("a1")
            try:
                yield stage
            finally:
                live.clear()
                tasks.cancel_scope.cancel()
        await until(lambda: stage.process() is None)
