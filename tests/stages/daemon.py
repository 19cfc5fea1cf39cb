"""A whole daemon on a real socket, with stand-ins for the CLI: what tests of the runtime and the command line use."""

import functools
import itertools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import orjson
import yaml

from supervisor.config.load import ConfigSource
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.core.fold.summary import Summary
from supervisor.protocol.records import JournalRecord
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.submission import Submission
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.reader import read_records
from supervisor.runtime.metrics.exposition import exposition
from supervisor.runtime.metrics.gathering import gather
from supervisor.runtime.service import Setup, run_daemon
from tests.stages.cli_program import HEAD, HEAD_OF_PYTHON, write_cli
from tests.stages.described import describe_once
from tests.stages.read_forked import read_forked
from tests.stages.written import until_written
from tests.support import on_any_machine, paid

describe_once()
read_forked()

STAND_IN = Path(__file__).with_name("stand_in.py")

PASSES = 10
"""Times that a stage looks for agents to put down at its end; a test has a few tasks."""

PATIENCE_SECONDS = 60.0
"""The longest that a test waits for anything; what is waited for takes tenths of a second."""

GREETING = """\
import json, os, signal, sys, time
def say(frame):
    print(json.dumps(frame), flush=True)
def hear():
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    return json.loads(line)
def greet():
    first = hear()
    say({"type": "control_response", "response": {"subtype": "success", "request_id": first["request_id"], "response": {}}})
    return hear()["message"]["content"]
def take(prompt):
    hook = {"subtype": "hook_callback", "callback_id": "p", "input": {"hook_event_name": "UserPromptSubmit", "prompt": prompt}}
    say({"type": "control_request", "request_id": "prompt", "request": hook})
def begin():
    take(greet())
    say({"type": "system", "subtype": "init", "session_id": "stand-in", "cwd": os.getcwd(), "tools": []})
def done(**more):
    say({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "num_turns": 1, **more})
"""
"""What programs for `Base.cli` begin with."""


@functools.cache
def _new_repository() -> dict[str, bytes | None]:
    """What `git init` makes, without its sample hooks; a folder has no content. Git takes 13 ms for it, a copy 2 ms."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        paths = [path for path in sorted(Path(folder).rglob("*")) if path.suffix != ".sample"]
        return {str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes() for path in paths}


@dataclass
class Base:
    """A directory with a repository, a HOME, a state directory, and a stand-in for the CLI."""

    root: Path
    config: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    journal: Journal | None = None
    """The journal of the daemon that is served from here."""
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.repo, self.home, self.command = self.root / "repo", self.root / "own-home", self.root / "claude"
        for directory in (self.repo, self.home):
            directory.mkdir(parents=True, exist_ok=True)
        made = _new_repository() if not (self.repo / ".git").exists() else {}
        for name, content in made.items():
            if content is None:
                (self.repo / name).mkdir(exist_ok=True)
            else:
                (self.repo / name).write_bytes(content)
        self.places = StatePaths(state=self.root / "state", runtime=self.root / "run")
        self.plan("ls")

    def plan(self, *commands: str) -> None:
        """Have the CLI ask for these commands, and end."""
        write_cli(self.command, STAND_IN.read_text())
        (self.repo / "plan.json").write_text(json.dumps(commands))

    def cli(self, program: str, *, greeting: str = GREETING) -> None:
        """Make the CLI this Python program, which without a greeting is asked for its version too."""
        # Replaced and not written over: the version that a file gave is remembered by its time and size.
        path = self.root / f"claude-{next(self._numbers)}"
        write_cli(path, f"{greeting}{program}\n", HEAD if greeting else HEAD_OF_PYTHON)
        path.rename(self.command)

    def setup(self, **changes: Any) -> Setup:
        """What the daemon is started with."""
        agent = {"command": str(self.command), **paid(self.config.get("agent", {}))}
        config = Config.model_validate({**on_any_machine(self.config), "agent": agent})
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), **self.environ}
        return replace(Setup(config, self.places, environ), **changes)

    def submission(self, **about: Any) -> Submission:
        return Submission(**{"prompt": "go", "repository": str(self.repo), "name": "a1", **about})

    def records(self) -> list[JournalRecord]:
        """The journal, as it is on the disk; with all that the daemon which is served has taken until now."""
        if self.journal is not None:
            until_written(self.journal)
        return list(read_records(self.places.journal))

    def kinds(self) -> list[str]:
        return [record.event.kind for record in self.records()]

    def events(self, kind: type[Any]) -> list[Any]:
        return [record.event for record in self.records() if isinstance(record.event, kind)]

    def incidents(self) -> list[dict[str, Any]]:
        """The incident log, as it is on the disk."""
        log = self.places.incident_log
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def ran(self) -> list[str]:
        """What the stand-in ran."""
        log = self.repo / "ran.log"
        return log.read_text().splitlines() if log.exists() else []


@dataclass
class ConfigFile:
    """A configuration file that a daemon reads again if it changes."""

    base: Base
    path: Path

    def write(self, **config: Any) -> None:
        """Replace it, as an editor does."""
        agent = {"command": str(self.base.command), **paid(config.pop("agent", {}))}
        beside = self.path.with_suffix(".new")
        beside.write_text(yaml.safe_dump({**on_any_machine(config), "agent": agent}))
        beside.rename(self.path)

    async def read(self) -> dict[str, Any]:
        """What a daemon is started with to have it."""
        source = ConfigSource({"HOME": str(self.base.home)}, self.path, system=self.path.with_name("none.yaml"))
        loaded = await anyio.to_thread.run_sync(source.load)
        return {"config": loaded.config, "source": source}


async def until(claim: Callable[[], bool]) -> None:
    """Look until the claim is true; fail when it does not become so.

    Looks take a tenth of the time at most: one at all processes, or at a whole journal, is work for a busy machine.
    """
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            began = time.thread_time()
            if claim():
                return
            await anyio.sleep(max(0.01, 9 * (time.thread_time() - began)))


async def ended(daemon: Daemon, agent: str = "a1") -> Summary:
    """Wait until an agent has ended and its runner with it."""
    await until(lambda: daemon.board.summary(agent).state.ended)
    await until(lambda: agent not in daemon.runners._of)
    return daemon.board.summary(agent)


async def reached(daemon: Daemon, state: AgentState, agent: str = "a1") -> None:
    await until(lambda: daemon.board.summary(agent).state is state)


def client_on(socket: Path, timeout: float | None = 20) -> httpx.AsyncClient:
    """A client on a socket, without the certificates of the world, whose reading takes a tenth of a second each time."""
    transport = httpx.AsyncHTTPTransport(uds=str(socket), verify=False)
    return httpx.AsyncClient(transport=transport, base_url="http://chaperon", timeout=timeout)


@asynccontextmanager
async def served(base: Base, **changes: Any) -> AsyncIterator[tuple[Daemon, httpx.AsyncClient]]:
    """A daemon, and a client on its socket; agents that live at the end of the block are put down."""
    async with run_daemon(base.setup(**changes)) as daemon, client_on(base.places.socket) as client:
        base.journal = daemon.journal
        try:
            yield daemon, client
        finally:
            for _ in range(PASSES):  # one that goes may have its work given to another
                for session in (live := list(daemon.board.live())):
                    await daemon.put_down(session.summary.agent, "the test is over")
                if not live:
                    break


async def lines(client: httpx.AsyncClient, path: str, **query: Any) -> list[Mapping[str, Any]]:
    """All lines of a stream that ends."""
    response = await client.get(path, params=query)
    assert response.status_code == 200, response.text
    return [orjson.loads(line) for line in response.content.splitlines()]


async def metrics_of(daemon: Daemon) -> str:
    """The metrics' text, as the reading process would write it."""
    counted, stores = await gather(daemon), daemon.checkpoint_manager.stores.folder
    return await anyio.to_thread.run_sync(exposition, counted, daemon.journal.directory, stores)
