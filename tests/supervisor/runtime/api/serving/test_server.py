"""HTTP on the socket, with those who were let in; who is, is in the tests of admission."""

import os
import pwd
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from fastapi import FastAPI

from supervisor.runtime.api.serving import server
from supervisor.runtime.socket.admission import House, RefusedPeer
from supervisor.runtime.socket.listening import listen
from supervisor.runtime.socket.peer import By

REQUEST = b"GET /here HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


@pytest.fixture
def path() -> Iterator[Path]:
    """A socket's path that every user can reach."""
    directory = Path(tempfile.mkdtemp(prefix="chaperon-test-"))
    directory.chmod(0o755)
    yield directory / "s"
    shutil.rmtree(directory)


def nobodys(_lineage: Collection[int], _mark: int) -> str:
    return ""


def an_agents(lineage: Collection[int], _mark: int) -> str:
    """All that we start counts as an agent's."""
    return "a1" if os.getpid() in lineage else ""


@asynccontextmanager
async def serving(
    path: Path, mode: int, whose: Callable[[Collection[int], int], str] = nobodys, most: int = 100
) -> AsyncIterator[list[RefusedPeer]]:
    api = FastAPI()
    refused: list[RefusedPeer] = []

    @api.get("/here")
    async def here() -> str:
        return "welcome"

    @api.get("/who")
    async def who(by: By) -> str:
        return by

    listening = await anyio.to_thread.run_sync(listen, path, mode)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, api, listening, House(mode), whose, refused.append, most)
        try:
            yield refused
        finally:
            tasks.cancel_scope.cancel()
            listening.close()


def ask(path: Path, uid: int, gid: int | None = None, request: bytes = REQUEST) -> bytes:
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
                with suppress(BrokenPipeError):  # it was answered before it asked
                    connection.sendall(request)
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
    async with serving(path, 0o600, an_agents) as refused:
        answer = await anyio.to_thread.run_sync(ask, path, os.geteuid())
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"an agent's own process may not steer agents" in answer
    assert [(one.reason, one.agent) for one in refused] == [("agent", "a1")]


async def test_routes_are_told_who_asks(path: Path) -> None:
    async with serving(path, 0o600):
        answer = await anyio.to_thread.run_sync(ask, path, os.geteuid(), None, REQUEST.replace(b"/here", b"/who"))
    assert pwd.getpwuid(os.geteuid()).pw_name.encode() in answer


async def test_more_connections_than_are_taken_are_told_so_and_those_that_are_there_go_on(path: Path) -> None:
    async with serving(path, 0o600, most=2) as refused:
        first, second = await anyio.connect_unix(str(path)), await anyio.connect_unix(str(path))
        for connection in (first, second):
            await connection.send(REQUEST.replace(b"connection: close\r\n", b""))
            heard = b""
            while b"welcome" not in heard:
                heard += await connection.receive()
        answer = await anyio.to_thread.run_sync(ask, path, os.geteuid())
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert [one.reason for one in refused] == ["full"]
        await first.send(REQUEST)
        assert b"200 OK" in await first.receive()
        await first.aclose()
        await second.aclose()


async def test_what_is_being_answered_when_the_end_comes_is_answered(path: Path) -> None:
    async with serving(path, 0o600):
        connection = await anyio.connect_unix(str(path))
        await connection.send(REQUEST)
        assert b"welcome" in await connection.receive() or b"welcome" in await connection.receive()
        await connection.aclose()
    assert path.exists(), "who listens is who takes the path away"
