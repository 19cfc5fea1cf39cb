"""Checks by a command: bounded, held as the agent is, and with nothing left running, whatever the command does."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from monitors.contract.tasks import Limits
from supervisor.config.model import Agent
from supervisor.protocol.merges import CheckOutcome, CheckResult
from supervisor.runtime.merging.verification import OUTPUT_BYTES, Check, Verifier
from supervisor.runtime.processes.bounds.cgroups import Containment, Uncontained
from supervisor.runtime.processes.contained import end_noted
from supervisor.runtime.processes.launcher import ProcessLauncher
from tests.stages.daemon import Base, served, until
from tests.support import alive

pytestmark = pytest.mark.timeout(120)

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "ANTHROPIC_API_KEY": "sk-canary"}


@pytest.fixture(params=["auto", "never"])
def verifier(request: pytest.FixtureRequest, tmp_path: Path) -> Verifier:
    held = Containment.find("checks") if request.param == "auto" else Uncontained("said so")
    return Verifier(ProcessLauncher(Agent(), ENVIRON, tmp_path / "agents", held), tmp_path / "notes")


async def checked(verifier: Verifier, folder: Path, command: str, seconds: float = 30) -> CheckResult:
    facts = {"TASK_ID": "t-1"}
    check = Check(name="a1", command=command, folder=str(folder), seconds=seconds, limits=Limits(), facts=facts)
    return await verifier.run(check)


FORKS_AWAY = f"""{sys.executable} -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("forked", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists("forked"): time.sleep(0.01)
'"""


async def test_the_exit_code_decides_and_the_end_of_the_output_is_kept(verifier: Verifier, tmp_path: Path) -> None:
    passed = await checked(verifier, tmp_path, "pwd; echo $TASK_ID")
    assert (passed.outcome, passed.code, passed.output) == (CheckOutcome.PASSED, 0, f"{tmp_path}\nt-1")
    failed = await checked(verifier, tmp_path, "seq 100000; printf '\\033[2Jlast'; exit 3")
    assert (failed.outcome, failed.code) == (CheckOutcome.FAILED, 3)
    assert failed.output.endswith("99999\n100000\n\\x1b[2Jlast")
    assert len(failed.output) <= OUTPUT_BYTES + 10
    by_signal = await checked(verifier, tmp_path, "kill -9 $$")
    assert (by_signal.outcome, by_signal.code) == (CheckOutcome.FAILED, -signal.SIGKILL)


async def test_a_check_that_never_ends_is_ended_with_all_that_it_started(verifier: Verifier, tmp_path: Path) -> None:
    result = await checked(verifier, tmp_path, "setsid sleep 600 & echo $! > pid; wait", seconds=1)
    assert result.outcome is CheckOutcome.TIMED_OUT
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_what_forked_away_is_ended_after_the_check_and_named(verifier: Verifier, tmp_path: Path) -> None:
    result = await checked(verifier, tmp_path, FORKS_AWAY)
    assert result.outcome is CheckOutcome.PASSED
    forked = int((tmp_path / "forked").read_text())
    assert not alive(forked)
    assert [name.split()[0] for name in result.left] == [str(forked)]
    assert not list((tmp_path / "notes").glob("*"))


async def test_a_check_that_is_given_up_leaves_nothing(verifier: Verifier, tmp_path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(checked, verifier, tmp_path, FORKS_AWAY + "; sleep 600")
        await until(lambda: (tmp_path / "forked").exists() and bool((tmp_path / "forked").read_text()))
        tasks.cancel_scope.cancel()
    assert not alive(int((tmp_path / "forked").read_text()))


async def test_a_check_has_no_key_of_the_models_api(verifier: Verifier, tmp_path: Path) -> None:
    assert "canary" not in (await checked(verifier, tmp_path, "env")).output


async def test_a_folder_that_is_gone_is_no_failure_of_the_work(verifier: Verifier, tmp_path: Path) -> None:
    result = await checked(verifier, tmp_path / "gone", "true")
    assert result.outcome is CheckOutcome.NOT_STARTED
    assert "Could not enter the working directory" in result.output


async def test_a_check_may_not_steer_the_daemon(tmp_path: Path) -> None:
    base = Base(tmp_path)
    async with served(base) as (daemon, _):
        (tmp_path / "asks.py").write_text(ASKS)
        result = await checked(daemon.verifier, tmp_path, f"{sys.executable} asks.py {base.places.socket}")
    assert "an agent's own process may not steer agents" in result.output, result


ASKS = """
import contextlib, socket, sys
with socket.socket(socket.AF_UNIX) as asking:
    asking.connect(sys.argv[1])
    with contextlib.suppress(BrokenPipeError):  # it is refused before it asks, if it is slow
        asking.sendall(b"GET /v1/agents HTTP/1.1\\r\\nhost: chaperon\\r\\n\\r\\n")
    print(asking.recv(65536).decode())
"""

KILLED = """
import anyio, os, sys
from pathlib import Path
from tests.supervisor.runtime.merging.test_verification import *
folder = Path(sys.argv[1])
verifier = Verifier(ProcessLauncher(Agent(), ENVIRON, folder / "agents", Uncontained("said so")), folder / "notes")
anyio.run(checked, verifier, folder, FORKS_AWAY + "; sleep 600")
"""


@pytest.mark.slow
def test_what_a_check_left_is_ended_by_the_daemon_after_one_that_was_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)]) as daemon:
        forked = tmp_path / "forked"
        while daemon.poll() is None and not (forked.exists() and forked.read_text()):
            pass
        daemon.kill()
    pid = int(forked.read_text())
    assert alive(pid)
    assert end_noted(tmp_path / "notes") == ["verify:a1"]
    assert not alive(pid)
