from pathlib import Path
from typing import Any

import anyio
import psutil
import pygit2
import pytest

from supervisor.core.board import Board
from supervisor.core.settings import TaskSettings
from supervisor.core.tasks.queue import NOT_LOOKED_AT
from supervisor.core.tasks.records import StoredTask
from supervisor.protocol import events
from supervisor.protocol.kinds.orders import DrainChanged
from supervisor.protocol.kinds.stamp import EventStamp
from supervisor.protocol.kinds.tasks import TaskMoved, TasksAdded
from supervisor.protocol.tasks import TaskSpec, TaskState, TaskStep
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import ModelScript
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.tasks.completion import FinishedRun, LostClaimError, MoveTask, NextStep
from supervisor.runtime.tasks.dispatcher import Dispatcher, TaskTools
from tests.stages.daemon import Base, served, until
from tests.stages.house import bash, house, say
from tests.stages.session import Play
from tests.supervisor.runtime.tasks.conftest import add, desk, state_of, until_task

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]

QUICK = {"tasks": {"retry_seconds": 0, "stopped_seconds": 0, "min_free_memory_mb": 0, "max_load_per_core": 0}}


def steps(task: StoredTask) -> list[str]:
    return [entry.step for entry in task.history]


async def test_tasks_are_worked_on_one_after_the_other_by_agents_of_their_own(tmp_path: Path) -> None:
    scripts = [
        ModelScript((bash("echo one > one.txt"), say("done")), when="the first thing"),
        ModelScript((bash("echo two > two.txt"), say("done")), when="the second thing"),
    ]
    async with house(tmp_path, say("?"), scripts=scripts, policy=QUICK) as stage:
        add(stage, "t-1", "Do the first thing.")
        add(stage, "t-2", "Do the second thing.", depends_on=("t-1",))
        second = await state_of(stage, "t-2", TaskState.DONE)
        first = stage.daemon.board.tasks.get("t-1")
    assert steps(first) == steps(second) == ["added", "be claimed", "be done"]
    assert (first.runs[0].agent, second.runs[0].agent) == ("echo-001", "echo-002")
    assert second.history[1].at > first.history[2].at
    submitted = stage.events(events.TaskSubmitted)
    assert [(each.task.id, each.run_id) for each in submitted] == [
        (task.id, task.runs[0].run_id) for task in (first, second)
    ]
    assert len({each.workspace for each in submitted}) == 2


async def test_the_machine_is_looked_at_while_a_task_is_pending_and_then_no_more() -> None:
    board = Board(lambda submitted: Play().make(submitted))
    seen: list[events.AnyEvent] = []

    def happened(event: events.AnyEvent) -> int:
        seen.append(event)
        board.remember(len(seen), event)
        dispatcher.saw(event)
        return len(seen)

    def stamp(agent: str) -> EventStamp:
        return {"agent": agent, "at": 1.0, "mono": 1.0}

    async def never(*_: object, **__: object) -> Any:
        raise AssertionError("no agent is started")

    tools = TaskTools(board, happened, stamp, never, never, never, lambda *_: None, lambda: False, never)
    dispatcher = Dispatcher(tools, TaskSettings(min_free_memory_mb=10**9))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(dispatcher.run)
        await anyio.wait_all_tasks_blocked()
        assert dispatcher.facts is NOT_LOOKED_AT
        task = TaskSpec(id="t-1", prompt="Do it.", repository="/r")
        happened(TasksAdded(**stamp(""), request_id="1", tasks=(task,), by="eva"))
        while dispatcher.facts is NOT_LOOKED_AT:
            await anyio.sleep(0)
        held_back = dispatcher.queue.reason(board.tasks.get("t-1"), dispatcher.facts_now())
        assert held_back.endswith("MiB of memory are free, and tasks.min_free_memory_mb is 1000000000")
        cancel = TaskStep.CANCEL
        happened(
            TaskMoved(
                **stamp(""),
                task="t-1",
                before=TaskState.PENDING,
                after=TaskState.CANCELLED,
                step=cancel,
                why="",
                by="eva",
            )
        )
        while dispatcher.facts is not NOT_LOOKED_AT:
            await anyio.sleep(0)
        tasks.cancel_scope.cancel()


async def test_a_person_who_stops_an_agent_gives_its_task_back_and_the_next_goes_on_in_the_workspace(
    tmp_path: Path,
) -> None:
    steps_of_model = (bash("echo half > half.txt; sleep 60"), say("done"))
    async with house(tmp_path, *steps_of_model, policy=QUICK) as stage:
        add(stage, "t-1")
        await stage.until(events.AgentLaunched, agent="echo-001")
        await stage.process("sleep 60", "echo-001")
        stop = events.StopRequested(**stage.stamp("echo-001"), by="eva", reason="lunch", force=True)
        await stage.daemon.request(stop)
        back = await until_task(stage, "t-1", lambda task: task.last_run is not None and len(task.runs) == 2)
        second = await stage.until(events.TaskSubmitted, agent="echo-002")
        first = stage.daemon.board.summary("echo-001")
        assert (second.workspace, second.branch) == (first.workspace, first.branch)
        assert (Path(second.workspace) / "half.txt").read_text() == "half\n"
        assert "its agent ended early (stopped: stopped by eva: lunch)" in second.opening
        cancelled = events.StopRequested(**stage.stamp("echo-002"), by="eva", force=True)
        await stage.daemon.request(cancelled)
    assert steps(back)[:3] == ["added", "be claimed", "go back to the queue"]
    assert back.history[2].why == "agent echo-001 was stopped by eva: lunch"
    assert back.tries == 0


async def test_a_task_whose_agents_crash_as_often_as_it_may_be_tried_is_parked_with_why(tmp_path: Path) -> None:
    policy = {**QUICK, "interventions": {"max_retries": 0}}
    async with house(tmp_path, bash("echo at work; sleep 60"), bash("echo at work; sleep 60"), policy=policy) as stage:
        add(stage, "t-1", retries=1)
        for agent in ("echo-001", "echo-002"):
            launched = await stage.until(events.AgentLaunched, agent=agent)
            await stage.process("sleep 60", agent)
            psutil.Process(launched.cli_pid).kill()
        parked = await state_of(stage, "t-1", TaskState.PARKED)
        assert stage.daemon.board.summary("echo-002").state is AgentState.FAILED
        assert stage.daemon.board.summary("echo-002").workspace_closed == ""
    assert steps(parked) == ["added", "be claimed", "go back to the queue", "be claimed", "be parked"]
    begins = "each of its 2 attempts crashed: chaperon task retry t-1 begins anew; agent echo-002 is failed: "
    assert parked.why.startswith(begins)


async def test_once_agents_crash_whatever_their_task_no_other_is_begun_until_a_person_says_so(tmp_path: Path) -> None:
    base = Base(tmp_path, config={**QUICK, "interventions": {"max_retries": 0}, "workspaces": {"at_end": "keep"}})
    base.config["tasks"] = {**QUICK["tasks"], "slots": 1}
    repository, author = pygit2.Repository(str(base.repo)), pygit2.Signature("eva", "eva@example.com")
    tree = repository.TreeBuilder().write()
    repository.create_commit("HEAD", author, author, "first", tree, [])
    base.cli("begin()\nimport os\nos._exit(3)")
    async with served(base) as (daemon, _):
        names = [f"t-{number}" for number in range(1, 9)]
        tasks = tuple(TaskSpec(id=id_, prompt="go", repository=str(base.repo), retries=0) for id_ in names)
        daemon.happened(TasksAdded(**daemon.stamp(""), request_id="r", tasks=tasks, by="eva"))
        await until(lambda: daemon.board.orders.drain is not None)
        await until(lambda: not daemon.board.tasks.held())
        states = [daemon.board.tasks.get(id_).state for id_ in names]
        assert states == [TaskState.FAILED] * 5 + [TaskState.PENDING] * 3
        drain = daemon.board.orders.drain
        assert drain is not None
        assert (drain.by, "the last 5 agents crashed, of 5 tasks" in drain.reason) == ("chaperon", True)
        await until(lambda: "all_agents_crash" in [each["type"] for each in base.incidents()])
        base.cli("begin()\ndone()\nhear()")
        daemon.happened(DrainChanged(**daemon.stamp(""), on=False, by="eva"))
        await until(lambda: all(daemon.board.tasks.get(id_).state is TaskState.DONE for id_ in names[5:]))


async def test_after_a_crash_in_a_call_the_next_attempt_is_told_what_was_under_way(tmp_path: Path) -> None:
    policy = {**QUICK, "interventions": {"max_retries": 0}}
    crashing = bash("echo half > half.txt; sleep 60")
    async with house(tmp_path, crashing, say("done"), policy=policy) as stage:
        add(stage, "t-1", retries=1)
        launched = await stage.until(events.AgentLaunched, agent="echo-001")
        await stage.process("sleep 60", "echo-001")
        psutil.Process(launched.cli_pid).kill()
        await state_of(stage, "t-1", TaskState.DONE)
        told = (await stage.until(events.TaskSubmitted, agent="echo-002")).opening
        assert "This task was under way before" in str(stage.model.conversation()[-1].body)
        head = pygit2.Repository(str(stage.workspace)).head.peel(pygit2.Commit)
    lines = told.splitlines()
    assert lines[0].startswith("[chaperon] This task was under way before and its agent ended early (failed: ")
    assert "Attempts before this one: 1." in lines
    assert "The workspace has uncommitted changes: half.txt." in lines
    assert "- Ended during turn: 1" in lines
    assert "- Files modified: half.txt (added)" in lines
    assert any(line.startswith("- Let through and never answered") and "Bash echo half" in line for line in lines)
    assert any(line.startswith(f"- Last commit: {head.short_id} ") for line in lines)


class Reworks:
    """A completion that is content with the second attempt."""

    def __init__(self) -> None:
        self.seen: list[FinishedRun] = []

    async def complete(self, finished: FinishedRun, move: MoveTask) -> NextStep:
        self.seen.append(finished)
        move(TaskStep.VERIFY, "its check runs")
        if len(self.seen) == 1:
            return NextStep(TaskStep.REWORK, "The check failed: mend two.txt.")
        move(TaskStep.MERGE, "its check passed")
        return NextStep(TaskStep.SUCCEED, "merged")


async def test_work_that_needs_more_goes_back_to_its_agent_in_the_same_session_and_workspace(tmp_path: Path) -> None:
    reworks = Reworks()
    async with house(tmp_path, say("done"), say("mended"), policy=QUICK, completion=lambda _: reworks) as stage:
        add(stage, "t-1")
        done = await state_of(stage, "t-1", TaskState.DONE)
        told = str(stage.model.conversation()[-1].body)
    assert steps(done) == [
        "added",
        "be claimed",
        "be verified",
        "go back to an agent",
        "be verified",
        "be merged",
        "be done",
    ]
    assert [run.outcome for run in done.runs] == ["go back to an agent", "be done"]
    first, second = reworks.seen
    assert (first.workspace, first.session_id) == (second.workspace, second.session_id)
    assert (first.agent, second.agent) == ("echo-001", "echo-002")
    assert "The check failed: mend two.txt." in told
    assert "Do the task." in told


async def test_an_agent_whose_task_was_cancelled_is_ended_and_nothing_of_it_is_completed(tmp_path: Path) -> None:
    async with house(tmp_path, bash("echo at work; sleep 60"), say("done"), policy=QUICK) as stage:
        add(stage, "t-1")
        await stage.until(events.AgentLaunched, agent="echo-001")
        await stage.process("sleep 60", "echo-001")
        await desk(stage.daemon).cancel("t-1", "eva", "not wanted any more")
        ended = await stage.ended("echo-001")
        task = stage.daemon.board.tasks.get("t-1")
    assert ended.after is AgentState.STOPPED
    assert "has lost its claim of task t-1" in ended.why
    assert (task.state, task.runs[0].outcome) == (TaskState.CANCELLED, "be cancelled")


class Slow:
    """A completion whose task is cancelled meanwhile."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.lost = False

    async def complete(self, finished: FinishedRun, move: MoveTask) -> NextStep:
        await desk(self.daemon).cancel(finished.task.id, "eva", "")
        try:
            move(TaskStep.MERGE, "to be merged")
        except LostClaimError:
            self.lost = True
            raise
        return NextStep(TaskStep.SUCCEED, "merged")


async def test_a_run_that_loses_its_claim_at_its_completion_merges_nothing(tmp_path: Path) -> None:
    made: list[Slow] = []

    def slow(daemon: Daemon) -> Slow:
        made.append(Slow(daemon))
        return made[0]

    async with house(tmp_path, say("done"), policy=QUICK, completion=slow) as stage:
        add(stage, "t-1")
        task = await state_of(stage, "t-1", TaskState.CANCELLED)
        await stage.ended("echo-001")
    assert made[0].lost
    assert steps(task) == ["added", "be claimed", "be cancelled"]


async def test_a_repository_that_vanished_fails_the_task_and_says_so(tmp_path: Path) -> None:
    async with house(tmp_path, say("done"), policy=QUICK) as stage:
        add(stage, "t-1", repository=str(tmp_path / "gone"))
        failed = await state_of(stage, "t-1", TaskState.FAILED)
    assert "does not exist" in failed.why
