import os
import socket
from pathlib import Path

import anyio
import pytest

from supervisor.protocol.words import AgentState
from supervisor.runtime.heartbeat import ailment, beat, listening_socket
from supervisor.runtime.journal import JournalState
from supervisor.runtime.notify import Notifier
from tests.daemons import Base, reached, served

pytestmark = pytest.mark.anyio


@pytest.fixture
def manager(tmp_path: Path) -> socket.socket:
    """A service manager's end of the notify protocol."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(tmp_path / "notify"))
    listening.setblocking(False)
    return listening


async def beats(base: Base, manager: socket.socket, environ: dict[str, str], break_it: str = "") -> int:
    """How many heartbeats come in 0.2 s."""
    async with served(base) as (daemon, _), anyio.create_task_group() as tasks:
        base.cli("begin()\nwhile True:\n    hear()")
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        runners = dict(daemon._runners)
        if break_it == "runner":
            daemon._runners.clear()
        tasks.start_soon(beat, daemon, Notifier(str(manager.getsockname())), environ)
        await anyio.sleep(0.2)
        tasks.cancel_scope.cancel()
        daemon._runners.update(runners)
    count = 0
    while True:
        try:
            assert manager.recv(1000) == b"WATCHDOG=1"
        except BlockingIOError:
            manager.close()
            return count
        count += 1


async def test_a_daemon_that_is_well_says_so_as_often_as_asked(base: Base, manager: socket.socket) -> None:
    assert 2 <= await beats(base, manager, {"WATCHDOG_USEC": "100000"}) <= 8


async def test_where_nobody_asked_nothing_is_said(base: Base, manager: socket.socket) -> None:
    assert await beats(base, manager, {}) == 0


async def test_an_agent_that_nobody_watches_over_stops_the_heartbeat(base: Base, manager: socket.socket) -> None:
    assert await beats(base, manager, {"WATCHDOG_USEC": "100000"}, break_it="runner") == 0


async def test_a_full_disk_is_no_ailment_for_a_new_start_would_not_mend_it(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(base) as (daemon, _):
        assert await ailment(daemon, 5) == ""
        monkeypatch.setattr(daemon.journal.reserve, "hold", lambda: False)
        monkeypatch.setattr(daemon.journal._writer, "state", JournalState.FULL)
        assert await ailment(daemon, 0.01) == ""
        monkeypatch.undo()


async def test_a_journal_that_is_not_synced_is_an_ailment(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(base) as (daemon, _):
        with monkeypatch.context() as patch:
            patch.setattr(daemon.journal, "synced", lambda _n: anyio.sleep_forever())
            assert "was not synced within 0.01 s" in await ailment(daemon, 0.01)


def test_without_a_handed_socket_there_is_none() -> None:
    assert listening_socket({"LISTEN_PID": str(os.getpid() + 1), "LISTEN_FDS": "1"}) is None
