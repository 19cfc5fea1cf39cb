"""Agents of the real CLI that run a hostile program, and the outside that it tries to reach."""

import json
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say, ScriptStep, ToolUse
from supervisor.runtime.sandbox.entry import abi
from supervisor.runtime.sandbox.machine import try_bubblewrap
from tests.sources import ROOT
from tests.stages.live import Live, live, make_repository

KEY = "rehearsal"
"""The key of the model, in the daemon's environment."""

PYTHON = "/usr/bin/python3"
"""An interpreter that is in every sandbox."""

HOSTILE = Path(__file__).with_name("hostile.py")


def needs(kind: str) -> pytest.MarkDecorator:
    """Skip where this machine does not give a sandbox, saying why."""
    if kind == "bubblewrap":
        found = try_bubblewrap(os.environ)
        return pytest.mark.skipif(not found.works, reason=f"bubblewrap: {found.says}")
    return pytest.mark.skipif(abi() < 6, reason=f"Landlock {abi()} has no scopes")


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
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def files(self) -> dict[str, str]:
        """The hostile program, and the script that runs it; the reviewer does not read what a script imports."""
        work = f"import json, tricks\nopen('reached.json', 'w').write(json.dumps(tricks.reached(json.loads({json.dumps(self.about)!r}))))\n"
        return {"tricks.py": HOSTILE.read_text(), "work.py": work, ".envrc": "true\n"}

    def reached(self) -> set[str]:
        """The names of what the program reached."""
        found = json.loads((self.base / "repo/reached.json").read_text())
        assert len(found) > 15, "the program tried all of it"
        return {name for name, said in found.items() if said.startswith("REACHED")}


@asynccontextmanager
async def walled(
    base: Path, policy: Mapping[str, Any], *steps: ToolUse | Say | ScriptStep
) -> AsyncIterator[tuple[Live, Outside]]:
    """A daemon whose agent takes these steps, over a repository with the hostile program."""
    with Outside(base) as outside:
        make_repository(base / "repo", outside.files())
        async with live(base, steps, policy) as stage:
            yield stage, outside


async def over(stage: Live) -> AgentState:
    """The state in which the agent ended."""
    return (await stage.event(events.StateChanged, lambda event: event.after.ended)).after
