"""A whole daemon around the real CLI and a scripted model, for tests of what only the whole shows."""

import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import psutil

from interventions.decisions import Intervention, LimitsInForce
from interventions.kinds.resource_throttling import as_json
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.events import EventStamp
from supervisor.protocol.records import decode
from supervisor.rehearsal import scratch
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript, Say, ScriptStep, ToolUse
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.daemon.submission import Submission
from supervisor.runtime.service import Setup, run_daemon
from supervisor.runtime.shim.process_tree import SHELLS
from supervisor.runtime.tasks.completion import Completion, NothingToComplete
from tests.stages import forked
from tests.stages.written import until_written
from tests.support import kill_tree, on_any_machine, paid, real_claude_path

STARTERS = SHELLS | {"timeout"}
"""Programs that start the program which their arguments name."""

SECONDS = 60.0
"""The longest that a test waits for anything; a run takes two seconds on an idle machine."""

E = TypeVar("E", bound=events.Event)


def bash(command: str, **more: Any) -> ScriptStep:
    """The model calls the shell."""
    return ScriptStep((ToolUse("Bash", {"command": command, "description": "A step", **more}),))


def say(text: str) -> ScriptStep:
    """The model writes text."""
    return ScriptStep((Say(text),))


@dataclass
class House:
    """A daemon with its agents."""

    daemon: Daemon
    model: ScriptedModel
    base: Path
    setup: Setup

    @property
    def workspace(self) -> Path:
        return self.base / "workspace"

    async def submit(self, name: str = "a1", **wanted: Any) -> Summary:
        about = {"prompt": "Do the task.", "repository": str(self.workspace), "permission_mode": "bypassPermissions"}
        return await self.daemon.submit(Submission(name=name, **{**about, **wanted}), by="test")

    async def until(self, kind: type[E], fits: Callable[[E], bool] = lambda _: True, agent: str = "a1") -> E:
        """Wait for an event of the agent's."""
        seen: list[str] = []
        with anyio.move_on_after(SECONDS):
            async for line in self.daemon.journal.follow():
                event = decode(line.data).event
                if isinstance(event, kind) and event.agent in (agent, "") and fits(event):
                    return event
                incident = getattr(event, "incident", None)
                seen.append(f"{event.kind} ({incident.summary})" if incident else event.kind)
        raise AssertionError(f"no {kind.__name__} of {agent} came; there were: {seen}")

    async def ended(self, agent: str = "a1") -> events.StateChanged:
        """Wait for the end of the agent."""
        return await self.until(events.StateChanged, lambda event: event.after.ended, agent)

    def events(self, kind: type[E]) -> list[E]:
        """All events of a kind so far."""
        until_written(self.daemon.journal)
        everything = [record.event for record in self.daemon.journal.read(0)]
        return [event for event in everything if isinstance(event, kind)]

    def tree(self, agent: str = "a1") -> list[psutil.Process]:
        """The agent's processes, its shim left out."""
        return psutil.Process(self.daemon.board.summary(agent).shim_pid).children(recursive=True)

    async def process(self, words: str, agent: str = "a1") -> psutil.Process:
        """Wait for a process without children whose command line has these words.

        A fork that runs no program of its own yet, and may never, has the command line of its parent: it is another's.
        So is a program that is about to start the one whose words it names.
        """
        with anyio.fail_after(SECONDS):
            while True:
                with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                    for process in self.tree(agent):
                        line, parent = process.cmdline(), process.parent()
                        own = process.name() not in STARTERS and (parent is None or parent.cmdline() != line)
                        if own and words in " ".join(line) and not process.children():
                            return process
                state = self.daemon.board.summary(agent).state
                assert not state.ended, f"the agent is {state}; it runs no {words!r}"
                await anyio.sleep(0.02)

    def stamp(self, agent: str = "a1") -> EventStamp:
        return self.daemon.stamp(agent)

    def throttle(self, agent: str = "a1", **changes: Any) -> None:
        """Have the session take in a throttling, as the controller would choose it; `max_…` are limits of the task."""
        throttle(self.daemon, agent, **changes)

    def ease(self, agent: str = "a1") -> None:
        """Have the session take in that the throttling ended."""
        ease(self.daemon, agent)

    async def chaperon(self, *arguments: str, given: bytes = b"") -> str:
        """Run a command as a person would, with this on its standard input; what it printed."""
        here = {"RUNTIME_DIRECTORY": str(self.base / "run"), "STATE_DIRECTORY": str(self.base / "state")}
        environ = {**os.environ, **here}
        done = await anyio.to_thread.run_sync(
            lambda: forked.run("supervisor.cli", *arguments, seconds=SECONDS, environ=environ, given=given)
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def told(self) -> str:
        """All that the model was sent."""
        return "\n".join(str(request.body) for request in self.model.requests)


def make_workspace(base: Path) -> None:
    for name in ("workspace", "home"):
        (base / name).mkdir(parents=True, exist_ok=True)
    for arguments in (["init", "--quiet", "-b", "main"], ["commit", "--quiet", "--allow-empty", "-m", "start"]):
        identity = ["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(base / "workspace"), *identity, *arguments], check=True)


@asynccontextmanager
async def house(
    base: Path,
    *steps: ScriptStep,
    policy: Mapping[str, Any] | None = None,
    scripts: Sequence[ModelScript] = (),
    completion: Callable[[Daemon], Completion] = lambda _: NothingToComplete(),
) -> AsyncIterator[House]:
    """A daemon, a scripted model that plays these steps, and a workspace; whatever runs at the end is ended.

    Args:
        base: Where all of it is.
        steps: What the agent's model answers.
        policy: The configuration.
        scripts: What the models of subagents answer.
        completion: Makes the completion of the work on stored tasks.
    """
    if not (base / "workspace").exists():
        make_workspace(base)
    wanted = on_any_machine(policy)
    agent = {"command": str(real_claude_path()), "environment": {"IS_SANDBOX": "1"}, **paid(wanted.get("agent", {}))}
    config = Config.model_validate({**wanted, "agent": agent})
    async with ScriptedModel([*scripts, ModelScript(steps)]) as model:
        environ = scratch.environment(base / "home", model.url, os.environ["PATH"])
        places = StatePaths(state=base / "state", runtime=base / "run")
        setup = Setup(config, places, environ, completion=completion)
        async with run_daemon(setup) as daemon:
            made = House(daemon, model, base, setup)
            try:
                yield made
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(10):
                    for session in daemon.board.live():
                        await daemon.request(
                            events.StopRequested(**daemon.stamp(session.summary.agent), by="test", force=True)
                        )
                        await made.ended(session.summary.agent)
                    while daemon.runners._of:
                        await anyio.sleep(0.01)
                for summary in daemon.board.summaries():
                    if not summary.state.ended and summary.shim_pid:
                        kill_tree(summary.shim_pid, base)


def throttle(daemon: Daemon, agent: str = "a1", **changes: Any) -> None:
    """Have a session take in a throttling, as the controller would choose it; `max_…` are limits of the task."""
    task = daemon.board.summary(agent).task
    inner = {name: value for name, value in changes.items() if name.startswith("max_")}
    outer = {name: value for name, value in changes.items() if name not in inner}
    limits = LimitsInForce(replace(task.limits, **inner), **outer)
    issue = Issue("resource_spiral", Severity.HIGH, 1.0, 0.3, 1, "It grows.", key="memory")
    details = {"limits": as_json(limits)}
    chosen = Intervention(
        "i-1", InterventionKind.RESOURCE_THROTTLING, issue, 1.0, "because", "[chaperon] Slower.", details
    )
    daemon.happened(events.InterventionChosen(**daemon.stamp(agent), intervention=chosen))


def ease(daemon: Daemon, agent: str = "a1") -> None:
    """Have a session take in that the throttling ended."""
    limits = LimitsInForce(daemon.board.summary(agent).task.limits)
    daemon.happened(events.LimitsEased(**daemon.stamp(agent), intervention="i-1", limits=limits))
