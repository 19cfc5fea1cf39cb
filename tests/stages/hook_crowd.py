"""Sessions that send hooks to a daemon in a process of its own, which can be killed and started again."""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from supervisor.protocol import events
from supervisor.runtime.attached import relay_client, relay_settings
from supervisor.runtime.journal.reader import read_records
from tests.stages import forked as forks
from tests.stages.live import make_repository
from tests.support import kill_tree

PROGRAM = Path(__file__).with_name("hook_session.py")
ROOT = Path(__file__).parents[2]

Way = str | int | None
"""A command; None for HTTP to the relay, or the port of another server on loopback."""

SETTINGS = "patterns:\n  enabled_patterns: []\n"
"""No detector: what is sent makes no sense to one."""


@dataclass
class Crowd:
    """A daemon, its relay, and what the sessions found."""

    base: Path
    forked: bool = False
    """Whether daemons begin with their modules read, which takes a start a second less of a processor."""
    taken: dict[str, list[float]] = field(default_factory=dict)
    """By way the seconds of each answer."""
    refused: int = 0
    seconds: float = 0.0
    """How long the sessions of the last run worked."""
    kills: int = 0
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        """The folder of the relay's settings."""
        return self.base / "state/attached"

    @property
    def socket(self) -> Path:
        """The daemon's socket of hooks."""
        return self.base / "run/hooks.sock"

    def start_daemon(self) -> None:
        """Start the daemon; it may not answer yet."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.base),
            "STATE_DIRECTORY": str(self.base / "state"),
            "RUNTIME_DIRECTORY": str(self.base / "run"),
        }
        command = ["supervisor.cli", "--config", str(self.base / "chaperon.yaml"), "serve"]
        log = self.base / "log"
        with log.open("ab") as said:
            if self.forked:
                self.daemon = forks.Program(command, env=environ, cwd=ROOT, stdout=said, stderr=said)
            else:
                whole = [sys.executable, "-m", *command]
                self.daemon = subprocess.Popen(whole, env=environ, cwd=ROOT, stdout=said, stderr=said)

    def kill_daemon(self) -> None:
        """Kill it as a crash would."""
        assert self.daemon is not None
        self.daemon.kill()
        self.daemon.wait()
        self.kills += 1

    def run(self, ways: Sequence[Mapping[str, Way]], calls: int, pause: float, kill_every: float = 0) -> None:
        """Have sessions make their calls, all at once; if asked, kill the daemon again and again meanwhile.

        Args:
            ways: For each session, by name the ways of its hooks.
            calls: How many each makes by each way.
            pause: Seconds before a call, about.
            kill_every: Seconds that each daemon lives, from its first answer on; 0: it is not killed.
        """
        with ExitStack() as stack:
            made = [stack.enter_context(self._session(*one, calls, pause)) for one in enumerate(ways)]
            for process in made:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            for process in made:
                _go(process)
            began = killed = time.perf_counter()
            while kill_every and not all(_has_said(process) for process in made):
                time.sleep(0.05)
                if time.perf_counter() - killed > kill_every:
                    self.kill_daemon()
                    self.start_daemon()
                    wait_for(self.socket)
                    killed = time.perf_counter()
            for process in made:
                assert process.stdout is not None
                said = json.loads(process.stdout.readline())
                self.refused += said["refused"]
                for way, seconds in said["taken"].items():
                    self.taken.setdefault(way, []).extend(seconds)
            self.seconds = time.perf_counter() - began
            for process in made:
                _go(process)

    @contextmanager
    def _session(
        self, number: int, ways: Mapping[str, Way], calls: int, pause: float
    ) -> Iterator[subprocess.Popen[str]]:
        workspace = self.base / f"repository-{number}"
        if not workspace.exists():
            make_repository(workspace, {"README.md": "Here.\n"})
        spec: dict[str, Any] = {"root": str(ROOT), "folder": str(self.folder), "workspace": str(workspace)}
        spec |= {"name": f"session-{number}", "calls": calls, "pause": pause, "ways": dict(ways)}
        command = [sys.executable, "-I", "-S", str(PROGRAM), json.dumps(spec)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=workspace
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def reviewed(self) -> Counter[str]:
        """How often the journal has the review of each call, by the call's id."""
        found = (record.event for record in read_records(self.base / "state/journal"))
        return Counter(event.action.tool_use_id for event in found if isinstance(event, events.ReviewMade))


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _has_said(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], 0)[0])


def wait_for(path: Path) -> None:
    """Return once a daemon answers there; the caller's own time limit ends the wait."""
    while True:
        with socket.socket(socket.AF_UNIX) as trial, suppress(OSError):
            trial.connect(str(path))
            trial.sendall(b"GET / HTTP/1.1\r\nhost: chaperon\r\n\r\n")
            if trial.recv(64).startswith(b"HTTP/1.1 404"):
                return
        time.sleep(0.01)


@contextmanager
def crowd(base: Path, *, forked: bool = False) -> Iterator[Crowd]:
    """A daemon with its relay; both are ended behind it."""
    base.mkdir(exist_ok=True)
    (base / "chaperon.yaml").write_text(SETTINGS)
    stage = Crowd(base, forked)
    relay_settings.write(stage.folder, stage.socket)
    stage.start_daemon()
    try:
        wait_for(stage.socket)
        relay_client.start(stage.folder)
        yield stage
    finally:
        assert stage.daemon is not None
        stage.daemon.kill()
        stage.daemon.wait()
        kill_tree(0, base)
