"""Restarts with stand-ins: what was going on goes on, and what ended meanwhile is told."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.journal import PRESSURE_BYTES
from supervisor.runtime.processes import shim_client
from supervisor.runtime.processes.adoption import Adopted
from supervisor.runtime.processes.identity import read_identity
from supervisor.runtime.service import run_daemon
from tests.faults import FaultyDisk
from tests.stages.daemon import Base, ended, reached, served, until
from tests.support import processes_in

pytestmark = pytest.mark.slow

WAITS_FOR_A_FILE = "begin()\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n"


def test_the_counts_are_printed_and_add_up() -> None:
    adopted = Adopted(found=3)
    for outcome in ("reattached", "lost", "reattached"):
        adopted.count(outcome)
    assert str(adopted) == "took over 3 agents of the daemon before: 2 run on, 1 are gone"
    counts = adopted.counts()
    assert counts.pop("found") == sum(counts.values())


async def begin(base: Base) -> int:
    """A daemon that ends in order while its agent runs; the process id of the CLI."""
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        return daemon.board.summary("a1").cli_pid


async def test_an_orderly_restart_goes_on_with_the_same_processes(base: Base) -> None:
    base.cli(WAITS_FOR_A_FILE + "done()\nhear()")
    cli = await begin(base)
    async with served(base) as (daemon, _):
        assert daemon.runners.adopted.counts() | {"found": 1, "reattached": 1} == daemon.runners.adopted.counts()
        assert daemon.board.summary("a1").cli_pid == cli
        (base.repo / "go").touch()
        assert (await ended(daemon)).state is AgentState.DONE
    assert base.kinds().count("agent_launched") == 1
    assert base.incidents() == []


async def test_an_agent_that_ended_meanwhile_is_told_of_with_all_it_said(base: Base) -> None:
    base.cli(WAITS_FOR_A_FILE + "say({'type': 'novelty'})\nraise SystemExit(4)")
    await begin(base)
    (base.repo / "go").touch()
    await until(lambda: processes_in(base.repo) == [])
    await until(lambda: (base.places.agents / "a1" / "exit.json").exists())
    async with served(base) as (daemon, _):
        assert daemon.runners.adopted.exited == 1
        assert (await ended(daemon)).state is AgentState.FAILED
    assert [event.frame["type"] for event in base.events(events.LineReceived)][-1] == "novelty"
    (incident,) = base.incidents()
    assert "exit code 4" in incident["summary"]


async def test_an_agent_that_ended_meanwhile_is_read_when_there_is_room_and_the_start_does_not_wait(base: Base) -> None:
    much = f"for _ in range({PRESSURE_BYTES // 1_000_000 + 2}):\n    say({{'type': 'novelty', 'x': 'x' * 1_000_000}})\n"
    base.cli(WAITS_FOR_A_FILE + much + "raise SystemExit(4)")
    await begin(base)
    (base.repo / "go").touch()
    await until(lambda: (base.places.agents / "a1" / "exit.json").exists())
    disk = FaultyDisk()
    disk.full = True
    async with served(base, disk=disk) as (daemon, client):
        assert daemon.runners.adopted.exited == 1
        try:
            assert (await client.get("/v1/agents")).status_code == 200
            assert not daemon.board.summary("a1").state.ended
        finally:
            disk.full = False
        assert (await ended(daemon)).state is AgentState.FAILED
    assert "agent_failed" in [incident["type"] for incident in base.incidents()]


async def test_an_agent_whose_shim_was_killed_meanwhile_is_lost_and_nothing_of_it_is_left(base: Base) -> None:
    base.cli("import subprocess\nbegin()\nsubprocess.Popen(['setsid', 'sleep', '300'])\nwhile True:\n    hear()")
    await begin(base)
    identity = await anyio.to_thread.run_sync(read_identity, base.places.agents / "a1")
    assert identity is not None
    os.kill(identity.shim_pid, signal.SIGKILL)
    async with served(base) as (daemon, _):
        assert daemon.runners.adopted.lost == 1
        assert (await ended(daemon)).state is AgentState.LOST
    await until(lambda: processes_in(base.repo) == [])
    assert [incident["type"] for incident in base.incidents()] == ["agent_lost"]


async def test_a_failure_known_as_the_daemon_died_still_becomes_an_incident(base: Base) -> None:
    """The journal is cut between the agent's last state and its incident."""
    base.cli("begin()\nraise SystemExit(5)")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    (told,) = [incident for incident in base.incidents() if incident["type"] == "agent_failed"]
    cut_behind(base, "state_changed")
    base.places.incident_log.unlink()
    base.places.snapshot.unlink()
    async with served(base) as (daemon, _):
        assert daemon.runners.adopted.terminal == 1
        assert (await ended(daemon)).state is AgentState.FAILED
    (again,) = base.incidents()
    assert (again["type"], again["summary"]) == (told["type"], told["summary"])


def cut_behind(base: Base, kind: str) -> None:
    """Take off all that the journal has behind the last record of a kind."""
    (segment,) = base.places.journal.glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if f'"kind":"{kind}"'.encode() in line)
    segment.write_bytes(b"".join(lines[: last + 1]))


async def test_a_task_that_was_never_started_is_started_by_the_next_daemon(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    cut_behind(base, "task_submitted")
    base.places.snapshot.unlink()
    subprocess.run(["rm", "-r", base.places.agents / "a1", base.repo / "ran.log"], check=True)
    async with served(base) as (daemon, _):
        assert daemon.runners.adopted.launched == 1
        assert (await ended(daemon)).state is AgentState.DONE
    assert base.ran() == ["ls"]


async def test_a_shim_that_does_not_answer_holds_up_neither_the_start_nor_others(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.cli(WAITS_FOR_A_FILE + "done()\nhear()")
    async with run_daemon(base.setup()) as daemon:
        for name in ("held", "free"):
            await daemon.submit(base.submission(name=name), by="test")
            await reached(daemon, AgentState.RUNNING, name)
        held = daemon.board.summary("held").shim_pid
    os.kill(held, signal.SIGSTOP)
    monkeypatch.setattr(shim_client, "HELLO_SECONDS", 0.3)
    try:
        async with served(base) as (daemon, _):
            assert (daemon.runners.adopted.silent, daemon.runners.adopted.reattached) == (1, 1)
            assert daemon.unwatched() == []
            (base.repo / "go").touch()
            assert (await ended(daemon, "free")).state is AgentState.DONE
            os.kill(held, signal.SIGCONT)
            assert (await ended(daemon, "held")).state is AgentState.DONE
    finally:
        os.kill(held, signal.SIGCONT) if Path(f"/proc/{held}").exists() else None
    assert [incident["type"] for incident in base.incidents()] == ["workspace_shared", "shim_silent"]


async def test_a_daemon_ended_while_it_launches_leaves_a_whole_agent(base: Base) -> None:
    base.cli(WAITS_FOR_A_FILE + "done()\nhear()")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
    assert base.kinds().count("agent_launched") == 1, "the launch was under way as the daemon ended"
    (base.repo / "go").touch()
    async with served(base) as (daemon, _):
        assert (await ended(daemon)).state is AgentState.DONE


class GoingBack(Clock):
    """A wall clock that is an hour behind each time it is asked."""

    now = 1_800_000_000.0

    def wall(self) -> float:
        self.now -= 3600
        return self.now


async def test_a_clock_that_goes_back_changes_no_order_and_no_end(base: Base) -> None:
    async with served(base, clock=GoingBack()) as (daemon, _):
        for name in ("first", "second", "third"):
            await daemon.submit(base.submission(name=name), by="test")
            await ended(daemon, name)
        assert [summary.agent for summary in daemon.board.summaries()] == ["first", "second", "third"]
    async with served(base, clock=GoingBack()) as (daemon, _):
        assert [summary.agent for summary in daemon.board.summaries()] == ["first", "second", "third"]
        assert {summary.state for summary in daemon.board.summaries()} == {AgentState.DONE}
    assert base.incidents() == []


async def test_an_upgrade_adopts_and_trusts_no_snapshot_of_another_version(base: Base) -> None:
    base.cli(WAITS_FOR_A_FILE + "done()\nhear()")
    await begin(base)
    program = (
        "import sys, supervisor\nsupervisor.__version__ = '99.0.0'\n"
        "from supervisor.cli.__main__ import main\nsys.argv = ['chaperon', 'serve']\nmain()"
    )
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(base.home), "CHAPERON_AGENT__COMMAND": str(base.command),
        "STATE_DIRECTORY": str(base.places.state), "RUNTIME_DIRECTORY": str(base.places.runtime),
    }  # fmt: skip
    upgraded = await anyio.open_process([sys.executable, "-c", program], env=environ, stdout=None, stderr=None)
    try:
        await until(lambda: "agent_adopted" in base.kinds())
        (base.repo / "go").touch()
        await until(lambda: "agent_exited" in base.kinds())
    finally:
        upgraded.terminate()
        await upgraded.wait()
    assert [event.version for event in base.events(events.DaemonStarted)][-1] == "99.0.0"
    assert base.events(events.StateChanged)[-1].after is AgentState.DONE


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _no_json(path: Path) -> None:
    path.write_text("{" * 100_000)


def _another_shape(path: Path) -> None:
    path.write_text('{"agent": 7, "code": "none", "ended_with_it": 3}')


@pytest.mark.parametrize("written", [_pipe, _no_json, _another_shape])
async def test_an_exit_record_that_a_program_put_there_says_nothing_and_its_agent_is_lost(
    base: Base, written: Callable[[Path], None]
) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    await begin(base)
    identity = await anyio.to_thread.run_sync(read_identity, base.places.agents / "a1")
    assert identity is not None
    os.kill(identity.shim_pid, signal.SIGKILL)
    written(base.places.agents / "a1" / "exit.json")
    async with served(base) as (daemon, _):
        assert daemon.runners.adopted.lost == 1
        assert (await ended(daemon)).state is AgentState.LOST
    await until(lambda: processes_in(base.repo) == [])
