import json
import subprocess
from pathlib import Path

import pytest

from monitors.contract.errors import IllegalStepError, UsageError
from supervisor.protocol import events
from supervisor.protocol.events import TaskReordered
from supervisor.protocol.tasks import TaskState
from supervisor.protocol.words import AgentState
from supervisor.runtime.tasks.redirecting import RedirectBody, Redirecting
from tests.stages.house import House, bash, house, say
from tests.supervisor.runtime.tasks.conftest import add, state_of, until_task

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]

POLICY = {"tasks": {"stopped_seconds": 0, "min_free_memory_mb": 0, "max_load_per_core": 0, "slots": 1}}
WORKING = bash("echo half > half.txt; sleep 60")


def redirecting(stage: House) -> Redirecting:
    daemon = stage.daemon
    return Redirecting(daemon.board, daemon.happened, daemon.stamp, daemon.request, daemon.submit)


async def test_an_agent_has_the_new_task_in_every_respect_and_the_old_one_in_its_history(tmp_path: Path) -> None:
    async with house(tmp_path, WORKING, say("done"), policy=POLICY) as stage:
        await stage.submit(goals=("The old goal.",), expected_paths=("old/**",), constraints=("Touch no docs.",))
        await stage.process("sleep 60")
        options = ("--goal", "The new goal.", "--expect-path", "new/**", "--request-id", "r-1")
        command = ("redirect", "a1", "Write the changelog.", *options, "--json")
        for _ in range(2):
            known = json.loads(await stage.chaperon(*command))
        await stage.ended()
        summary = stage.daemon.board.summary("a1")
        told = str(stage.model.conversation()[-1].body)
    assert len(stage.events(events.RedirectRequested)) == 1, "a request that is sent again is taken once"
    assert known["task"] == "Write the changelog."
    task = summary.task
    assert (task.goals, task.expected_paths, task.constraints) == (("The new goal.",), ("new/**",), ())
    assert [past.prompt for past in summary.past_tasks] == ["Do the task."]
    assert "Write the changelog." in told


async def test_an_agent_that_crashes_after_a_redirect_is_told_of_the_new_task_alone(tmp_path: Path) -> None:
    policy = {**POLICY, "resources": {"max_execution_time_seconds": 86_000}}
    async with house(tmp_path, WORKING, WORKING, say("done"), policy=policy) as stage:
        await stage.submit()
        await stage.process("sleep 60")
        await redirecting(stage).redirect("a1", RedirectBody(text="Write the changelog."), "eva")
        await stage.model.wait_for_step(1)
        session = stage.daemon.board.session("a1")
        assert session.task.prompt == session.summary.task.prompt == "Write the changelog."
        assert session._memory._first_words().startswith("Write the changelog.")


async def test_an_agent_takes_a_task_of_the_store_and_gives_its_own_back(tmp_path: Path) -> None:
    async with house(tmp_path, WORKING, say("done"), policy=POLICY) as stage:
        add(stage, "t-1", "The first task.")
        await stage.until(events.AgentLaunched, agent="echo-001")
        await stage.process("sleep 60", "echo-001")
        add(stage, "t-2", "The second task.", goals=("Two.",))
        add(stage, "t-3", depends_on=("t-1",))
        with pytest.raises(UsageError, match="Task t-3 waits for t-1"):
            await redirecting(stage).redirect("echo-001", RedirectBody(task="t-3"), "eva")
        known = json.loads(await stage.chaperon("redirect", "echo-001", "--task", "t-2", "--wip-commit", "--json"))
        assert (known["stored_task"], known["task"]) == ("t-2", "The second task.")
        second = await state_of(stage, "t-2", TaskState.DONE)
        first = await until_task(stage, "t-1", lambda task: len(task.runs) == 2)
        log = ["git", "-C", str(stage.workspace), "log", "--all", "--format=%s %an"]
        commits = subprocess.run(log, check=True, capture_output=True, text=True).stdout
        await state_of(stage, "t-1", TaskState.DONE)
    assert [(run.agent, run.outcome) for run in second.runs] == [("echo-001", "be done")]
    assert first.runs[0].outcome == "go back to the queue"
    assert first.runs[0].why.endswith("gave agent echo-001 another task")
    assert "WIP: The first task. chaperon" in commits


async def test_a_task_in_a_new_workspace_is_done_by_an_agent_that_follows_and_the_work_so_far_is_kept(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, WORKING, say("done"), policy=POLICY) as stage:
        await stage.submit(workspace="new", labels=("web",), goals=("The old goal.",), max_cost_usd=3.0)
        await stage.process("sleep 60")
        command = ("redirect", "a1", "Write the changelog.", "--new-workspace", "--request-id", "r-1", "--json")
        known = json.loads(await stage.chaperon(*command))
        await stage.ended()
        again = json.loads(await stage.chaperon(*command))
        await stage.ended(known["agent"])
        old, new = stage.daemon.board.summary("a1"), stage.daemon.board.summary(known["agent"])
    assert known["agent"] == again["agent"] == "a2"
    assert len(stage.events(events.TaskSubmitted)) == 2, "a request that is sent again is taken once"
    assert (old.state, old.why) == (AgentState.STOPPED, "stopped by root: its place is for agent a2")
    assert (Path(old.workspace) / "half.txt").read_text() == "half\n"
    assert new.workspace != old.workspace
    assert new.branch not in ("", old.branch)
    assert (new.task.prompt, new.task.goals, new.task.labels) == ("Write the changelog.", (), ("web",))
    assert new.task.limits == old.task.limits


async def test_a_stored_task_in_a_new_workspace_is_the_next_and_the_agents_own_goes_back(tmp_path: Path) -> None:
    async with house(tmp_path, WORKING, say("done"), say("done"), policy=POLICY) as stage:
        add(stage, "t-1", "The first task.")
        await stage.until(events.AgentLaunched, agent="echo-001")
        await stage.process("sleep 60", "echo-001")
        add(stage, "t-2", "The second task.")
        add(stage, "t-3", "The third task.")
        body = RedirectBody(task="t-3", new_workspace=True, request_id="r-1")
        for _ in range(2):
            assert (await redirecting(stage).redirect("echo-001", body, "eva")).agent == "echo-001"
        third = await state_of(stage, "t-3", TaskState.DONE)
        first = await until_task(stage, "t-1", lambda task: len(task.runs) == 2)
    assert len(stage.events(TaskReordered)) == 1
    assert third.runs[0].began_at <= first.runs[1].began_at
    assert first.runs[0].outcome == "go back to the queue"


async def test_an_agent_that_works_in_place_or_has_ended_is_left_as_it_is(tmp_path: Path) -> None:
    async with house(tmp_path, WORKING, say("done"), policy=POLICY) as stage:
        await stage.submit()
        await stage.process("sleep 60")
        with pytest.raises(UsageError, match="it has no branch of its own for unfinished work"):
            await redirecting(stage).redirect("a1", RedirectBody(text="Other.", wip_commit=True), "eva")
        with pytest.raises(UsageError, match="The prompt is empty"):
            await redirecting(stage).redirect("a1", RedirectBody(text=" "), "eva")
        assert stage.daemon.board.summary("a1").past_tasks == ()
        await stage.daemon.request(events.StopRequested(**stage.stamp(), by="eva", force=True))
        await stage.ended()
        for elsewhere in (False, True):
            with pytest.raises(IllegalStepError):
                await redirecting(stage).redirect("a1", RedirectBody(text="Other.", new_workspace=elsewhere), "eva")
        assert len(stage.daemon.board.summaries()) == 1
