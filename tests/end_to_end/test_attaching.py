"""A real CLI that a person starts in an attached repository, with a daemon and without one."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from supervisor.protocol.words import AgentState
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import tool_results
from supervisor.rehearsal.script import Say, ScriptStep, ToolUse
from supervisor.runtime.service import run_daemon
from tests.stages.live import Live, bash, make_repository, script, setup
from tests.support import cli_environment, kill_tree, real_claude_path

pytestmark = pytest.mark.real_cli

SECONDS = 60.0


@dataclass
class Attached:
    """A repository with hooks in it, and a CLI of a person's that is started there."""

    base: Path
    model: ScriptedModel

    @property
    def repo(self) -> Path:
        return self.base / "repo"

    @property
    def environ(self) -> dict[str, str]:
        places = {"RUNTIME_DIRECTORY": str(self.base / "run"), "STATE_DIRECTORY": str(self.base / "state")}
        return {**cli_environment(self.base / "home", self.model.url), **places}

    def chaperon(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the repository, as the person does."""
        command = [sys.executable, "-m", "supervisor.cli", *arguments]
        environ = {**self.environ, "PYTHONPATH": str(Path.cwd())}
        return subprocess.run(
            command, cwd=self.repo, env=environ, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    async def run_claude(self, *arguments: str) -> str:
        """Run the person's `claude -p` to its end; returns what it prints."""
        command = [str(real_claude_path()), "-p", "Go.", "--permission-mode", "bypassPermissions", *arguments]
        environ = {name: value for name, value in self.environ.items() if not name.endswith("_DIRECTORY")}
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process(command, cwd=self.repo, env=environ, check=False)
        return done.stdout.decode()

    def told(self) -> list[str]:
        """What the model was told of its calls."""
        return [result.text for result in tool_results(self.model.requests[-1]).values()]


@asynccontextmanager
async def attached(
    base: Path, *steps: Say | ToolUse | ScriptStep, arguments: Sequence[str] = ("--local",)
) -> AsyncIterator[Attached]:
    make_repository(base / "repo", {"README.md": "Here.\n"})
    (base / "home").mkdir(exist_ok=True)
    trusted = {"projects": {str(base / "repo"): {"hasTrustDialogAccepted": True}}}
    (base / "home/.claude.json").write_text(json.dumps(trusted))
    async with ScriptedModel([script(*steps)]) as model:
        stage = Attached(base, model)
        done = await anyio.to_thread.run_sync(lambda: stage.chaperon("attach", *arguments))
        assert done.returncode == 0, done.stderr
        try:
            yield stage
        finally:
            kill_tree(0, base)


async def test_a_persons_claude_in_an_attached_repository_is_denied_what_the_policy_denies(tmp_path: Path) -> None:
    outside = tmp_path / "home/notes"
    steps = bash("echo one > one.txt"), bash(f"rm -rf {outside}"), Say("done")
    async with attached(tmp_path, *steps) as stage:
        outside.mkdir(parents=True)
        async with run_daemon(setup(tmp_path, stage.model.url)) as daemon:
            live = Live(daemon, stage.model, tmp_path)
            said = await stage.run_claude()
            await live.state(AgentState.DONE)
            listed = await anyio.to_thread.run_sync(lambda: stage.chaperon("ps", "--json"))
    assert "done" in said
    assert (stage.repo / "one.txt").exists()
    assert outside.exists()
    [agent] = json.loads(listed.stdout)
    assert agent["origin"] == "sdk"
    assert agent["state"] == "done"
    assert agent["task"] == "Go."
    assert agent["reviews"] == {"allow": 1, "block": 1}
    assert any("outside" in text for text in stage.told())


async def test_nothing_runs_while_no_daemon_is_there(tmp_path: Path) -> None:
    steps = bash("echo one > one.txt"), Say("done")
    async with attached(tmp_path, *steps, arguments=("--project", "--wait", "1")) as stage:
        await stage.run_claude()
    assert not (stage.repo / "one.txt").exists()
    assert any("daemon of chaperon was away" in text for text in stage.told())
