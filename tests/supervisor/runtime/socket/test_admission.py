"""Who gets in on the socket: no process of an agent by any way, and nobody of whom nothing can be said."""

import json
import os
import re
import resource
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from supervisor import __version__
from supervisor.protocol.events import FaultSeen
from supervisor.protocol.words import VERSION_HEADER
from supervisor.runtime.shim import marks
from supervisor.runtime.shim.credentials import Peer
from supervisor.runtime.socket.admission import Admission, Arrival, House, RefusedPeer, most_connections
from supervisor.runtime.socket.listening import listen
from tests.stages.daemon import Base, ended, served

WELCOME = b"welcome"

HANDED_ON = """
import os, socket, sys
from supervisor.runtime.shim import marks
marks.put(marks.draw())
path, tries = sys.argv[1], int(sys.argv[2])
for _ in range(tries):
    connection = socket.socket(socket.AF_UNIX)
    child = os.fork()
    if not child:
        connection.connect(path)
        os._exit(0)
    if sys.argv[3] == "reaped":
        os.waitpid(child, 0)
    else:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        print(connection.recv(15).decode())
    except OSError as error:
        print(error)
"""
"""An agent's process: it connects by a child that ends at once, and speaks by the connection that the child made."""

ORPHANED = """
import os, socket, sys, time
from supervisor.protocol.events import FaultSeen
from supervisor.runtime.shim import marks
marks.put(marks.draw())
parent = os.getpid()
if os.fork():
    os._exit(0)
os.setsid()
while os.getppid() == parent:
    time.sleep(0.01)
os.environ.clear()
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
sys.stdout.buffer.write(connection.recv(15))
"""
"""Connects with nothing above it that is an agent's, as after the death of the shim."""


class Host:
    """Lets peers in, and says so to each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.welcomed: list[Arrival] = []
        self.refused: list[RefusedPeer] = []
        self.agents: dict[int, str] = {}
        self.full = False

    def whose(self, lineage: Collection[int], _mark: int) -> str:
        return next((self.agents[pid] for pid in lineage if pid in self.agents), "")

    def welcome(self, arrival: Arrival) -> bool:
        if self.full:
            return False
        self.welcomed.append(arrival)
        with arrival.connection:
            arrival.connection.setblocking(False)
            with suppress(BrokenPipeError):  # it has hung up
                arrival.connection.send(WELCOME)
        return True

    def run(self, program: str, *arguments: str) -> list[str]:
        """The lines that a program prints which connects."""
        command = [sys.executable, "-c", program, str(self.path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout.decode().splitlines()


@asynccontextmanager
async def admitting(tmp_path: Path, house: House | None = None) -> AsyncIterator[Host]:
    host = Host(tmp_path / "socket")
    listening = await anyio.to_thread.run_sync(listen, host.path)
    async with anyio.create_task_group() as tasks:
        found = Admission(listening, house or House(), host.whose, host.refused.append, host.welcome)
        tasks.start_soon(found.run)
        try:
            yield host
        finally:
            tasks.cancel_scope.cancel()
    listening.close()


def hear(path: Path) -> bytes:
    """What somebody is told who connects and says nothing."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))  # with a time limit it would fail where the queue is full
        connection.settimeout(60)
        data = b""
        while part := connection.recv(65536):
            data += part
        return data


@contextmanager
def connected(tmp_path: Path) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection of our own: the one that is looked at first."""
    with listen(tmp_path / "own") as listening, socket.socket(socket.AF_UNIX) as theirs:
        theirs.connect(str(tmp_path / "own"))
        ours, _ = listening.accept()
        with ours:
            yield ours, theirs


@pytest.mark.parametrize("fate", ["reaped", "a zombie"])
async def test_a_connection_that_a_child_of_an_agents_process_left_to_it_is_refused_each_time(
    tmp_path: Path, fate: str
) -> None:
    async with admitting(tmp_path) as host:
        answers = await anyio.to_thread.run_sync(host.run, HANDED_ON, "50", fate)
    assert answers == ["HTTP/1.1 403 Fo"] * 50
    assert len(host.refused) == 50
    assert not host.welcomed


@pytest.mark.parametrize("reaped", [True, False])
def test_a_connection_whose_process_has_ended_is_refused_while_another_has_it(tmp_path: Path, reaped: bool) -> None:
    with listen(tmp_path / "own") as listening, socket.socket(socket.AF_UNIX) as shared:
        child = os.fork()
        if not child:
            shared.connect(str(tmp_path / "own"))
            os._exit(0)
        os.waitid(os.P_PID, child, os.WEXITED | (0 if reaped else os.WNOWAIT))
        ours, _ = listening.accept()
        with ours:
            found = House().look(ours)
        if not reaped:
            os.waitpid(child, 0)
    assert isinstance(found, RefusedPeer)
    assert found.reason == "unknown"
    assert f"process {child}, which connected, has ended" in found.why


async def test_an_orphan_of_an_agent_is_refused_though_nothing_above_it_is_an_agents(tmp_path: Path) -> None:
    async with admitting(tmp_path) as host:
        answers = await anyio.to_thread.run_sync(host.run, ORPHANED)
    assert answers == ["HTTP/1.1 403 Fo"]
    assert [refusal.reason for refusal in host.refused] == ["agent"]


async def test_a_process_below_a_shim_is_refused_and_its_agent_is_named(tmp_path: Path) -> None:
    async with admitting(tmp_path) as host:
        host.agents = {os.getpid(): "a7"}
        assert (await anyio.to_thread.run_sync(hear, host.path)).startswith(b"HTTP/1.1 403 ")
    assert [(refusal.reason, refusal.agent) for refusal in host.refused] == [("agent", "a7")]


async def test_who_is_refused_is_told_and_dropped_at_once(tmp_path: Path) -> None:
    async with admitting(tmp_path) as host:
        host.agents = {os.getpid(): "a7"}
        with anyio.fail_after(5):  # it used to be dropped after 5 s, where it asked for nothing
            head, _, body = (await anyio.to_thread.run_sync(hear, host.path)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 ")
    assert "may not steer agents" in json.loads(body)["what"]
    assert "in a terminal that no agent started" in json.loads(body)["way_out"]
    assert f"\r\n{VERSION_HEADER}: {__version__}\r\n".encode() in head, "or the client takes it for an older daemon"


async def test_a_thousand_connections_of_an_agent_leave_room_for_others(tmp_path: Path) -> None:
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    async with admitting(tmp_path) as host:
        host.agents = {os.getpid(): "a7"}
        for _ in range(1_000):
            with socket.socket(socket.AF_UNIX) as connection:
                await anyio.to_thread.run_sync(connection.connect, str(host.path))
        host.agents = {}
        assert await anyio.to_thread.run_sync(hear, host.path) == WELCOME
        assert sum(1 for _ in Path("/proc/self/fd").iterdir()) < before + 20


async def test_one_too_many_is_told_so(tmp_path: Path) -> None:
    async with admitting(tmp_path) as host:
        host.full = True
        assert (await anyio.to_thread.run_sync(hear, host.path)).startswith(b"HTTP/1.1 503 ")
        host.full = False
        assert await anyio.to_thread.run_sync(hear, host.path) == WELCOME
    assert [refusal.reason for refusal in host.refused] == ["full"]


async def test_where_descriptors_run_out_connections_wait_and_are_taken_later(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with admitting(tmp_path) as host:
        assert await anyio.to_thread.run_sync(hear, host.path) == WELCOME
        with socket.socket(socket.AF_UNIX) as connection:
            with without_descriptors():
                connection.connect(str(host.path))
                connection.settimeout(0.3)
                with pytest.raises(TimeoutError):
                    await anyio.to_thread.run_sync(connection.recv, 100)
            connection.settimeout(60)
            assert await anyio.to_thread.run_sync(connection.recv, 100) == WELCOME
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)


def test_a_look_that_fails_refuses(tmp_path: Path) -> None:
    with connected(tmp_path) as (ours, _):
        assert isinstance(House().look(ours), Arrival)
        with without_descriptors():
            found = House().look(ours)
    assert isinstance(found, RefusedPeer)
    assert found.reason == "unknown"


def test_a_look_that_raises_what_nobody_thought_of_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_pid: int) -> bool:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(marks, "is_marked", broken)
    with connected(tmp_path) as (ours, _):
        found = House().look(ours)
    assert isinstance(found, RefusedPeer)
    assert "could not be looked at (oh)" in found.why


def test_a_process_in_the_control_group_of_an_agent_is_refused(tmp_path: Path) -> None:
    own = Path("/proc/self/cgroup").read_text().splitlines()[-1]
    with connected(tmp_path) as (ours, _):
        assert isinstance(House(group="/chaperon-0/agents/").look(ours), Arrival)
        assert isinstance(House(group=own[-4:]).look(ours), RefusedPeer)


def test_who_has_hung_up_is_refused_and_told_from_who_hides(tmp_path: Path) -> None:
    with listen(tmp_path / "own") as listening:
        child = os.fork()
        if not child:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(tmp_path / "own"))
            os._exit(0)
        os.waitpid(child, 0)
        ours, _ = listening.accept()
        with ours:
            found = House().look(ours)
    assert isinstance(found, RefusedPeer)
    assert found.reason == "gone"


def test_a_process_outside_of_our_pid_namespace_is_refused(tmp_path: Path) -> None:
    """Its number is 0, and nothing can be looked up about it."""
    with connected(tmp_path) as (ours, _):
        found = House()._look(ours, Peer(0, os.getuid()))
    assert isinstance(found, RefusedPeer)


def test_connections_leave_half_of_the_descriptors_to_agents() -> None:
    assert most_connections(1_024) == 512
    assert most_connections(1_000_000) == 4_096


@contextmanager
def without_descriptors() -> Iterator[None]:
    """No file can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_an_agent_cannot_steer_by_the_socket_and_is_told_of_once(base: Base) -> None:
    """What the CLI is answered when it connects itself, and what a connection gets that a child of it made."""
    base.cli(
        f"""
import json, socket
begin()
REQUEST = b"GET /v1/health HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n"
def ask(connection):
    try:
        connection.sendall(REQUEST)
    except OSError:
        pass
    answer = b""
    try:
        while data := connection.recv(65536):
            answer += data
    except OSError:
        pass
    return answer[:12].decode()
answers = []
for number in range(20):
    connection = socket.socket(socket.AF_UNIX)
    if number % 2:
        connection.connect({str(base.places.socket)!r})
    else:
        child = os.fork()
        if not child:
            connection.connect({str(base.places.socket)!r})
            os._exit(0)
        os.waitpid(child, 0)
    answers.append(ask(connection))
json.dump(answers, open("answers", "w"))
done()
hear()
"""
    )
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        metrics = (await client.get("/metrics")).text
    assert json.loads((base.repo / "answers").read_text()) == ["HTTP/1.1 403"] * 20
    counted = re.findall(
        r'^chaperon_socket_refused_total\{reason="(?:agent|unknown)"\} (\d+)\.0$', metrics, re.MULTILINE
    )
    assert sum(map(int, counted)) == 20
    told = [one["agent"] for one in base.incidents() if one["type"] == "socket_refused"]
    assert sorted(told) in (["a1"], ["", "a1"]), (
        "one for those that were known as the agent's, and one for those that had ended"
    )
    assert len([event for event in base.events(FaultSeen) if event.incident.type == "socket_refused"]) == len(told)
