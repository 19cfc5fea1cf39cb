"""Agents of the real CLI that run a hostile program, and the outside that it tries to reach."""

import ctypes
import functools
import json
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say, ScriptStep, ToolUse
from supervisor.runtime.sandbox.entry import abi
from supervisor.runtime.sandbox.machine import Facility, try_bubblewrap
from tests.sources import ROOT
from tests.stages import hostile
from tests.stages.live import Live, live, make_repository

KEY = "rehearsal"
"""The key of the model, in the daemon's environment."""

PYTHON = "/usr/bin/python3"
"""An interpreter that is in every sandbox."""

HOSTILE = Path(hostile.__file__)

RUN_FOR_OTHERS = (
    ".profile", ".bashrc", ".zshenv", ".config/environment.d/x.conf", ".config/autostart/x.desktop", ".pam_environment",
    ".config/systemd/user/x.service", ".local/lib/python3.11/site-packages/usercustomize.py", ".local/bin/git", ".npmrc",
    ".config/git/config", ".gitconfig", ".ssh/authorized_keys", ".ssh/rc",
)  # fmt: skip
"""Files of a home directory by which something runs later, as by LD_PRELOAD, PYTHONSTARTUP or a hook of git."""


def needs(kind: str) -> pytest.MarkDecorator:
    """Skip where this machine does not give a sandbox, saying why."""
    if kind == "bubblewrap":
        found = _bubblewrap()
        return pytest.mark.skipif(not found.works, reason=f"bubblewrap: {found.says}")
    return pytest.mark.skipif(abi() < 6, reason=f"Landlock {abi()} has no scopes")


@functools.cache
def _bubblewrap() -> Facility:
    """What became of a trial, of which one is enough for all who ask as tests are collected."""
    return try_bubblewrap(os.environ)


@contextmanager
def base_outside_of_tmp() -> Iterator[Path]:
    """A folder that no agent may write, as it may those of temporary files, in which the tests themselves may lie."""
    places = [place for place in (ROOT, Path.home()) if not place.is_relative_to("/tmp")]
    if not places:
        pytest.skip("the tests and the home directory are both below /tmp")
    base = Path(tempfile.mkdtemp(prefix=".walled-", dir=places[0]))
    try:
        yield base
    finally:
        shutil.rmtree(base)


@dataclass
class Outside:
    """What an agent must not reach."""

    base: Path
    about: dict[str, Any] = field(default_factory=dict)

    def __enter__(self) -> "Outside":
        self._stack = ExitStack()
        server = self._stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        name = f"walled-{os.getpid()}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        sockets = [self._listening(path) for path in self._places_of_sockets()]
        self._terminal, terminal = os.openpty()
        self._stack.callback(os.close, terminal)
        self._stack.callback(os.close, self._terminal)
        home = self.base / "home"
        home.mkdir(parents=True, exist_ok=True)
        (home / "notes").write_text("private")
        self.about = {
            "key": KEY,
            "home": str(home),
            "notes_inode": (home / "notes").stat().st_ino,
            "state": str(self.base / "state"),
            "socket": str(self.base / "run/chaperon.sock"),
            "outside": os.getpid(),
            "outside_name": Path("/proc/self/comm").read_text().strip(),
            "workspace": str(self.base / "repo"),
            "port": server.getsockname()[1],
            "abstract": name,
            "sockets": sockets,
            "shared": self._shared_memory(),
            "terminal": os.ttyname(terminal),
            "mark": f"planted by {name}",
            "run_later": [
                *(str(home / path) for path in RUN_FOR_OTHERS),
                f"/var/spool/cron/crontabs/{name}",
                f"/etc/cron.d/{name}",
                f"/etc/profile.d/{name}.sh",
            ],
        }
        return self

    def _shared_memory(self) -> int:
        """Make memory that programs of the user share by System V; return its key."""
        libc = ctypes.CDLL(None, use_errno=True)
        key = os.getpid()
        made = libc.shmget(key, 4096, 0o1600)  # IPC_CREAT, and its user alone
        assert made >= 0, os.strerror(ctypes.get_errno())
        self._stack.callback(libc.shmctl, made, 0, None)  # IPC_RMID
        return key

    def _places_of_sockets(self) -> Iterator[Path]:
        """Yield where sockets of a person lie: below /run, in /tmp, and in the home directory."""
        yield self.base / "home/.docker/run/docker.sock"
        for folder in ("/run", f"/run/user/{os.getuid()}"):
            if os.access(folder, os.W_OK):
                made = Path(tempfile.mkdtemp(prefix="walled-", dir=folder))
                self._stack.callback(shutil.rmtree, made)
                yield from (made / name for name in ("docker.sock", "bus", "wayland-0"))
        made = Path(tempfile.mkdtemp(prefix=".X11-unix-", dir="/tmp"))
        self._stack.callback(shutil.rmtree, made)
        yield made / "X7"

    def _listening(self, path: Path) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        listening = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(path))
        listening.listen()
        return str(path)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def files(self) -> dict[str, str]:
        """The hostile program, and the script that runs it; the reviewer does not read what a script imports."""
        work = f"import json, tricks\nopen('reached.json', 'w').write(json.dumps(tricks.reached(json.loads({json.dumps(self.about)!r}))))\n"
        return {"tricks.py": HOSTILE.read_text(), "work.py": work, ".envrc": "true\n"}

    def reached(self) -> set[str]:
        """The names of what the program reached."""
        found = json.loads((self.base / "repo/reached.json").read_text())
        assert found.keys() == hostile.ATTEMPTS.keys() - {*self.about["leave"]}, "the program tried all of it"
        names = {name for name, said in found.items() if said.startswith("REACHED")}
        return names | ({"run_for_others_later"} if self._landed() else set())

    def _landed(self) -> list[str]:
        """Files for later that are there, as seen from outside; they are taken away."""
        found = []
        for path in map(Path, self.about["run_later"]):
            if path.is_file() and path.read_text() == self.about["mark"]:
                path.unlink()
                found.append(str(path))
        return found

    def forged(self) -> list[str]:
        """Files of chaperon's state that have the program's mark."""
        mark = self.about["mark"].encode()
        files = [path for path in (self.base / "state").rglob("*.jsonl") if path.is_file()]
        return [str(path) for path in files if b'"forged"' in path.read_bytes() and mark in path.read_bytes()]


@asynccontextmanager
async def walled(
    base: Path, policy: Mapping[str, Any], *steps: ToolUse | Say | ScriptStep, leave: Sequence[str] = ()
) -> AsyncIterator[tuple[Live, Outside]]:
    """A daemon whose agent takes these steps, over a repository with the hostile program, but for what it leaves."""
    with Outside(base) as outside:
        outside.about["leave"] = list(leave)
        make_repository(base / "repo", outside.files())
        async with live(base, steps, policy) as stage:
            yield stage, outside


async def over(stage: Live) -> AgentState:
    """The state in which the agent ended."""
    return (await stage.event(events.StateChanged, lambda event: event.after.ended)).after
