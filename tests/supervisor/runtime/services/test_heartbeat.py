import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest

from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.journal.journal import JournalState
from supervisor.runtime.services.heartbeat import ailment, beat, listening_socket
from supervisor.runtime.services.systemd import Notifier
from tests.stages.daemon import Base, reached, served, until


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """A service manager's end of the notify protocol."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        yield listening


@asynccontextmanager
async def beating(base: Base, manager: socket.socket, environ: dict[str, str]) -> AsyncIterator[Daemon]:
    """A daemon with an agent at work, whose heartbeat goes to the manager."""
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _), anyio.create_task_group() as tasks:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        tasks.start_soon(beat, daemon.unwatched, daemon.journal, Notifier(str(manager.getsockname())), environ)
        yield daemon
        tasks.cancel_scope.cancel()


def heard(manager: socket.socket) -> Iterator[bytes]:
    with suppress(BlockingIOError):
        while True:
            yield manager.recv(1000)


async def test_a_daemon_that_is_well_says_so_again_and_again(base: Base, manager: socket.socket) -> None:
    said: list[bytes] = []

    def thrice() -> bool:
        said.extend(heard(manager))
        return len(said) >= 3

    async with beating(base, manager, {"WATCHDOG_USEC": "100000"}):
        await until(thrice)
    assert set(said) == {b"WATCHDOG=1"}


async def test_where_nobody_asked_nothing_is_said(base: Base, manager: socket.socket) -> None:
    async with served(base) as (daemon, _):
        await beat(daemon.unwatched, daemon.journal, Notifier(str(manager.getsockname())), {})
    assert list(heard(manager)) == []


async def test_an_agent_that_nobody_watches_over_stops_the_heartbeat(
    base: Base, manager: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    async with beating(base, manager, {"WATCHDOG_USEC": "100000"}) as daemon:
        runners = dict(daemon.runners._of)
        daemon.runners._of.clear()
        await until(lambda: "no heartbeat: nobody watches over a1" in caplog.text)
        caplog.clear()
        said = list(heard(manager))
        await until(lambda: caplog.text.count("nobody watches over a1") >= 3)
        assert list(heard(manager)) == [], f"after {len(said)} beats it fell silent"
        daemon.runners._of.update(runners)


async def test_a_full_disk_is_no_ailment_for_a_new_start_would_not_mend_it(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(base) as (daemon, _):
        assert await ailment(daemon.unwatched, daemon.journal, 5) == ""
        monkeypatch.setattr(daemon.journal.reserve, "hold", lambda: False)
        monkeypatch.setattr(daemon.journal._writer, "state", JournalState.FULL)
        assert await ailment(daemon.unwatched, daemon.journal, 0.01) == ""
        monkeypatch.undo()


async def test_a_journal_that_is_not_synced_is_an_ailment(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(base) as (daemon, _):
        with monkeypatch.context() as patch:
            patch.setattr(daemon.journal, "synced", lambda _n: anyio.sleep_forever())
            assert "was not synced within 0.01 s" in await ailment(daemon.unwatched, daemon.journal, 0.01)


def test_without_a_handed_socket_there_is_none() -> None:
    assert listening_socket({"LISTEN_PID": str(os.getpid() + 1), "LISTEN_FDS": "1"}) is None
