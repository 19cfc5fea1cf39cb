"""A fleet's rehearsal: real CLIs in scratch repositories, scripted models, a daemon of its own, and the comparison."""

import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import orjson

from supervisor.protocol.tasks import TaskState
from supervisor.rehearsal import scratch
from supervisor.rehearsal.check import CheckFinding
from supervisor.rehearsal.fleets.director import Director, FleetError
from supervisor.rehearsal.fleets.fleet_check import check_fleet
from supervisor.rehearsal.fleets.fleet_scenario import FleetScenario, FleetTask
from supervisor.rehearsal.fleets.leftovers import left_in
from supervisor.rehearsal.fleets.moments import FleetMoments
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript, ToolUse

LONGEST_SECONDS = 600.0
"""Longest time of a fleet's rehearsal: the longest that is shipped takes half a minute, and on a busy machine three
times that."""

PASSED_ON = ("PYTHONPATH", "IS_SANDBOX", "CHAPERON_AGENT__COMMAND")
"""Variables of a person's environment that the daemon gets: where the code is, and the CLI."""


@dataclass(frozen=True, slots=True)
class FleetOutcome:
    """The outcome of a fleet's rehearsal."""

    tasks: Mapping[str, TaskState | None]
    """By the tasks' names in the file."""
    agents: int
    """How many agents there were."""
    events: int
    """How many events the journal has."""


async def rehearse_fleet(
    fleet: FleetScenario,
    base: Path,
    watch: Callable[[bytes], object] = lambda _line: None,
    *,
    tell: Callable[[str], object] = lambda _text: None,
) -> tuple[FleetOutcome, list[CheckFinding]]:
    """Play a fleet's rehearsal and compare.

    Args:
        fleet: What is played.
        base: An empty directory that everything is made in.
        watch: Called with each line of the journal.
        tell: Shown what is done to the daemon, and what it answers.

    Raises:
        ChaperonError: No CLI was found, the daemon did not start, or the run did not end in time.
    """
    repositories = {one.name: str(base / "repositories" / one.name) for one in fleet.repositories}
    for one in fleet.repositories:
        await scratch.make_repository(one, Path(repositories[one.name]))
    await anyio.Path(base / "home").mkdir()
    await anyio.Path(base / "chaperon.yaml").write_bytes(orjson.dumps(fleet.policy))
    models: list[ScriptedModel] = []

    def asked(script: int, step: int) -> bool:
        return any((one.script, one.step) == (script, step) for model in models for one in model.requests)

    moments = FleetMoments(fleet, repositories, asked)
    async with ScriptedModel([_script(task, moments) for task in fleet.tasks]) as model, AsyncExitStack() as stack:
        models.append(model)
        own = {"RUNTIME_DIRECTORY": str(stack.enter_context(scratch.socket_directory(base)))}
        own |= {"STATE_DIRECTORY": str(base / "state")}
        own |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        usual = scratch.environment(base / "home", model.url, os.environ.get("PATH", os.defpath))
        director = Director(fleet, base, {**usual, **own}, moments, tell, watch)
        try:
            with anyio.fail_after(LONGEST_SECONDS):
                await _play(fleet, director)
        except* TimeoutError:
            raise FleetError(
                f"The rehearsal {fleet.name!r} did not end within {LONGEST_SECONDS:g} s, so its agents were ended.",
                way_out="Something waits for what does not come; --keep shows what was done.",
            ) from None
    findings = [*director.findings, *await anyio.to_thread.run_sync(check_fleet, fleet, moments, repositories)]
    findings += [
        CheckFinding("processes", f"Process {one.pid} ({one.name()}) was left.")
        for one in await anyio.to_thread.run_sync(left_in, base)
    ]
    return _outcome(fleet, moments), findings


async def _play(fleet: FleetScenario, director: Director) -> None:
    async with director.served(), anyio.create_task_group() as tasks:
        await director.add_tasks()
        for act in fleet.acts:
            tasks.start_soon(director.act, act, name=f"act {act.name}")
        await director.follow()


def _script(task: FleetTask, moments: FleetMoments) -> ModelScript:
    """Return the script of the models of a task's agents."""
    steps = []
    for step in task.steps:
        played = step.played()
        hold = partial(moments.come, step.after) if step.after else None
        is_failing = partial(moments.lacks, step.fails_until) if step.fails_until else None
        blocks = tuple(_placed(one, moments) for one in played.blocks)
        steps.append(replace(played, hold=hold, is_failing=is_failing, blocks=blocks))
    return ModelScript(tuple(steps), task.prompt, named_last=True)


def _placed(block: Any, moments: FleetMoments) -> Any:
    """Fill in the paths of repositories."""
    if not isinstance(block, ToolUse):
        return block
    filled = {name: moments.filled(value) if isinstance(value, str) else value for name, value in block.input.items()}
    return replace(block, input=filled)


def _outcome(fleet: FleetScenario, moments: FleetMoments) -> FleetOutcome:
    states = {task.name: moments.states.get(moments.ids.get(task.name, "")) for task in fleet.tasks}
    agents = {event["agent"] for event in moments.events if event["kind"] == "task_submitted"}
    return FleetOutcome(states, len(agents), len(moments.events))
