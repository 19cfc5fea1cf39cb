"""An agent whose CLI ended before its task was done goes on: the real CLI, killed, refused by the service, and waiting."""

import os
import re
import signal

import pytest

from interventions.decisions import EndCause
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import ApiError, Say, ScriptStep
from supervisor.runtime.clock import Clock
from supervisor.runtime.service import run_daemon
from tests.end_to_end.conftest import Stage
from tests.stages.daemon import ended, reached, served, until
from tests.support import names_in

pytestmark = pytest.mark.real_cli


class AnHourLater(Clock):
    """The clock on the wall has gone on."""

    def wall(self) -> float:
        return super().wall() + 3_600


@pytest.mark.parametrize("killed", ["cli", "shim"])
async def test_a_cli_that_was_killed_goes_on_in_its_session_with_what_is_known(stage: Stage, killed: str) -> None:
    stage.write("first.txt")
    stage.bash("python3 -c 'import time; time.sleep(305)'")
    stage.write("second.txt")
    async with stage.playing(), served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        await until(lambda: "python3" in names_in(stage.repo))
        known = daemon.board.summary("a1")
        session = known.session_id
        os.kill(known.cli_pid if killed == "cli" else known.shim_pid, signal.SIGKILL)
        after = await ended(daemon)
        assert (after.state, after.session_id) == (AgentState.DONE, session)
        assert stage.nobody_is_left()
    (again,) = stage.base.events(events.RecoveryChosen)
    assert (again.recovery.cause, again.recovery.fresh) == (EndCause.CRASHED, False)
    assert [event.number for event in stage.base.events(events.AgentLaunched)] == [1, 2]
    told = stage.told()
    assert "its agent ended early" in told
    assert "uncommitted changes: first.txt" in again.recovery.prompt
    assert str(stage.model.conversation()[-1].body).count("first.txt") > 1, (
        "what was done before is in the conversation"
    )
    assert [incident["type"] for incident in stage.base.incidents()] == ["agent_crashed"]


async def test_a_usage_limit_is_waited_out_by_another_daemon_and_the_same_session_goes_on(stage: Stage) -> None:
    stage.bash("echo begun")
    limit = ApiError(400, f"Claude AI usage limit reached|{Clock().wall() + 1_800:.0f}")
    stage.steps.append(ScriptStep((Say("never"),), failures=(limit,) * 20))
    async with stage.playing(), run_daemon(stage.base.setup()) as daemon:
        await daemon.submit(stage.base.submission(), by="test")
        await reached(daemon, AgentState.WAITING)
        session = daemon.board.summary("a1").session_id
        assert re.search(r"A usage limit was reached; it goes on in [23]\d minutes", daemon.board.summary("a1").why)
        await until(stage.nobody_is_left)
    stage.steps = []
    async with stage.playing(), served(stage.base, clock=AnHourLater()) as (daemon, _):
        assert daemon.runners.adopted.launched == 1
        after = await ended(daemon)
        assert (after.state, after.session_id) == (AgentState.DONE, session)
    assert "The service can be reached again." in stage.told()
    assert "echo begun" in str(stage.model.conversation()[0].body), "the conversation goes on"
    assert [incident["type"] for incident in stage.base.incidents()] == ["usage_limit"]


async def test_one_that_waits_is_told_to_go_on_or_is_stopped_by_a_person(stage: Stage) -> None:
    stage.steps.append(ScriptStep((Say("never"),), failures=(ApiError(400, "Claude AI usage limit reached"),) * 20))
    async with stage.playing(), served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        await reached(daemon, AgentState.WAITING)
        await daemon.request(events.ResumeRequested(**daemon.stamp("a1"), by="test"))
        await until(lambda: len(stage.base.events(events.RecoveryChosen)) == 2)
        assert [event.number for event in stage.base.events(events.AgentLaunched)] == [1, 2]
        await reached(daemon, AgentState.WAITING)
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test"))
        assert (await ended(daemon)).state is AgentState.STOPPED
        assert stage.nobody_is_left()


async def test_a_resume_that_the_cli_refuses_for_good_begins_anew_with_what_is_known_and_says_so(stage: Stage) -> None:
    stage.write("first.txt")
    stage.steps.append(ScriptStep((Say("never"),), failures=(ApiError(400, "Claude AI usage limit reached"),) * 20))
    async with stage.playing(), served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        await reached(daemon, AgentState.WAITING)
        session = daemon.board.summary("a1").session_id
        kept = list(stage.base.root.rglob(f"{session}.jsonl"))
        assert kept, "the CLI keeps its session there"
        for each in kept:
            each.unlink()
        await daemon.request(events.ResumeRequested(**daemon.stamp("a1"), by="test"))
        await until(lambda: len(stage.base.events(events.RecoveryChosen)) >= 2)
        anew = stage.base.events(events.RecoveryChosen)[1]
        assert (anew.recovery.cause, anew.recovery.fresh) == (EndCause.CRASHED, True)
        assert f"refused to resume its session (No conversation found with session ID: {session})" in anew.recovery.why
        assert "first.txt" in anew.recovery.prompt
        await until(lambda: daemon.board.summary("a1").launches == 3)
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test", force=True))
        assert (await ended(daemon)).session_id != session
