"""Programs of the same user can neither trace chaperon's processes nor read their memory: seen as an ordinary user."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.stages.daemon import Base, until
from tests.support import AS_OTHERS, can_be_read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(AS_OTHERS) and not shutil.which("setpriv"), reason="needs setpriv to be less than root"),
]

NAMES = {"daemon", "reader", "shim", "gateway", "cli"}


@pytest.fixture
def base(tmp_path: Path) -> Base:
    """A base whose agents' credential is held by the gateway."""
    made = Base(tmp_path / "base")
    made.cli("begin()\nwhile True:\n    hear()")
    key = made.root / "key"
    key.write_text("sk-ant-planted")
    key.chmod(0o600)
    config = {"agent": {"command": str(made.command), "credential": f"file:{key}"}}
    (made.root / "chaperon.yaml").write_text(json.dumps(config))
    return made


def processes(base: Base, daemon: int) -> dict[str, int]:
    """The processes of a base, by what they are."""
    found = {"daemon": daemon}
    for process in psutil.process_iter():
        try:
            words, above = " ".join(process.cmdline()), process.ppid()
        except psutil.Error:
            continue
        if above == daemon and "reading.process" in words:
            found["reader"] = process.pid
        elif words.endswith(str(base.places.gateway)):
            found["gateway"] = process.pid
        elif "shim/program.py" in words and str(base.root) in words:
            found["shim"] = process.pid
        elif str(base.command) in words and "--permission-prompt-tool" in words:
            found["cli"] = process.pid
    return found


async def test_none_of_chaperons_processes_is_read_and_the_cli_is(base: Base) -> None:
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(base.home), "PYTHONDONTWRITEBYTECODE": "1",
        "RUNTIME_DIRECTORY": str(base.places.runtime), "STATE_DIRECTORY": str(base.places.state),
    }  # fmt: skip
    python = [*AS_OTHERS, sys.executable]
    command = [*python, "-m", "supervisor.cli", "--config", str(base.root / "chaperon.yaml")]

    def run(*words: str) -> str:
        done = subprocess.run(
            [*command, *words], env=environ, cwd=base.repo, capture_output=True, text=True, timeout=50
        )
        return done.stdout + done.stderr

    with subprocess.Popen([*command, "serve"], env=environ, cwd=base.root, stderr=subprocess.DEVNULL) as daemon:
        try:
            await until(base.places.socket.exists)
            said = run("run", "--detach", "--name", "a1", "go")
            run("tail")  # which starts the reader
            with contextlib.suppress(TimeoutError):
                await until(lambda: processes(base, daemon.pid).keys() == NAMES)
            seen = {name: can_be_read(pid) for name, pid in processes(base, daemon.pid).items()}
            assert seen == {**dict.fromkeys(NAMES, False), "cli": True}, said
        finally:
            for pid in processes(base, daemon.pid).values():
                os.kill(pid, signal.SIGKILL)
