"""CLIs that do not do what they should: each leads to a clear end and an incident, and leaves nothing behind."""

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from monitors.contract.errors import IllegalStepError, NotFoundError, UsageError
from monitors.contract.words import Severity
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.assembly import policy, settings
from supervisor.runtime.daemon import daemon as daemon_module
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.running.runner import CommandBatch
from supervisor.runtime.processes import shim_client
from supervisor.runtime.service import run_daemon
from tests.faults import FaultyDisk
from tests.stages.daemon import Base, ended, reached, served, until
from tests.support import alive, names_in, processes_in

TOO_OLD = 'import sys\nprint("2.0.9 (Claude Code)")'
HANGS = "hear()\ntime.sleep(600)"
WAITS = "begin()\nwhile True:\n    hear()"


def faults(base: Base) -> list[dict[str, Any]]:
    """Incidents of what failed: that agents of a test share a workspace is none."""
    return [one for one in base.incidents() if one["type"] != "workspace_shared"]


async def outcome(base: Base, **about: Any) -> tuple[AgentState, dict[str, Any]]:
    """What became of one task: the agent's last state, and the only incident."""
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(**about), by="test")
        summary = await ended(daemon)
    (incident,) = base.incidents()
    assert summary.incidents == [incident["id"]]
    assert processes_in(base.repo) == []
    return summary.state, incident


async def test_no_cli_is_told_with_where_it_was_looked_for(base: Base) -> None:
    base.config = {"agent": {"command": str(base.root / "nowhere")}}
    state, incident = await outcome(base)
    assert state is AgentState.FAILED
    assert incident["type"] == "launch_failed"
    assert str(base.root / "nowhere") in incident["summary"]
    assert incident["way_out"]


async def test_a_cli_that_is_too_old_is_told_with_the_version_that_is_needed(base: Base) -> None:
    base.cli(TOO_OLD, greeting="")
    state, incident = await outcome(base)
    assert state is AgentState.FAILED
    assert "2.0.9" in incident["summary"]
    assert "claude update" in incident["summary"]


async def test_a_cli_that_exits_at_once_is_told_with_its_last_words(base: Base) -> None:
    base.cli("sys.stderr.write('no licence here')\nraise SystemExit(7)")
    state, incident = await outcome(base)
    assert state is AgentState.FAILED
    assert "exit code 7" in incident["summary"]
    assert "no licence here" in incident["summary"]


async def test_a_cli_that_prints_garbage_is_kept_whole_and_ended(base: Base) -> None:
    base.config = {}
    base.cli(
        "sys.stdout.buffer.write(b'\\xff\\x00garbage\\n{\"half\": \\n[1]\\n')\nsys.stdout.flush()\nraise SystemExit(1)"
    )
    state, incident = await outcome(base)
    assert state is AgentState.FAILED
    assert incident["type"] == "agent_failed"
    kept = [event.text for event in base.events(events.LineReceived)]
    assert kept == ["�\0garbage", '{"half": ', "[1]"]


async def test_a_cli_that_never_answers_is_ended_and_told(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    base.cli(HANGS)
    patience(monkeypatch, 0.2)
    state, incident = await outcome(base)
    assert state is AgentState.STOPPED
    assert incident["type"] == "agent_silent"
    assert "chaperon doctor" in incident["way_out"]


def patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Sessions wait so long for the CLI's first answer."""
    real = settings.session_settings
    monkeypatch.setattr(policy, "session_settings", lambda *facts: replace(real(*facts), hello_seconds=seconds))


async def test_a_cli_that_floods_its_error_output_is_not_held_up_by_it(base: Base) -> None:
    base.config["audit"] = {"store": "full"}  # what is sealed goes at the end
    base.cli("begin()\nfor _ in range(400):\n    sys.stderr.write('x' * 100_000)\nsys.stderr.flush()\ndone()\nhear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        assert (await ended(daemon)).state is AgentState.DONE
    assert (base.places.agents / "a1" / "err.log").stat().st_size < 20_000_000
    assert base.incidents() == []


async def test_a_line_over_the_cap_is_passed_over_and_told_and_the_run_goes_on(base: Base) -> None:
    base.cli("begin()\nsys.stdout.write('{\"x\": \"' + 'y' * 40_000_000 + '\"}\\n')\ndone()\nhear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        assert (await ended(daemon)).state is AgentState.DONE
    (incident,) = base.incidents()
    assert incident["type"] == "line_passed_over"
    (passed,) = base.events(events.LinePassedOver)
    assert passed.end - passed.start > 40_000_000


async def test_two_agents_run_at_once(base: Base) -> None:
    async with served(base) as (daemon, _):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
        assert {(await ended(daemon, name)).state for name in ("a1", "a2")} == {AgentState.DONE}
    assert base.ran() == ["ls", "ls"]


async def test_a_prompt_of_a_megabyte_reaches_the_cli_whole(base: Base) -> None:
    base.cli("text = greet()\nopen('size', 'w').write(str(len(text)))")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt="x" * 1024 * 1024), by="test")
        await ended(daemon)
    assert (base.repo / "size").read_text() == str(1024 * 1024)


async def test_an_agent_that_is_stopped_as_it_is_born_is_not_told_its_task(base: Base) -> None:
    base.config = {"stop": {"interrupt_seconds": 0.1}}
    base.cli("while True:\n    open('heard', 'a').write(json.dumps(hear()))")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt="the task"), by="test")
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test"))
        assert (await ended(daemon)).state is AgentState.STOPPED
    assert "the task" not in (base.repo / "heard").read_text()


async def test_requests_for_agents_that_are_not_there_are_told_apart(base: Base) -> None:
    async with served(base) as (daemon, _):
        with pytest.raises(NotFoundError):
            await daemon.request(events.PauseRequested(**daemon.stamp("nobody"), by="test"))
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        with pytest.raises(IllegalStepError, match="It has ended"):
            await daemon.request(events.SayRequested(**daemon.stamp("a1"), id="1", text="hello", by="test"))


@pytest.mark.parametrize("told_by_others", [False, True])
async def test_a_failure_of_our_own_ends_that_agent_and_no_other(base: Base, told_by_others: bool) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        for name in ("bad", "good"):
            await daemon.submit(base.submission(name=name), by="test")
            await reached(daemon, AgentState.RUNNING, name)
        fails_from_here_on(daemon, "bad")
        if told_by_others:
            daemon.happened(events.TimerFired(**daemon.stamp("bad"), name="hello"))
        else:
            daemon.runners._of["bad"].perform(CommandBatch(0, [], failure=ZeroDivisionError("oh")))
        summary = await ended(daemon, "bad")
        assert summary.state is AgentState.LOST
        assert daemon.board.summary("good").state is AgentState.RUNNING
        await until(lambda: not alive(summary.cli_pid))
    assert [incident["type"] for incident in faults(base)] == ["runner_failed"]
    async with run_daemon(base.setup()) as again:
        assert again.runners.adopted.found == 0, "it is written off, and does not fail at each start"


async def test_a_session_that_raises_outside_its_runner_takes_nobody_with_it(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        for name in ("bad", "good"):
            await daemon.submit(base.submission(name=name), by="test")
            await reached(daemon, AgentState.RUNNING, name)
        fails_from_here_on(daemon, "bad")
        figures: dict[str, Any] = {"memory_mb": 1.0, "cpu_seconds": 1.0, "processes": 1, "open_files": 1, "io_bytes": 1}
        daemon.happened(events.ResourcesSeen(**daemon.stamp("bad"), **figures))
        summary = await ended(daemon, "bad")
        assert summary.state is AgentState.LOST
        await until(lambda: not alive(summary.cli_pid))
        assert daemon.board.summary("good").state is AgentState.RUNNING
    (incident,) = faults(base)
    assert (incident["type"], incident["agent"]) == ("runner_failed", "bad")
    assert "ZeroDivisionError('oh')" in incident["summary"]
    assert "Its processes were ended." in incident["summary"]


def no_session_for_bad(submitted: events.TaskSubmitted, *parts: Any) -> Session:
    if submitted.agent == "bad":
        broken()
    return Session(submitted, *parts)


async def left_running(base: Base) -> int:
    """Leave the agents `bad` and `good` running without a daemon; the process of the first one's CLI."""
    base.cli(WAITS)
    async with run_daemon(base.setup()) as daemon:
        for name in ("bad", "good"):
            await daemon.submit(base.submission(name=name), by="test")
            await reached(daemon, AgentState.RUNNING, name)
        cli = daemon.board.summary("bad").cli_pid
    assert cli is not None
    return cli


async def test_an_agent_whose_session_cannot_be_made_at_a_start_waits_and_is_told_of(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = await left_running(base)
    with monkeypatch.context() as patched:
        patched.setattr(policy, "Session", no_session_for_bad)
        async with run_daemon(base.setup()) as daemon:
            assert daemon.runners.adopted.counts() | {"found": 1, "reattached": 1} == daemon.runners.adopted.counts()
            assert [one.agent for one in daemon.board.summaries()] == ["bad", "good"]
            assert "ZeroDivisionError: oh" in daemon.board.explained("bad", 0.0).why
            assert [daemon.whose((one.shim_pid,), 0) for one in daemon.board.summaries()] == ["bad", "good"]
            assert daemon.whose((os.getpid(),), 0) == ""
            with pytest.raises(NotFoundError, match="has no session"):
                await daemon.request(events.PauseRequested(**daemon.stamp("bad"), by="ann"))
            assert alive(cli)
            assert daemon.board.summary("good").state is AgentState.RUNNING
    (incident,) = faults(base)
    assert (incident["type"], incident["agent"]) == ("session_not_made", "bad")
    assert "ZeroDivisionError: oh" in incident["summary"]
    async with served(base) as (daemon, _):
        assert daemon.runners.adopted.counts() | {"found": 2, "reattached": 2} == daemon.runners.adopted.counts()
        assert daemon.board.summary("bad").cli_pid == cli


@pytest.mark.parametrize("force", [False, True])
async def test_an_agent_whose_session_cannot_be_made_is_ended_with_all_its_processes_by_a_stop(
    base: Base, monkeypatch: pytest.MonkeyPatch, *, force: bool
) -> None:
    base.cli("import subprocess\nbegin()\nsubprocess.Popen(['sleep', '311'], start_new_session=True)\nhear()")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(name="bad"), by="test")
        await reached(daemon, AgentState.RUNNING, "bad")
        await until(lambda: "sleep" in names_in(base.repo))
        known = daemon.board.summary("bad")
    with monkeypatch.context() as patched:
        patched.setattr(policy, "Session", no_session_for_bad)
        async with served(base) as (daemon, client):
            (row,) = (await client.get("/v1/agents")).json()
            assert (row["unwatched"], "could not be made" in row["why"]) == (True, True)
            about = {"force": force, "reason": "enough"}
            stopped = (await client.post("/v1/agents/bad/stop", json=about)).json()
            assert (stopped["state"], stopped["unwatched"]) == ("stopped", False)
            assert stopped["why"].endswith(": enough")
            assert names_in(base.repo) == []
            assert not alive(known.cli_pid)
            assert daemon.board.at_work() == []
            assert (await client.post("/v1/agents/bad/stop", json=about)).status_code == 409
    states = [event.after for event in base.events(events.StateChanged)]
    assert states[-2:] == [AgentState.STOPPING, AgentState.STOPPED]
    async with run_daemon(base.setup()) as daemon:  # one that could make the session
        assert daemon.runners.adopted.found == 0
        assert daemon.board.summary("bad").state is AgentState.STOPPED


async def test_one_without_a_session_whose_shim_hangs_is_ended_without_its_shim(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.cli(WAITS)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(name="bad"), by="test")
        await reached(daemon, AgentState.RUNNING, "bad")
        known = daemon.board.summary("bad")
    monkeypatch.setattr(policy, "Session", no_session_for_bad)
    monkeypatch.setattr(shim_client, "HELLO_SECONDS", 0.1)
    async with run_daemon(base.setup()) as daemon:
        os.kill(known.shim_pid, signal.SIGSTOP)
        assert (await daemon.request(events.StopRequested(**daemon.stamp("bad"), by="ann"))).state is AgentState.STOPPED
    await until(lambda: not alive(known.cli_pid) and not alive(known.shim_pid))


async def test_a_task_whose_session_cannot_be_made_is_refused_and_leaves_no_trace(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.cli(WAITS)
    monkeypatch.setattr(policy, "Session", no_session_for_bad)
    async with served(base) as (daemon, client):
        with pytest.raises(UsageError, match="No session could be made for agent bad"):
            await daemon.submit(base.submission(name="bad"), by="test")
        answer = await client.post("/v1/agents", json={"prompt": "go", "repository": str(base.repo), "name": "bad"})
        assert answer.status_code == 422
        assert "ZeroDivisionError: oh" in answer.text
        assert daemon.board.summaries() == []
        await daemon.submit(base.submission(name="good"), by="test")
        await reached(daemon, AgentState.RUNNING, "good")
    assert [event.agent for event in base.events(events.TaskSubmitted)] == ["good"]
    assert base.incidents() == []


async def test_a_session_that_cannot_be_rebuilt_keeps_no_other_from_being_adopted(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = await left_running(base)
    real = Session.remember

    def remember(self: Session, seq: int, event: events.AnyEvent) -> None:
        if event.agent == "bad" and isinstance(event, events.AgentLaunched):
            broken()
        real(self, seq, event)

    monkeypatch.setattr(Session, "remember", remember)
    async with served(base) as (daemon, _):
        assert (await ended(daemon, "bad")).state is AgentState.LOST
        await until(lambda: not alive(cli))
        assert daemon.board.summary("good").state is AgentState.RUNNING
        assert daemon.runners.adopted.reattached == 2
    assert [(one["type"], one["agent"]) for one in faults(base)] == [("runner_failed", "bad")]
    async with served(base) as (daemon, _):
        assert daemon.board.summary("bad").state is AgentState.LOST
        assert daemon.runners.adopted.found == 0


def broken(*_: object) -> Any:
    raise ZeroDivisionError("oh")


class Failing:
    """A session that fails at whatever happens, and is another one else: a compiled one takes no other method."""

    see = broken

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def fails_from_here_on(daemon: Daemon, agent: str) -> None:
    daemon.board._live[agent] = cast("Session", Failing(daemon.board._live[agent]))


async def test_a_process_that_has_the_number_of_a_shim_that_ended_is_no_agents(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="a1"), by="test")
        await reached(daemon, AgentState.RUNNING, "a1")
        session = daemon.board.session("a1")
        assert daemon.whose((7, session.summary.shim_pid), 0) == "a1"
        other = replace(known, shim_start_ticks=1) if (known := session.identity) else None
        session._memory.processes.identity = other  # the shim's number is another process's now
        assert daemon.whose((7, session.summary.shim_pid), 0) == ""
        session._memory.processes.identity = known


async def test_a_shim_whose_connection_was_taken_away_is_found_again(base: Base) -> None:
    base.config["audit"] = {"store": "full"}
    base.cli("begin()\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\ndone()\nhear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        before = daemon.runners._of["a1"]._shim
        await anyio.to_thread.run_sync(intrude, base.places.agents / "a1")
        await until(lambda: daemon.runners._of["a1"]._shim is not before)
        (base.repo / "go").touch()
        assert (await ended(daemon)).state is AgentState.DONE
    received = [event.frame for event in base.events(events.LineReceived)]
    assert len(received) == len((base.places.agents / "a1" / "out.log").read_bytes().splitlines())


def intrude(directory: Path) -> None:
    """Connect to the shim as another daemon would, and go away."""
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as intruder:
        fd = os.open(directory, os.O_PATH)
        intruder.connect(f"/proc/self/fd/{fd}/shim.sock")
        os.close(fd)
        intruder.recv(1)  # its greeting, or the end at once: the daemon may have been quicker
    assert here == Path.cwd()


async def test_a_shim_that_is_killed_is_a_lost_agent_without_leftovers(base: Base) -> None:
    base.cli("import subprocess\nbegin()\nsubprocess.Popen(['setsid', 'sleep', '300'])\nwhile True:\n    hear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        await until(lambda: len(processes_in(base.repo)) == 2)
        os.kill(daemon.board.summary("a1").shim_pid, 9)
        assert (await ended(daemon)).state is AgentState.LOST
        await until(lambda: processes_in(base.repo) == [])
    (incident,) = faults(base)
    assert incident["type"] == "agent_lost"
    assert "--resume-session" in incident["way_out"]


async def test_an_agent_that_is_put_down_is_gone_when_that_returns(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        await daemon.put_down("a1", "enough")
        assert daemon.board.summary("a1").state is AgentState.STOPPED
        assert processes_in(base.repo) == []
        await daemon.put_down("a1", "twice is as good as once")


@pytest.mark.parametrize(("severity", "level"), [("low", "INFO"), ("medium", "WARNING"), ("high", "ERROR")])
async def test_an_incident_is_told_in_the_log_as_loud_as_it_is_severe(
    base: Base, caplog: pytest.LogCaptureFixture, severity: str, level: str
) -> None:
    caplog.set_level("INFO", "chaperon")
    async with served(base) as (daemon, _):
        daemon.fault("", "odd", "Something is odd.", Severity(severity))
        (said,) = [one for one in caplog.records if "Something is odd." in one.getMessage()]
        assert said.levelname == level


async def test_a_request_that_cannot_be_written_says_where_room_is_missing_and_is_done_once_there_is(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, who asked heard nothing for 30 s, and then that the daemon does not answer."""
    monkeypatch.setattr(daemon_module, "ROOM_SECONDS", 0.2)
    disk = FaultyDisk()
    base.cli(WAITS)
    async with served(base, disk=disk) as (daemon, client):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        disk.full = True
        answer = await client.post("/v1/agents/a1/stop", json={"force": True})
        assert answer.status_code == 503
        assert f"an inode must be free for {base.places.journal}. What was asked is taken" in answer.json()["what"]
        assert "need not be asked again" in answer.json()["way_out"]
        disk.full = False
        assert (await ended(daemon)).state is AgentState.STOPPED
