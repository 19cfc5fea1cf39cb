"""The real CLI, a scripted model on loopback, and chaperon between them."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import Request, all_that_the_model_was_told, tool_results
from supervisor.rehearsal.script import ModelScript, Say, ScriptStep, ToolUse
from tests.blocking import _no_blocking_calls  # noqa: F401 - a fixture
from tests.stages import forked
from tests.stages.daemon import Base
from tests.support import cli_environment, processes_in


@dataclass
class Stage:
    """A base for the real CLI, and the scripts that its model plays."""

    base: Base
    cli: Path
    steps: list[ScriptStep] = field(default_factory=list)
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel(ModelScript(())))

    @property
    def repo(self) -> Path:
        return self.base.repo

    def bash(self, command: str, **about: Any) -> None:
        """The model's next step runs a command."""
        self.steps.append(ScriptStep((ToolUse("Bash", {"command": command, "description": "A step"}),), **about))

    def write(self, path: Path | str, content: str = "x\n") -> None:
        """The model's next step writes a file."""
        self.steps.append(ScriptStep((ToolUse("Write", {"file_path": str(path), "content": content}),)))

    def say(self, text: str) -> None:
        self.steps.append(ScriptStep((Say(text),)))

    @asynccontextmanager
    async def playing(self, *scripts: ModelScript) -> AsyncIterator[ScriptedModel]:
        """The model, while it listens; the base's environment leads the CLI to it."""
        async with ScriptedModel(scripts or ModelScript(tuple(self.steps))) as self.model:
            self.base.environ = cli_environment(self.base.home, self.model.url)
            yield self.model

    def results(self) -> dict[str, str]:
        """What the model was told of each call, by the call's id, in its last request."""
        return {id_: result.text for id_, result in tool_results(self.last()).items()}

    def last(self) -> Request:
        return self.model.conversation()[-1]

    def told(self) -> str:
        """All that the model was ever told."""
        return "\n".join(all_that_the_model_was_told(request) for request in self.model.requests)

    def environ(self) -> dict[str, str]:
        """The environment of a `chaperon` that is a process of its own."""
        return {
            **self.base.environ,
            "PYTHONPATH": str(Path(__file__).parent.parent.parent),
            "CHAPERON_AGENT__COMMAND": str(self.cli),
            "STATE_DIRECTORY": str(self.base.places.state),
            "RUNTIME_DIRECTORY": str(self.base.places.runtime),
        }

    def start(self, *arguments: str, program: str = "supervisor.cli", **how: Any) -> forked.Program:
        """Start `chaperon` with these arguments; `program` is the module that it is."""
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return forked.Program([program, *arguments], env=self.environ(), cwd=self.repo, text=True, **given)

    def chaperon(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `chaperon` to its end."""
        return forked.run("supervisor.cli", *arguments, seconds=50, environ=self.environ(), cwd=self.repo)

    def nobody_is_left(self) -> bool:
        """Whether no process works in the agents' repository."""
        return processes_in(self.repo) == []


@pytest.fixture
def stage(tmp_path: Path, real_claude: Path) -> Stage:
    base = Base(tmp_path / "base", {"agent": {"command": str(real_claude)}})
    git = ["git", "-C", str(base.repo)]
    for name, value in (("user.name", "Test"), ("user.email", "test@localhost"), ("commit.gpgsign", "false")):
        subprocess.run([*git, "config", name, value], check=True)
    (base.repo / "plan.json").unlink()
    subprocess.run(
        [*git, "commit", "--quiet", "--allow-empty", "--message=Begin"],
        check=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    return Stage(base, real_claude)
