"""A daemon with the real CLI, a scripted model and a scratch repository, for tests that look at the whole."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from supervisor.config.model import Agent, Config
from supervisor.config.paths import StatePaths
from supervisor.protocol import events
from supervisor.protocol.records import decode
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript, Say, ScriptStep, ToolUse
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.submission import Submission
from supervisor.runtime.service import Setup, run_daemon
from tests.stages import forked
from tests.stages.written import until_written
from tests.support import cli_environment, kill_tree, on_any_machine, paid, real_claude_path

E = TypeVar("E", bound=events.Event)

SECONDS = 60.0
"""The longest that a test waits for one thing; runs take 1 to 5 s on an idle machine."""


def make_repository(path: Path, files: Mapping[str, str]) -> None:
    """A repository with these files committed, but for those that its `.gitignore` names."""
    path.mkdir(parents=True)
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        ["commit", "--quiet", "-m", "base"],
    ):
        subprocess.run(["git", "-C", str(path), *IDENTITY, *command], check=True, env=git_environment(path))
    for name, value in (("user.name", "Agent"), ("user.email", "agent@localhost")):
        subprocess.run(["git", "-C", str(path), "config", name, value], check=True, env=git_environment(path))


def files_of(folder: Path) -> dict[str, str]:
    """Every file of a workspace but those of git."""
    paths = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")


def git_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass
class Live:
    """One daemon at work."""

    daemon: Daemon
    model: ScriptedModel
    base: Path

    @property
    def repo(self) -> Path:
        return self.base / "repo"

    async def submit(self, prompt: str, **more: Any) -> None:
        await self.daemon.submit(Submission(prompt=prompt, repository=str(self.repo), name="a1", **more), by="ann")

    async def say(self, text: str) -> None:
        await self.daemon.request(
            events.SayRequested(**self.daemon.stamp("a1"), id=f"s{self.daemon.journal.last}", text=text, by="ann")
        )

    async def stop(self) -> None:
        if any(self.daemon.board.live()):
            await self.daemon.request(events.StopRequested(**self.daemon.stamp("a1"), by="ann", force=True))
            await self.event(events.StateChanged, lambda event: event.after.ended)

    async def event(self, kind: type[E], fits: Callable[[E], bool] = lambda _: True, *, after: int = 0) -> E:
        """Wait for an event of the journal."""
        with anyio.fail_after(SECONDS):
            async for line in self.daemon.journal.follow(after, live=True):
                event = decode(line.data).event
                if isinstance(event, kind) and fits(event):
                    return event
        raise AssertionError("the journal ended")

    async def state(self, state: AgentState, *, after: int = 0) -> None:
        await self.event(events.StateChanged, lambda event: event.after is state, after=after)

    async def events(self, kind: type[E]) -> list[E]:
        """What the journal has of this kind until now."""
        until_written(self.daemon.journal)
        records = await anyio.to_thread.run_sync(lambda: list(self.daemon.journal.read(0)))
        found = [record.event for record in records]
        return [event for event in found if isinstance(event, kind)]

    def files(self) -> dict[str, str]:
        return files_of(self.repo)

    async def chaperon(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[str]:
        """Run a command of the command line against this daemon; what it reads is a pipe."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.base / "home"),
            "XDG_RUNTIME_DIR": str(self.base / "xdg"),
            "RUNTIME_DIRECTORY": str(self.base / "run"),
        }
        return await anyio.to_thread.run_sync(
            lambda: forked.run("supervisor.cli", *arguments, seconds=SECONDS, environ=environ, given=given)
        )


def script(*steps: Say | ToolUse | ScriptStep) -> ModelScript:
    return ModelScript(tuple(step if isinstance(step, ScriptStep) else ScriptStep((step,)) for step in steps))


def bash(command: str) -> ToolUse:
    return ToolUse("Bash", {"command": command, "description": "work"})


def setup(base: Path, url: str, policy: Mapping[str, Any] | None = None) -> Setup:
    agent = Agent.model_validate({"command": str(real_claude_path()), **paid((policy or {}).get("agent", {}))})
    config = Config.model_validate(on_any_machine(policy)).model_copy(update={"agent": agent})
    return Setup(config, StatePaths(state=base / "state", runtime=base / "run"), cli_environment(base / "home", url))


@asynccontextmanager
async def live(
    base: Path,
    steps: Sequence[Say | ToolUse | ScriptStep],
    policy: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Live]:
    """A daemon over `base/repo`, which must be there, with these variables too; its agents are ended with it."""
    async with ScriptedModel([script(*steps)]) as model:
        made = setup(base, model.url, policy)
        async with run_daemon(replace(made, environ={**made.environ, **(environ or {})})) as daemon:
            stage = Live(daemon, model, base)
            try:
                yield stage
            finally:
                await stage.stop()
                kill_tree(0, base)
