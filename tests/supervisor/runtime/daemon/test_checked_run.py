"""Agents that are submitted together with the check of their work."""

from pathlib import Path

import pytest

from monitors.contract.errors import UsageError
from supervisor.protocol import events
from supervisor.protocol.events import CheckMade
from supervisor.protocol.tasks import TaskState
from supervisor.protocol.words import AgentState
from supervisor.runtime.service import complete_work
from supervisor.runtime.tasks.redirecting import RedirectBody, Redirecting
from tests.stages.house import bash, house, say
from tests.supervisor.runtime.tasks.conftest import state_of
from tests.supervisor.runtime.tasks.test_dispatcher import QUICK

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]


async def test_a_run_whose_check_fails_goes_on_in_its_session_under_its_own_limits_and_is_done_by_evidence(
    tmp_path: Path,
) -> None:
    model = bash("echo bad > work.txt"), say("All pass."), bash("echo good > work.txt"), say("Now it is done.")
    async with house(tmp_path, *model, policy=QUICK, completion=complete_work) as stage:
        limits = {"max_steps": 50, "max_cost_usd": 2.0}
        approval = {"mode": "ask", "auto_approve": ["Bash"]}
        first = await stage.submit(verify="grep -q good work.txt", own_limits=limits, approval=approval)
        done = await state_of(stage, first.stored_task, TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED)
        second = stage.daemon.board.summary("a1-001")
        passed = [made.result.passed for made in stage.events(CheckMade)]
    assert (done.state, [run.agent for run in done.runs]) == (TaskState.DONE, ["a1", "a1-001"]), done.why
    assert passed == [False, True]
    assert second.session_id == first.session_id
    assert second.task.limits == first.task.limits
    assert second.task.approval == first.task.approval


async def test_a_checked_run_that_a_person_stops_is_cancelled_and_no_other_agent_takes_its_task(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, bash("tail -f /dev/null"), policy=QUICK, completion=complete_work) as stage:
        known = await stage.submit(verify="true")
        await stage.process("tail -f")
        await stage.daemon.request(events.StopRequested(**stage.stamp(), by="eva", force=True))
        over = await state_of(stage, known.stored_task, TaskState.CANCELLED, TaskState.PENDING)
    assert over.state is TaskState.CANCELLED
    assert "stopped by eva" in over.why


async def test_the_task_of_a_checked_run_that_is_given_another_is_cancelled(tmp_path: Path) -> None:
    async with house(tmp_path, bash("tail -f /dev/null"), say("done"), policy=QUICK, completion=complete_work) as stage:
        task_id = (await stage.submit(verify="false")).stored_task
        await stage.process("tail -f")
        daemon = stage.daemon
        redirecting = Redirecting(daemon.board, daemon.happened, daemon.stamp, daemon.request, daemon.submit)
        await redirecting.redirect("a1", RedirectBody(text="Do this instead."), "eva")
        task = daemon.board.tasks.get(task_id)
        ended = await stage.ended()
    assert (task.state, ended.after) == (TaskState.CANCELLED, AgentState.DONE)


async def test_a_check_of_an_agent_that_is_kept_open_is_refused_and_nothing_is_started(tmp_path: Path) -> None:
    async with house(tmp_path) as stage:
        with pytest.raises(UsageError, match="never checked; nothing was started"):
            await stage.submit(verify="true", keep_open=True)
        assert not stage.daemon.board.summaries()
        assert len(stage.daemon.board.tasks) == 0
