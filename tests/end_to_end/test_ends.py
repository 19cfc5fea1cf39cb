"""However an agent ends, no process of it is left; with control groups and without."""

import os
import signal

import anyio
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import ScriptStep, ToolUse
from tests.end_to_end.conftest import Stage
from tests.stages.daemon import ended, served, until
from tests.support import names_in

pytestmark = pytest.mark.real_cli

LEAVES = "setsid sleep 301 & (sleep 302 & sleep 303)"
"""A tool call that does not end, with a process in a session of its own."""


@pytest.fixture(params=["auto", "never"])
def held(stage: Stage, request: pytest.FixtureRequest) -> Stage:
    """In control groups where there are some, and without."""
    stage.base.config["agent"]["cgroups"] = request.param
    stage.base.config["stop"] = {"interrupt_seconds": 1, "end_of_input_seconds": 1, "terminate_seconds": 1}
    return stage


def sleeping(stage: Stage) -> int:
    return names_in(stage.repo).count("sleep")


@pytest.mark.parametrize("force", [False, True], ids=["in order", "at once"])
async def test_a_stop_during_a_tool_call_leaves_nobody(held: Stage, force: bool) -> None:
    held.bash(LEAVES)
    async with held.playing(), served(held.base) as (daemon, _):
        await daemon.submit(held.base.submission(), by="test")
        await until(lambda: sleeping(held) == 3)
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test", force=force))
        assert (await ended(daemon)).state is AgentState.STOPPED
        assert held.nobody_is_left()
    rungs = [event.rung for event in held.base.events(events.RungReached)]
    assert rungs[0] == ("freeze" if force else "interrupt")
    left = {event.left for event in held.base.events(events.TreeEnded)}
    assert left == {0} if force else left <= {0}, "in order, a tree is ended only where it does not end by itself"


async def test_an_emergency_stop_freezes_ends_and_reports(held: Stage) -> None:
    held.bash(f"({LEAVES}) > /dev/null 2>&1 & echo begun")
    held.write(held.base.places.snapshot, "{}")
    held.bash("touch never")
    async with held.playing() as model, served(held.base) as (daemon, _):
        await daemon.submit(held.base.submission(), by="test")
        assert (await ended(daemon)).state is AgentState.STOPPED
        assert held.nobody_is_left()
        assert model.conversation()[-1].step == 1, "the model was asked nothing more"
    assert "tree_frozen" in held.base.kinds()
    assert not (held.repo / "never").exists()
    stops = [incident for incident in held.base.incidents() if incident["type"] == "emergency_stop"]
    assert (held.base.places.state / stops[0]["report"]).exists()


async def test_where_a_stop_is_not_hard_all_stands_still_until_a_person_ends_it(stage: Stage) -> None:
    stage.base.config["interventions"] = {"hard_stop": False}
    stage.bash("(python3 -c 'import time; time.sleep(301)') > /dev/null 2>&1 & echo begun")
    stage.write(stage.base.places.snapshot, "{}")
    async with stage.playing(), served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        await until(lambda: "tree_frozen" in stage.base.kinds())
        await until(lambda: any(each["type"] == "emergency_stop" for each in stage.base.incidents()))
        assert daemon.board.summary("a1").state is AgentState.STOPPING
        assert not stage.nobody_is_left()
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test"))
        assert (await ended(daemon)).state is AgentState.STOPPED
        assert stage.nobody_is_left()
    assert [event.rung for event in stage.base.events(events.RungReached)] == ["freeze", "kill"]


async def test_a_shim_that_is_killed_takes_the_cli_along_and_its_tools_are_ended(held: Stage) -> None:
    held.base.config["interventions"] = {"max_retries": 0}
    held.bash(LEAVES)
    async with held.playing(), served(held.base) as (daemon, _):
        await daemon.submit(held.base.submission(), by="test")
        await until(lambda: sleeping(held) == 3)
        os.kill(daemon.board.summary("a1").shim_pid, signal.SIGKILL)
        assert (await ended(daemon)).state is AgentState.LOST
        await until(held.nobody_is_left)
    assert [incident["type"] for incident in held.base.incidents()] == ["agent_lost"]


async def test_an_orderly_restart_finds_the_agent_at_its_hook_and_the_same_session_goes_on(stage: Stage) -> None:
    stage.bash("touch first", first_byte_seconds=0.3)
    stage.bash("touch second")
    async with stage.playing() as model:
        from supervisor.runtime.service import run_daemon

        async with run_daemon(stage.base.setup()) as daemon:
            await daemon.submit(stage.base.submission(), by="test")
            await model.wait_for_step(0)
            await daemon.request(events.PauseRequested(**daemon.stamp("a1"), by="test"))
            while "PreToolUse" not in str([event.frame for event in stage.base.events(events.LineReceived)]):
                await anyio.sleep(0.02)
        assert not (stage.repo / "first").exists()
        async with served(stage.base) as (daemon, _):
            assert daemon.runners.adopted.reattached == 1
            await daemon.request(events.ResumeRequested(**daemon.stamp("a1"), by="test"))
            assert (await ended(daemon)).state is AgentState.DONE
    assert (stage.repo / "first").exists()
    assert (stage.repo / "second").exists()
    assert len(stage.model.conversation()) == 3
    assert len({event.session_id for event in stage.base.events(events.TaskSubmitted)}) == 1


async def test_an_agent_that_ended_its_turn_to_wait_for_a_command_goes_on_when_that_ends(stage: Stage) -> None:
    command = {"command": "sleep 1", "description": "Run the tests", "run_in_background": True}
    stage.steps.append(ScriptStep((ToolUse("Bash", command),)))
    stage.say("I wait for the tests.")
    stage.bash("touch mended")
    async with stage.playing(), served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        assert (await ended(daemon)).state is AgentState.DONE
    assert (stage.repo / "mended").exists()
