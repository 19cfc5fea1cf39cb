import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from fastapi import FastAPI

from supervisor.runtime import server
from supervisor.runtime.listening import listen
from tests.daemons import Base, ended, served

pytestmark = pytest.mark.anyio

REQUEST = b"GET /here HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


@pytest.fixture
def path() -> Iterator[Path]:
    """A socket's path that every user can reach."""
    directory = Path(tempfile.mkdtemp(prefix="chaperon-test-"))
    directory.chmod(0o755)
    yield directory / "s"
    shutil.rmtree(directory)


@asynccontextmanager
async def serving(path: Path, mode: int, shims: Callable[[], frozenset[int]] = frozenset) -> AsyncIterator[None]:
    api = FastAPI()

    @api.get("/here")
    async def here() -> str:
        return "welcome"

    listening = await anyio.to_thread.run_sync(listen, path, mode)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, api, listening, mode, shims)
        yield
        tasks.cancel_scope.cancel()


def ask(path: Path, uid: int, gid: int | None = None) -> bytes:
    """What a child of ours that runs as this user and group is answered, or the error it meets."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            if uid != os.geteuid():
                group = uid if gid is None else gid
                os.setgroups([])
                os.setresgid(group, group, group)
                os.setresuid(uid, uid, uid)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(60)
                connection.connect(str(path))
                connection.sendall(REQUEST)
                while data := connection.recv(65536):
                    os.write(into, data)
        except OSError as error:
            os.write(into, repr(error).encode())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    return data


async def test_its_owner_is_served(path: Path) -> None:
    async with serving(path, 0o600):
        assert b"welcome" in await anyio.to_thread.run_sync(ask, path, os.geteuid())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_another_user_does_not_get_through_the_sockets_mode(path: Path) -> None:
    async with serving(path, 0o600):
        assert b"PermissionError" in await anyio.to_thread.run_sync(ask, path, 65534)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_another_user_who_got_through_is_refused_and_told(path: Path) -> None:
    async with serving(path, 0o600):
        path.chmod(0o666)
        answer = await anyio.to_thread.run_sync(ask, path, 65534)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"user 65534 may not steer agents" in answer
    assert b"welcome" not in answer


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_with_group_access_members_get_in_and_others_do_not(path: Path) -> None:
    async with serving(path, 0o660):
        assert b"PermissionError" in await anyio.to_thread.run_sync(ask, path, 65534)
        assert b"welcome" in await anyio.to_thread.run_sync(ask, path, 65534, os.getegid())


async def test_a_process_below_a_shim_is_refused_and_told(path: Path) -> None:
    async with serving(path, 0o600, lambda: frozenset({os.getpid()})):
        answer = await anyio.to_thread.run_sync(ask, path, os.geteuid())
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"an agent's own process may not steer agents" in answer


async def test_an_agent_cannot_steer_by_the_socket(base: Base) -> None:
    """What the CLI itself is answered when it connects."""
    base.cli(
        f"""
import socket
begin()
connection = socket.socket(socket.AF_UNIX)
connection.connect({str(base.places.socket)!r})
connection.sendall(b"GET /v1/health HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
answer = b""
while data := connection.recv(65536):
    answer += data
open("answer", "wb").write(answer)
done()
hear()
"""
    )
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    assert (base.repo / "answer").read_bytes().startswith(b"HTTP/1.1 403 ")


async def test_a_peer_that_says_nothing_after_its_refusal_does_not_stay(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REFUSED_SECONDS", 0.1)
    async with serving(path, 0o600, lambda: frozenset({os.getpid()})):
        connection = await anyio.connect_unix(str(path))
        with anyio.fail_after(30), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await connection.receive()
        await connection.aclose()


async def test_what_is_being_answered_when_the_end_comes_is_answered(path: Path) -> None:
    async with serving(path, 0o600):
        connection = await anyio.connect_unix(str(path))
        await connection.send(REQUEST)
        assert b"welcome" in await connection.receive() or b"welcome" in await connection.receive()
        await connection.aclose()
    assert path.exists(), "who listens is who takes the path away"
