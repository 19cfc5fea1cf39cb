"""Programs of an agent that try to outlive it: by killing, stopping or replacing the shim. None does, and no figure is made up."""

import re
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.identity import Identity
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.running import runner
from supervisor.runtime.journal.journal import JournalState
from supervisor.runtime.processes import shim_client
from supervisor.runtime.processes.leftovers import find_held
from supervisor.runtime.service import run_daemon
from tests.stages.daemon import Base, ended, reached, served, until
from tests.support import alive, processes_in

pytestmark = pytest.mark.slow

ESCAPE = """
begin()
import socket, struct
shim = os.getppid()
state = os.readlink(f"/proc/{shim}/cwd")
def frame(kind, **facts):
    body = json.dumps(facts).encode()
    return struct.pack(">IB", len(body), kind) + body
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    def wait(path):
        while not os.path.exists(path):
            time.sleep(0.01)
    open("escaping", "w").write(str(os.getpid()))
    wait("go")
    PROGRAM
    open("escaped", "w").write(str(os.getpid()))
    if HIDE:
        os.execve(sys.executable, [sys.executable, "-ISc", "import time; time.sleep(600)"], {})
    time.sleep(600)
while True:
    hear()
"""
"""A CLI with a program that did all to be nobody's: a session of its own, no parent, and where that is asked for no environment."""

KILL_THE_SHIM = "os.kill(shim, 9)"

LEAVE_THE_GROUP = """
    group = open("/proc/self/cgroup").read().rpartition("0::")[2].strip()
    mount = next(line.split()[4] for line in open("/proc/self/mountinfo") if " - cgroup2 " in line)
    for above in ("../../..", "../../../.."):
        try:
            open(f"{mount}{group}/{above}/cgroup.procs", "w").write("0")
            break
        except OSError:
            pass
    os.kill(shim, 9)"""

TAKE_THE_SOCKET = """
    os.chdir(state)
    os.rename("shim.sock", "shim.real")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("shim.sock")
    listening.listen(5)
    open(f"{os.environ['WHERE']}/escaped", "w").write(str(os.getpid()))
    cli = int(open("agent.json").read().partition('"cli_pid": ')[2].partition(",")[0])
    while True:
        connection = listening.accept()[0]
        size = os.path.getsize("out.log")
        connection.sendall(frame(1, shim_pid=shim, cli_pid=cli, out_size=size, containment="subreaper"))
        while connection.recv(65536):
            connection.sendall(frame(4, micros=300) + frame(5, micros=900, left=0))"""

REMOVE_THE_SOCKET = """
    os.unlink(f"{state}/shim.sock")"""

SAY_THAT_IT_ENDED = """
    os.unlink(f"{state}/shim.sock")
    json.dump({"agent": "a1", "code": 0, "left": 0}, open(f"{state}/exit.json", "w"))"""

STOP_THE_SHIM = "os.kill(shim, 19)"


def escaping(base: Base, program: str, *, hide: bool = True) -> None:
    text = ESCAPE.replace("PROGRAM", program.strip()).replace("HIDE", str(hide))
    base.cli(text.replace("os.environ['WHERE']", repr(str(base.repo))))


async def escaped(base: Base) -> int:
    """Let the program go, and wait until it has done what it does, or was ended over it before it could say so."""
    await until(lambda: written(base, "escaping") != "")
    pid = int(written(base, "escaping"))
    (base.repo / "go").touch()
    await until(lambda: written(base, "escaped") != "" or not alive(pid))
    return pid


def written(base: Base, name: str) -> str:
    path = base.repo / name
    return path.read_text() if path.exists() else ""


def nobody_lives(base: Base, summary: Summary, program: int) -> bool:
    here = [process for process in processes_in(base.repo) if alive(process.pid)]
    return not here and not any(alive(pid) for pid in (summary.cli_pid, summary.shim_pid, program))


def incidents(base: Base) -> dict[str, dict[str, Any]]:
    return {incident["type"]: incident for incident in base.incidents()}


@pytest.mark.parametrize("cgroups", ["auto", "never"])
@pytest.mark.parametrize("program", [KILL_THE_SHIM, LEAVE_THE_GROUP], ids=["stays", "moves"])
async def test_a_program_that_kills_the_shim_and_hides_is_ended_with_the_agent(
    base: Base, program: str, cgroups: str
) -> None:
    base.config = {"agent": {"cgroups": cgroups}, "interventions": {"max_retries": 0}}
    escaping(base, program)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        pid = await escaped(base)
        summary = await ended(daemon)
        assert nobody_lives(base, summary, pid)
    assert summary.state is AgentState.LOST
    assert re.search("of the processes it left [12] were ended and 0 could not be", summary.why), (
        "the CLI may still be on its way out"
    )


async def test_a_program_that_kills_the_shim_while_no_daemon_is_there_is_ended_by_the_next(base: Base) -> None:
    base.config = {"agent": {"cgroups": "never"}, "interventions": {"max_retries": 0}}
    escaping(base, KILL_THE_SHIM)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        await until((base.repo / "escaping").exists)
    pid = await escaped(base)
    assert alive(pid)
    async with served(base) as (daemon, _):
        assert nobody_lives(base, await ended(daemon), pid)


@pytest.mark.parametrize(
    ("program", "incident", "says"),
    [
        (TAKE_THE_SOCKET, "shim_replaced", "listens in .* which holds the agent's CLI"),
        (REMOVE_THE_SOCKET, "shim_replaced", "its socket in .* was taken away"),
        (
            SAY_THAT_IT_ENDED,
            "processes_left",
            "was said to have ended, with nobody left. A look showed otherwise: of the processes it left [1-9]",
        ),
    ],
    ids=["its socket taken over", "its socket removed", "an end written for it"],
)
async def test_a_shim_that_cannot_be_reached_by_what_a_program_did_costs_the_agent_its_life(
    base: Base, program: str, incident: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the program answered for the shim: the stop said that nobody was left, and all ran on."""
    monkeypatch.setattr(shim_client, "GOES_SECONDS", 0.5)
    escaping(base, program, hide=False)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        await until((base.repo / "escaping").exists)
    pid = await escaped(base)
    async with served(base) as (daemon, _):
        summary = await ended(daemon)
        assert nobody_lives(base, summary, pid)
    told = incidents(base)[incident]
    assert told["severity"] == "critical"
    assert re.search(says, told["summary"])
    assert len(base.events(events.AgentLaunched)) == 1, "and it was not started again"


async def test_a_stop_ends_an_agent_whose_program_stopped_the_shim(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SHIM_ENDS_SECONDS", 0.5)
    escaping(base, STOP_THE_SHIM, hide=False)
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(), by="test")
        pid = await escaped(base)
        assert (await client.post("/v1/agents/a1/stop", json={"force": True})).status_code == 200
        summary = await ended(daemon)
        assert nobody_lives(base, summary, pid)
    assert incidents(base)["shim_silent"]["severity"] == "critical"


async def test_a_shim_is_not_called_silent_that_did_what_it_was_told_while_the_disk_was_full(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says is not read then."""
    looked: list[set[int]] = []

    def look(identity: Identity) -> set[int]:
        looked.append(find_held(identity))
        return looked[-1]

    monkeypatch.setattr(runner, "SHIM_ENDS_SECONDS", 0.5)
    monkeypatch.setattr(runner, "find_held", look)
    base.cli("begin()\nwhile True:\n    say({'type': 'system', 'subtype': 'status'})\n    time.sleep(0.01)")
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        pid = daemon.board.summary("a1").cli_pid
        assert pid is not None
        with monkeypatch.context() as full:
            full.setattr(daemon.journal.reserve, "hold", lambda: False)
            daemon.journal._writer.state = JournalState.FULL
            assert (await client.post("/v1/agents/a1/stop", json={"force": True})).status_code == 200
            await until(lambda: not alive(pid))
            await until(lambda: bool(looked))
        daemon.journal.begin_file()  # by which the writer looks for room
        assert (await ended(daemon)).state is AgentState.STOPPED
    assert looked == [set()]
    assert "shim_silent" not in incidents(base)


async def test_a_stop_ends_an_agent_whose_stopped_shim_the_next_daemon_cannot_reach(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    escaping(base, STOP_THE_SHIM, hide=False)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        await until((base.repo / "escaping").exists)
    pid = await escaped(base)
    monkeypatch.setattr(shim_client, "HELLO_SECONDS", 0.2)
    async with served(base) as (daemon, client):
        assert daemon.runners.adopted.silent == 1
        assert (await client.post("/v1/agents/a1/stop", json={"force": True})).status_code == 200
        assert nobody_lives(base, await ended(daemon), pid)


async def test_a_process_is_known_as_its_agents_by_its_mark_alone(base: Base) -> None:
    """Nothing above an orphan is an agent's any more."""
    escaping(base, KILL_THE_SHIM)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        identity = daemon.board.session("a1").identity
        assert identity is not None
        assert daemon.whose((), identity.mark) == "a1"
        assert (daemon.whose((), identity.mark - 1), daemon.whose((), 0)) == ("", "")


async def test_a_changed_note_of_who_runs_leads_nobody_to_a_stranger(base: Base) -> None:
    """The file lies where programs of the agent write; what the journal says of the launch is believed first."""
    stranger = psutil.Popen(["sleep", "600"])
    try:
        escaping(base, KILL_THE_SHIM)
        async with run_daemon(base.setup()) as daemon:
            await daemon.submit(base.submission(), by="test")
            await reached(daemon, AgentState.RUNNING)
            await until((base.repo / "escaping").exists)
            note = Path(daemon.runners._directory(daemon.board.session("a1")), "agent.json")
        facts = note.read_text().replace('"nonce": "', '"nonce": "x').replace('"mark": ', '"mark": 1')
        note.write_text(facts)
        pid = await escaped(base)
        async with served(base) as (daemon, _):
            assert nobody_lives(base, await ended(daemon), pid)
        assert stranger.poll() is None
    finally:
        stranger.send_signal(signal.SIGKILL)
        stranger.wait()
