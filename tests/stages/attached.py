"""A repository with hooks in it, and the CLI that a person starts there."""

import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import tool_results
from supervisor.rehearsal.script import Say, ScriptStep, ToolUse
from supervisor.runtime.service import run_daemon
from tests.stages import forked
from tests.stages.live import Live, make_repository, script, setup
from tests.support import cli_environment, kill_tree, real_claude_path

SECONDS = 60.0


@dataclass
class Attached:
    """A repository with hooks in it, and a CLI of a person's that is started there."""

    base: Path
    model: ScriptedModel
    policy: Mapping[str, Any] = field(default_factory=dict)
    serving: anyio.Event = field(default_factory=anyio.Event)
    live: Live = field(init=False)

    @property
    def repo(self) -> Path:
        return self.base / "repo"

    @property
    def environ(self) -> dict[str, str]:
        places = {"RUNTIME_DIRECTORY": str(self.base / "run"), "STATE_DIRECTORY": str(self.base / "state")}
        return {**cli_environment(self.base / "home", self.model.url), **places}

    def chaperon(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the repository, as the person does."""
        return forked.run("supervisor.cli", *arguments, seconds=SECONDS, environ=self.environ, cwd=self.repo)

    async def serve(self) -> None:
        """Be the daemon until told to end, and again after a restart."""
        while True:
            self._restart = anyio.Event()
            async with run_daemon(setup(self.base, self.model.url, self.policy)) as daemon:
                self.live = Live(daemon, self.model, self.base)
                self.serving.set()
                await self._restart.wait()

    async def restart(self) -> None:
        """End the daemon, and have another one in its place."""
        self.serving = anyio.Event()
        self._restart.set()
        await self.serving.wait()

    def claude(self, *arguments: str) -> list[str]:
        """The person's command."""
        return [str(real_claude_path()), "-p", "Go.", "--permission-mode", "bypassPermissions", *arguments]

    @property
    def own_environ(self) -> dict[str, str]:
        """The person's environment, which knows nothing of the daemon's places."""
        return {name: value for name, value in self.environ.items() if not name.endswith("_DIRECTORY")}

    async def run_claude(self, *arguments: str) -> str:
        """Run the person's `claude -p` to its end; returns what it prints."""
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process(self.claude(*arguments), cwd=self.repo, env=self.own_environ, check=False)
        return done.stdout.decode()

    def told(self) -> list[str]:
        """What the model was told of its calls."""
        return [result.text for result in tool_results(self.model.requests[-1]).values()]


TRUSTED = {"hasTrustDialogAccepted": True}

KNOWN = {
    "hasCompletedOnboarding": True,
    "bypassPermissionsModeAccepted": True,
    "customApiKeyResponses": {"approved": ["rehearsal"], "rejected": []},
}
"""What the CLI keeps of the answers of a person who has used it before; in a terminal it would ask."""


@asynccontextmanager
async def attached(
    base: Path,
    *steps: Say | ToolUse | ScriptStep,
    arguments: Sequence[str] = ("--local",),
    policy: Mapping[str, Any] | None = None,
) -> AsyncIterator[Attached]:
    make_repository(base / "repo", {"README.md": "Here.\n"})
    (base / "home").mkdir(exist_ok=True)
    (base / "home/.claude.json").write_text(json.dumps({**KNOWN, "projects": {str(base / "repo"): TRUSTED}}))
    async with ScriptedModel([script(*steps)]) as model:
        stage = Attached(base, model, policy or {})
        done = await anyio.to_thread.run_sync(lambda: stage.chaperon("attach", *arguments))
        assert done.returncode == 0, done.stderr
        try:
            yield stage
        finally:
            kill_tree(0, base)


@asynccontextmanager
async def at_work(
    base: Path, *steps: Say | ToolUse | ScriptStep
) -> AsyncIterator[tuple[Attached, Live, anyio.abc.Process]]:
    """A daemon and a person's CLI that works."""
    async with attached(base, *steps) as stage, anyio.create_task_group() as tasks:
        tasks.start_soon(stage.serve)
        await stage.serving.wait()
        async with await anyio.open_process(stage.claude(), cwd=stage.repo, env=stage.own_environ) as claude:
            yield stage, stage.live, claude
            with contextlib.suppress(ProcessLookupError):
                claude.kill()
        tasks.cancel_scope.cancel()
