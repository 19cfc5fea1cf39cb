"""The scenarios that are shipped, played to the real CLI by a stand-in that answers as they expect the gate to.

This shows that a scenario can be played to its end, and that its files and its words come out as it says; the gate's own
part is shown where the daemon plays them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from monitors.contract.actions import Review
from monitors.contract.words import Decision, Severity
from supervisor.protocol.words import AgentState
from supervisor.rehearsal import scenario as scenarios
from supervisor.rehearsal import scratch
from supervisor.rehearsal.check import RehearsalOutcome, check
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.scenario import Scenario, ScenarioPaths
from tests.contract.cli import Frame, running_cli

pytestmark = pytest.mark.real_cli


class StandIn:
    """Answers each call as the scenario expects it to be answered."""

    def __init__(self, scenario: Scenario) -> None:
        self.calls = scenario.calls()
        self.expected = {each.step: each for each in scenario.expect.decisions}
        self.reviews: dict[str, Review] = {}

    def answer(self, request: Frame) -> Mapping[str, Any]:
        asked = request["input"]
        step, _ = self.calls[asked["tool_use_id"]]
        expected = self.expected.get(step)
        decision = expected.decision if expected else Decision.ALLOW
        rule = (expected.rule if expected else None) or ""
        self.reviews[asked["tool_use_id"]] = Review(decision, 0.0, 1.0, Severity.LOW, "as expected", rule)
        output: dict[str, Any] = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
        if decision is Decision.BLOCK:
            reason = f"Not this: {asked['tool_input']}"
            output |= {"permissionDecision": "deny", "permissionDecisionReason": reason}
        elif decision is Decision.MODIFY:
            command = asked["tool_input"]["command"].replace("--force ", "--force-with-lease ")
            output |= {"updatedInput": {**asked["tool_input"], "command": command}}
        return {"hookSpecificOutput": output}


async def play(name: str, directory: Path) -> tuple[Scenario, RehearsalOutcome]:
    """Play a scenario to its end, and say what came of it."""
    scenario = scenarios.load(scenarios.shipped()[name])
    workspace, home = directory / "workspace", directory / "home"
    places = ScenarioPaths(str(workspace), str(home), str(directory / "state"))
    scenario = scenario.place(places)
    await scratch.make(scenario, places)
    stand_in = StandIn(scenario)
    async with (
        ScriptedModel(scenario.scripts()) as model,
        running_cli(home, workspace, model.url, hook=stand_in.answer) as cli,
    ):
        await cli.initialize("PreToolUse")
        await cli.say(scenario.task.prompt)
        await cli.result()
        code = await cli.finish()
    files: dict[str, bytes | None] = {}
    for each in scenario.expect.files:
        path = anyio.Path(workspace / each.path)
        files[each.path] = await path.read_bytes() if await path.exists() else None
    state = scenario.expect.state or AgentState.DONE
    return scenario, RehearsalOutcome(stand_in.reviews, model.requests, files, (), (), (), state, code)


async def test_the_bad_days_of_the_api_are_gone_through(tmp_path: Path) -> None:
    scenario, outcome = await play("bad-days", tmp_path / "scratch")
    assert check(scenario, outcome) == []


async def test_the_demo_can_be_played(tmp_path: Path) -> None:
    scenario, outcome = await play("demo", tmp_path / "scratch")
    places = {finding.place for finding in check(scenario, outcome)}
    assert places == {"expect.incidents[0]", "expect.issues[0]", "expect.interventions[0]", "expect.interventions[1]"}
    assert len(outcome.reviews) == len(scenario.calls())
    published = await anyio.run_process(["git", "log", "--format=%s", "main"], cwd=tmp_path / "scratch/origin.git")
    assert b"Save the state of things" in published.stdout
