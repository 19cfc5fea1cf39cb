"""The units under a systemd that runs: started, restarted in the middle of an agent's work, and closed as they say."""

import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio.to_thread
import orjson
import pytest

from supervisor.rehearsal.model import ScriptedModel
from tests.stages.booted import Booted, booted
from tests.stages.live import bash, script
from tests.support import cli_environment, real_claude_path
from tests.systemd.test_units import FOLDER, unit_text

pytestmark = pytest.mark.slow

SAME_DAEMON = ("ExecStart", "Type", "NotifyAccess", "WatchdogSec", "Restart", "RestartSec", "RestartPreventExitStatus")
"""Keys of the daemon's unit about the daemon, and not about what it and its agents may."""

PROBE = """
import os, socket, subprocess
for family in (socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK, socket.AF_ALG):
    try:
        socket.socket(family, socket.SOCK_STREAM if family == socket.AF_INET6 else socket.SOCK_RAW).close()
        print(family.name, "opens")
    except OSError as error:
        print(family.name, error.strerror)
for words in (["unshare", "-Urpf", "--mount-proc", "true"], ["touch", "/usr/planted"], ["touch", "/tmp/shared"]):
    print(words[0], words[-1], subprocess.run(words, stderr=subprocess.DEVNULL).returncode)
print("privileges", open("/proc/self/status").read().split("NoNewPrivs:")[1].split()[0])
"""


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booted]:
    units = {path.name: path.read_text() for path in FOLDER.iterdir() if path.suffix in (".service", ".socket")}
    own = re.compile(rf"^(?:{'|'.join(SAME_DAEMON)}|StateDirectory.*|RuntimeDirectory.*)=.*\n", re.MULTILINE)
    probe = own.sub("", unit_text("chaperon@.service")).replace(
        "User=%i",
        "User=ada\nType=oneshot\nStandardOutput=file:/run/said\nExecStart=/usr/bin/python3 /home/ada/probe.py",
    )
    with booted(tmp_path_factory.mktemp("booted"), {**units, "probe.service": probe}) as made:
        assert made.run("mkdir", "-m", "755", "/run/chaperon").returncode == 0
        yield made


def configure(machine: Booted, url: str) -> None:
    environment = cli_environment(Path("/home/ada"), url)
    agent = {"command": str(real_claude_path()), "sandbox": "none", "environment": environment}
    text = orjson.dumps({"agent": agent}).decode()
    machine.ada(
        f"umask 077; mkdir -p ~/.config/chaperon; cat > ~/.config/chaperon/chaperon.yaml <<'END'\n{text}\nEND\n"
        f"mkdir -p ~/.local/bin ~/repo; ln -s {Path(sys.executable).parent}/chaperon ~/.local/bin/; cd ~/repo; git init -q; "
        "git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first"
    )


def works_over_a_restart(machine: Booted, url: str) -> None:
    configure(machine, url)
    for name in ("chaperon-gateway@ada", "chaperon@ada", "chaperon-panel@ada"):
        started = machine.run("systemctl", "start", name)
        assert started.returncode == 0, (name, started.stderr, machine.run("systemctl", "status", name).stdout)
    machine.ada("cd ~/repo; chaperon run --detach 'Write two files.'")
    machine.wait("test -s ~/repo/first")
    before = machine.run("pgrep", "-x", "claude").stdout.split()
    old = machine.unit("chaperon@ada", "MainPID")
    assert machine.run("systemctl", "restart", "chaperon@ada").returncode == 0
    assert (len(before), machine.run("pgrep", "-x", "claude").stdout.split()) == (1, before)
    assert machine.unit("chaperon@ada", "MainPID") != old
    machine.ada("touch ~/repo/go")
    machine.wait("chaperon ps --all --json | grep -q '\"done\"'")
    assert machine.ada("cat ~/repo/second ~/repo/third") == "2\n3\n"
    assert "1 run on; nothing is missing" in machine.ada("chaperon ps --all")
    machine.wait("test -s /run/chaperon-panel/ada/link")
    assert machine.ada("stat -c %a /run/chaperon-panel/ada/link") == "600\n"
    states = [machine.unit(f"chaperon{part}@ada", "ActiveState") for part in ("", "-gateway", "-panel")]
    assert states == [["active"]] * 3


@pytest.mark.real_cli
async def test_units_run_under_systemd_and_an_agent_works_on_over_a_restart(machine: Booted) -> None:
    waits = bash("echo 1 > first; while [ ! -e go ]; do sleep 0.1; done; echo 2 > second")
    async with ScriptedModel([script(waits, bash("echo 3 > third"))]) as model:
        await anyio.to_thread.run_sync(partial(works_over_a_restart, machine, model.url))


async def test_what_runs_beneath_the_daemons_unit_has_what_agents_need_and_no_more(machine: Booted) -> None:
    machine.ada(f"cat > ~/probe.py <<'END'\n{PROBE}\nEND")
    assert machine.run("systemctl", "start", "probe").returncode == 0
    assert machine.run("cat", "/run/said").stdout.splitlines() == [
        "AF_INET6 opens",
        "AF_NETLINK opens",
        "AF_PACKET Address family not supported by protocol",
        "AF_VSOCK Address family not supported by protocol",
        "AF_ALG Address family not supported by protocol",
        "unshare true 0",
        "touch /usr/planted 1",
        "touch /tmp/shared 0",
        "privileges 1",
    ]
    assert machine.run("test", "-e", "/tmp/shared").returncode == 0
