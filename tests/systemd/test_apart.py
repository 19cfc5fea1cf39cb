"""A daemon with a user apart from its agents', by its unit and under a systemd that runs, with users that are real."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio.to_thread
import orjson
import pytest

from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript, ScriptStep
from tests.stages.attacker import OF_A_PROCESS
from tests.stages.booted import OWN_USER, USER, Booted, booted
from tests.stages.live import bash
from tests.support import cli_environment, real_claude_path
from tests.systemd.test_units import unit_text

pytestmark = [pytest.mark.slow, pytest.mark.real_cli]

NAME = "chaperon-apart@.service"
UNIT = "chaperon-apart@ada"
BASE = "/var/lib/chaperon-apart/ada"
STATE = f"{BASE}/closed/state"
KEY = "sk-ant-apart-0123456789"
ATTACKER = Path(__file__).parents[1] / "stages/attacker.py"


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booted]:
    programs = Path(sys.executable).parent
    unit = unit_text(NAME).replace("Environment=PATH=", f"StandardError=file:/run/said\nEnvironment=PATH={programs}:")
    with booted(tmp_path_factory.mktemp("booted"), {NAME: unit}) as made:
        assert made.run("mkdir", "-m", "755", "/run/chaperon").returncode == 0
        yield made


def configure(machine: Booted, url: str, sandbox: str = "none") -> None:
    """A repository, a key that the daemon's group reads, and a daemon that runs."""
    environment = {name: value for name, value in cli_environment(Path("/home/ada"), url).items() if "KEY" not in name}
    agent = {"command": str(real_claude_path()), "sandbox": sandbox, "environment": environment,
             "credential": "file:/etc/chaperon/key"}  # fmt: skip
    text = orjson.dumps({"agent": agent, "verify": {"command": "test -f merged && id -ru > /tmp/checked"}}).decode()
    root(
        machine,
        f"mkdir /etc/chaperon; printf {KEY} > /etc/chaperon/key; cat > /etc/chaperon/chaperon.yaml <<'END'\n{text}\nEND",
    )
    root(
        machine,
        "chown -R root:chaperon-ada /etc/chaperon; chgrp ada /etc/chaperon/chaperon.yaml; chmod 755 /etc/chaperon; chmod 640 /etc/chaperon/*",
    )
    machine.ada(
        "mkdir -p ~/repo; cd ~/repo; git init -q -b main; git config user.name a; git config user.email a@b.c; "
        "echo base > kept; git add kept; git commit -q -m first"
    )
    root(machine, f"systemctl start {UNIT} || (cat /run/said; false)")


def root(machine: Booted, script: str) -> str:
    done = machine.run("sh", "-ec", script)
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout


def processes(machine: Booted) -> dict[str, int]:
    """The processes whose real user is chaperon's own, each by what it is."""
    marks = {"serve --for": "daemon", "shim/program.py": "shim", "gateway.program": "gateway", "reading": "reader"}
    listed = [line.split(maxsplit=1) for line in root(machine, f"ps -o pid=,args= -U {OWN_USER}").splitlines()]
    return {name: int(pid) for pid, words in listed for mark, name in marks.items() if mark in words}


def numbers(machine: Booted, pid: int) -> list[str]:
    said = root(machine, f"cat /proc/{pid}/status")
    wanted = ("Uid:", "Gid:", "CapPrm:", "CapEff:", "CapAmb:")
    return [line.partition(":")[2].strip() for line in said.splitlines() if line.startswith(wanted)]


def put_attacker(machine: Booted) -> None:
    """Put the program there, with what it is told."""
    machine.ada("sleep 600 > /dev/null 2>&1 & echo $! > ~/sleep; mkdir -p ~/own; echo mine > ~/own/file")
    machine.wait("chaperon tail > /dev/null; chaperon incidents > /dev/null")  # by which the reader is there
    group = root(machine, f"cut -d: -f3 /proc/{processes(machine)['daemon']}/cgroup").strip()
    above = f"/sys/fs/cgroup{group}"
    about = {
        "own": [OWN_USER, OWN_USER],
        "key": KEY,
        "processes": {**processes(machine), "sleep": int(machine.ada("cat ~/sleep"))},
        "folders": {"base": BASE, "closed": f"{BASE}/closed", "state": STATE, "checkpoints": f"{STATE}/checkpoints",
                    "copies": f"{BASE}/copies", "runtime": "/run/chaperon/ada", "group": above},
        "files": {"key": "/etc/chaperon/key", "journal": f"{STATE}/journal/00000000000000000001.jsonl",
                  "signing key": f"{STATE}/signing.json", "token": f"{STATE}/gateway/token", "mine": "/home/ada/own/file",
                  "shim": f"{STATE}/agents/a1/shim.sock", "kill": f"{above}/cgroup.kill", "procs": f"{above}/cgroup.procs"},
        "socket": "/run/chaperon/ada/chaperon.sock",
    }  # fmt: skip
    machine.ada(f"cat > ~/own/tricks.py <<'END'\n{ATTACKER.read_text()}\nEND")
    machine.ada(f"cat > ~/own/about.json <<'END'\n{json.dumps(about)}\nEND")


ENTERED = {"enters base", "enters copies", "enters runtime"}
"""Folders through which the person's processes reach what is theirs; their names are not to be listed."""

OF_ONES_OWN = {
    *(f"{way} sleep" for way in ("signals", "lets go on", "limits", "traces", "takes a descriptor of", "has killed for memory")),
    *(f"opens {file} of sleep" for file in OF_A_PROCESS), "reads mine", "writes mine", "links mine", "moves mine",
}  # fmt: skip
"""What the same program reaches of the person's own: it is able to."""


def is_attacked_in_vain(machine: Booted) -> None:
    machine.ada("cd ~/repo; chaperon run --detach --name attacks Attack")
    machine.wait("test -s ~/repo/first")
    put_attacker(machine)
    found = processes(machine)
    assert found.keys() == {"daemon", "shim", "gateway", "reader"}
    none = "0000000000000000"
    for pid in found.values():
        assert numbers(machine, pid) == [
            f"{OWN_USER}\t{USER}\t{OWN_USER}\t{USER}", f"{OWN_USER}\t{USER}\t{OWN_USER}\t{OWN_USER}", none, none, none,
        ]  # fmt: skip
    cli = int(machine.run("pgrep", "-x", "claude").stdout)
    assert numbers(machine, cli)[:2] == ["\t".join([str(USER)] * 4)] * 2
    machine.ada("touch ~/repo/attack")
    machine.wait("test -s ~/repo/reached.json")
    assert {*json.loads(machine.ada("cat ~/repo/reached.json"))} == ENTERED | OF_ONES_OWN
    assert "socket_refused" in machine.ada("chaperon incidents")


def is_taken_over(machine: Booted) -> None:
    """The daemon is killed while the agent waits; the next one has the agent, and hears what a person says."""
    before = processes(machine)
    root(machine, f"kill -9 {before['daemon']}")
    machine.wait("chaperon ps --all | grep -q '1 run on; nothing is missing'")
    now = processes(machine)
    assert now["daemon"] != before["daemon"]
    assert (now["shim"], now["gateway"]) == (before["shim"], before["gateway"])
    machine.ada("chaperon say attacks 'Go on.'; touch ~/repo/go")
    machine.wait("chaperon ps --all --json | grep -q '\"done\"'")
    assert machine.ada("cat ~/repo/second") == "2\n"


def goes_back(machine: Booted) -> None:
    machine.ada("cd ~/repo; rm kept; chaperon rollback --yes --files-only --agent attacks attacks-start-1")
    assert machine.ada("cd ~/repo; cat kept; test ! -e second; stat -c %U kept") == "base\nada\n"


def is_merged(machine: Booted) -> None:
    """An agent works in a worktree of its own; its work is checked as the person, and merged."""
    machine.ada("cd ~/repo; rm -f first attack go; rm -rf __pycache__; chaperon run --name works Work --workspace new")
    assert "merged" in machine.ada("cd ~/repo; chaperon merge --yes works; git log --format=%s -3; ls")
    assert machine.ada("cd ~/repo; stat -c %U merged; cat merged; git status --short") == "ada\nwork\n"


def is_stopped(machine: Booted) -> None:
    machine.ada("cd ~/repo; chaperon run --detach --name hangs Hang")
    machine.wait("test -s ~/repo/hangs")
    machine.ada("chaperon stop --force hangs")
    machine.wait("chaperon ps --all --json | grep -q '\"stopped\"'")
    assert machine.run("pgrep", "-x", "claude").stdout == ""


def works(machine: Booted, url: str, sandbox: str) -> None:
    configure(machine, url, sandbox)
    parts = (
        (is_attacked_in_vain, is_taken_over, goes_back, is_merged, is_stopped) if sandbox == "none" else (is_merged,)
    )
    try:
        for part in parts:
            part(machine)
        assert "as user chaperon-ada, apart from its agents" in machine.ada("chaperon doctor || true")
        assert KEY not in root(machine, f"rm -rf /home/ada/own; grep -r {KEY} /home /var /run /tmp || true")
    except AssertionError:
        print(
            root(machine, "cat /run/said"),
            machine.ada("chaperon ps --all; chaperon incidents; chaperon tail | tail -40"),
        )
        raise


ATTACK = (
    "echo 1 > first; while [ ! -e attack ]; do sleep 0.1; done; "
    "python3 -c 'import sys; sys.path.insert(0, \"/home/ada/own\"); import tricks; tricks.main()'; "
    "while [ ! -e go ]; do sleep 0.1; done; echo 2 > second"
)


def scripts() -> list[ModelScript]:
    steps = {
        "Attack": ATTACK,
        "Work": "echo work > merged; git add merged; git commit -q -m merged",
        "Hang": "echo 1 > hangs; sleep 600",
    }
    return [ModelScript((ScriptStep((bash(words),)),), when=prompt) for prompt, words in steps.items()]


@pytest.mark.parametrize("sandbox", ["none", "bubblewrap", "landlock"])
async def test_a_program_of_the_person_reaches_nothing_of_a_daemon_apart_which_does_all_that_it_should(
    machine: Booted, sandbox: str
) -> None:
    async with ScriptedModel(scripts()) as model:
        await anyio.to_thread.run_sync(partial(works, machine, model.url, sandbox))
