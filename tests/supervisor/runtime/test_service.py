"""Starting and ending: what cannot be is refused whole, and what is ended is ended in order."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from monitors.contract.errors import UsageError
from supervisor.config.paths import PlaceError
from supervisor.core.tasks.store import STORED_TASKS
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.summary_json import SUMMARY
from supervisor.runtime.journal.journal import JournalDamagedError, JournalState
from supervisor.runtime.journal.lock import StateDirectoryTakenError
from supervisor.runtime.service import run_daemon
from supervisor.runtime.socket.listening import SocketTakenError
from supervisor.runtime.state_files import ARCHIVE_VERSION, SNAPSHOT_VERSION
from tests.drawings import described_api
from tests.stages.daemon import Base, client_on, ended, metrics_of, reached, served, until


async def refused(base: Base, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        async with run_daemon(base.setup()):
            pytest.fail("it started")


async def test_two_daemons_on_one_state_directory_are_one_too_many(base: Base, tmp_path: Path) -> None:
    async with run_daemon(base.setup()):
        base.places = type(base.places)(base.places.state, tmp_path / "elsewhere")
        await refused(base, StateDirectoryTakenError, f"in use by the daemon with pid {os.getpid()}")
        assert not base.places.socket.exists()


async def test_a_socket_on_which_somebody_listens_is_not_taken(base: Base, tmp_path: Path) -> None:
    async with served(base) as (_, client):
        other = Base(tmp_path / "other")
        other.places = type(base.places)(other.root / "state", base.places.runtime)
        await refused(other, SocketTakenError, "already listens")
        assert (await client.get("/v1/health")).status_code == 200
        assert not other.places.journal.exists()


async def test_each_route_that_is_answered_is_described(base: Base) -> None:
    async with served(base) as (_, client):
        answered = (await client.get("/openapi.json")).json()["paths"]
    assert {path: set(methods) for path, methods in described_api()["paths"].items()} == {
        path: set(methods) for path, methods in answered.items()
    }


async def test_a_strategy_that_no_plugin_brings_keeps_the_daemon_from_starting(base: Base) -> None:
    base.config["interventions"] = {"strategy": {"type": "custom"}}
    await refused(base, UsageError, "There is no intervention strategy 'custom'")


async def test_a_socket_that_a_dead_daemon_left_is_taken_over(base: Base) -> None:
    base.places.runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(base.places.socket))
    async with served(base) as (_, client):
        assert (await client.get("/v1/health")).status_code == 200
    assert not base.places.socket.exists()


async def test_a_file_in_the_sockets_place_is_left_alone(base: Base) -> None:
    base.places.runtime.mkdir(mode=0o700)
    base.places.socket.write_text("mine")
    await refused(base, SocketTakenError, "is not a socket, so it was left alone")
    assert base.places.socket.read_text() == "mine"


@pytest.mark.parametrize("mode", [0o600, 0o660])
async def test_the_socket_has_the_mode_that_is_configured(base: Base, mode: int) -> None:
    base.config = {"socket": {"mode": mode}}
    async with run_daemon(base.setup()):
        assert base.places.socket.stat().st_mode & 0o777 == mode


async def test_a_daemon_whose_sockets_were_taken_away_under_it_is_reached_again_and_tells(base: Base) -> None:
    async with served(base):
        await anyio.to_thread.run_sync(shutil.rmtree, base.places.runtime)
        await until(lambda: base.places.socket.exists() and base.places.hooks_socket.exists())
        async with client_on(base.places.socket) as client:
            assert (await client.get("/v1/agents")).json() == []
        await until(lambda: any(one.incident.type == "socket_regained" for one in base.events(events.FaultSeen)))
        assert base.places.runtime.stat().st_mode & 0o777 == 0o700
    assert not base.places.socket.exists()


async def test_a_daemon_in_whose_sockets_places_others_listen_tells_once_of_each_and_comes_back(base: Base) -> None:
    def lost() -> list[str]:
        told = (one.incident for one in base.events(events.FaultSeen))
        return [one.summary for one in told if one.type == "socket_lost"]

    async with served(base):
        paths = base.places.socket, base.places.hooks_socket
        for path in paths:
            path.unlink()
            path.write_text("another program's")
        await until(lambda: len(lost()) == len(paths))
        for path in paths:
            assert any(f"{path} is out of reach: something else is in its place" in each for each in lost())
            path.unlink()
        await until(lambda: all(path.is_socket() for path in paths))
        assert len(lost()) == len(paths)


async def test_a_damaged_journal_stops_the_start_and_is_left_as_it_is(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    (segment,) = base.places.journal.glob("*.jsonl")
    base.places.snapshot.unlink()
    data = segment.read_bytes()
    damaged = data[:200] + b"#" + data[201:]
    segment.write_bytes(damaged)
    await refused(base, JournalDamagedError, segment.name)
    assert segment.read_bytes() == damaged
    assert not base.places.socket.exists()


async def test_a_torn_journal_is_mended_and_told(base: Base) -> None:
    async with run_daemon(base.setup()):
        pass
    (segment,) = base.places.journal.glob("*.jsonl")
    with segment.open("ab") as file:
        file.write(b'{"half a rec')
    async with run_daemon(base.setup()):
        pass
    assert [incident["type"] for incident in base.incidents()] == ["torn_journal"]


def without_power(base: Base, *program: str) -> subprocess.CompletedProcess[str]:
    """Run Python as this user, and where that is root without the right to pass over file modes."""
    weaker = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(base.home), "STATE_DIRECTORY": str(base.places.state)}
    environ["RUNTIME_DIRECTORY"] = str(base.places.runtime)
    command = [*(weaker if os.geteuid() == 0 else []), sys.executable, *program]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="needs setpriv to be less than root")
def test_a_state_directory_that_cannot_be_written_is_refused_with_the_way_out(base: Base) -> None:
    base.places.state.mkdir(mode=0o555)
    done = without_power(base, "-m", "supervisor.cli", "serve")
    assert done.returncode == 1, done.stderr
    assert "cannot be written (read-only file system, or its mode)" in done.stderr
    assert "STATE_DIRECTORY" in done.stderr
    assert list(base.places.state.iterdir()) == []
    assert not base.places.socket.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
async def test_a_directory_that_belongs_to_somebody_else_is_refused(base: Base) -> None:
    base.places.state.mkdir()
    os.chown(base.places.state, 65534, -1)
    await refused(base, PlaceError, "belongs to user 65534")


async def test_the_end_is_written_down_and_leaves_agents_alive(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        cli = daemon.board.summary("a1").cli_pid
    assert base.kinds()[-1] == "daemon_stopped"
    assert Path(f"/proc/{cli}").exists()
    assert not base.places.socket.exists()
    async with served(base):
        pass  # puts it down


async def test_the_end_does_not_wait_for_a_full_disk(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    with anyio.fail_after(60):
        async with run_daemon(base.setup()) as daemon:
            monkeypatch.setattr(daemon.journal.reserve, "hold", lambda: False)
            monkeypatch.setattr(daemon.journal._writer, "state", JournalState.FULL)
    monkeypatch.undo()
    assert not base.places.snapshot.exists()


async def test_a_start_with_a_snapshot_and_one_without_know_the_same(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        live = daemon.board.summaries()
    assert base.places.snapshot.exists()
    async with run_daemon(base.setup()) as daemon:
        with_snapshot = daemon.board.summaries()
    base.places.snapshot.unlink()
    async with run_daemon(base.setup()) as daemon:
        assert daemon.board.summaries() == with_snapshot == live
    base.places.snapshot.unlink()
    base.places.archive.unlink()
    async with run_daemon(base.setup()) as daemon:
        assert daemon.board.summaries() == live


DETECTOR = """
import os

from monitors.contract.issues import Issue
from monitors.contract.observations import TurnEnded
from monitors.contract.words import Severity

class Counting:
    name = "counting"
    def see(self, observation):
        if not isinstance(observation, TurnEnded):
            return ()
        return (Issue("counting", Severity.LOW, 0.5, 0.1, observation.seq, "A turn ended."),)

def make_detector(task):
    os.environ["MADE"] += task.prompt
    return Counting()
"""


async def test_a_start_without_a_snapshot_watches_over_nobody_again_who_has_ended(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADE", "")
    plugin = tmp_path / "counting.py"
    plugin.write_text(DETECTOR)
    base.config = {"plugins": {"detectors": [str(plugin)]}}
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(prompt="one "), by="test")
        known = await ended(daemon)
        base.cli("begin()\nwhile True:\n    hear()")
        await daemon.submit(base.submission(prompt="two ", name="a2"), by="test")
        await reached(daemon, AgentState.RUNNING, "a2")
    assert known.issues == {"counting": 1}
    assert os.environ["MADE"] == "one two "
    base.places.snapshot.unlink()
    base.places.archive.unlink()
    async with served(base) as (daemon, _):
        assert daemon.board.summary("a1") == known
        assert os.environ["MADE"] == "one two two "


def counts(text: str) -> dict[str, float]:
    """The counters and histograms of what happened to agents, by name and labels."""
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    whole = ("chaperon_reviews_total", "chaperon_review_seconds", "chaperon_turns_total", "chaperon_agents_ended_total")
    return {name: float(value) for name, _, value in lines if name.startswith(whole)}


@pytest.mark.slow
async def test_what_was_counted_outlives_a_restart_with_a_snapshot_with_an_old_one_and_without(base: Base) -> None:
    async with served(base) as (daemon, _):
        daemon.metrics.add("chaperon_notifications_total", "desk", "sent")
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        first = counts(await metrics_of(daemon))
    assert first['chaperon_reviews_total{decision="allow"}'] == 1
    assert first["chaperon_review_seconds_count"] == 1
    old = base.places.snapshot.read_bytes()
    async with served(base) as (daemon, _):
        assert counts(await metrics_of(daemon)) == first
        assert 'chaperon_notifications_total{channel="desk",result="sent"} 1' in await metrics_of(daemon)
        await daemon.submit(base.submission(name="a2"), by="test")
        await ended(daemon, "a2")
        second = counts(await metrics_of(daemon))
    assert second['chaperon_agents_ended_total{state="done"}'] == 2
    base.places.snapshot.write_bytes(old)
    async with run_daemon(base.setup()) as daemon:
        assert counts(await metrics_of(daemon)) == second
    base.places.snapshot.unlink()
    async with run_daemon(base.setup()) as daemon:
        assert counts(await metrics_of(daemon)) == second
    base.places.snapshot.unlink()
    base.places.archive.unlink()
    async with run_daemon(base.setup()) as daemon:
        assert counts(await metrics_of(daemon)) == second


def shape(schema: object) -> object:
    """A JSON schema without its texts."""
    if isinstance(schema, dict):
        return {key: shape(value) for key, value in schema.items() if key not in ("description", "title")}
    return [shape(one) for one in schema] if isinstance(schema, list) else schema


def test_a_snapshot_of_another_shape_has_another_version() -> None:
    """A start that cannot use the snapshot reads the whole journal, so an upgrade that changes nothing of it keeps it."""
    digests = []
    for each in (STORED_TASKS, SUMMARY):
        found = json.dumps(shape(each.json_schema(mode="serialization")), sort_keys=True)
        digests.append(hashlib.sha256(found.encode()).hexdigest()[:16])
    known = [(SNAPSHOT_VERSION, digests[0]), (ARCHIVE_VERSION, digests[1])]
    assert known == [("7", "c07dc99818e73c14"), ("1", "eb0cce2b5794a84a")], (
        "note the new shape; raise the version if older ones cannot be read"
    )


async def test_the_configuration_decides_mode_and_limits_of_tasks_that_say_nothing(base: Base) -> None:
    base.config = {"agent": {"permission_mode": "plan"}, "resources": {"max_token_usage": 77}}
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    (submitted,) = base.events(events.TaskSubmitted)
    assert (submitted.task.permission_mode, submitted.task.limits.max_token_usage) == ("plan", 77)


@pytest.mark.parametrize(("cgroups", "held"), [("never", "subreaper"), ("auto", "")])
async def test_control_groups_can_be_left_out(base: Base, cgroups: str, held: str) -> None:
    base.config = {"agent": {"cgroups": cgroups}}
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        assert (await ended(daemon)).containment.startswith(held)


@pytest.mark.slow
def test_what_answers_on_the_socket_is_not_loaded_before_agents_are_adopted() -> None:
    """It is half of the start, and no agent's call waits for it."""
    code = "import sys, supervisor.runtime.service; print(*{'fastapi', 'uvicorn', 'httpx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []


async def test_who_asks_before_the_socket_is_answered_waits_and_is_answered(base: Base) -> None:
    async with run_daemon(base.setup()) as daemon:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(base.places.socket))
            peer.sendall(b"GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n")
            assert not daemon.answering.is_set()
            with anyio.fail_after(60):
                await anyio.wait_readable(peer)
            assert peer.recv(4096).startswith(b"HTTP/1.1 200 ")
