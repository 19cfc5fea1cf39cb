"""The tasks and merges of a project as they are now; agents are in tests/supervisor/runtime/projects."""

from dataclasses import replace
from datetime import UTC, datetime

from pydantic import TypeAdapter

from supervisor.core.board import Board
from supervisor.core.project_marks import agents_of, marks_of_agents, marks_of_tasks, merges_of
from supervisor.core.session import Session
from supervisor.protocol.events import TaskSubmitted
from supervisor.protocol.kinds.merges import MergeChanged
from supervisor.protocol.kinds.stamp import EventStamp
from supervisor.protocol.kinds.tasks import TaskClaimed, TaskMoved, TasksAdded
from supervisor.protocol.merges import Merge, MergePhase
from supervisor.protocol.projects import ProjectCheckpoint
from supervisor.protocol.tasks import TaskSpec, TaskState, TaskStep
from tests.stages.session import Play
from tests.supervisor.core.test_board import play_of

STAMP = EventStamp(agent="", at=1.0, mono=1.0)


def no_session(_: TaskSubmitted) -> Session:
    raise AssertionError("no agent is started here")


def board_with(*specs: TaskSpec) -> Board:
    board = Board(no_session)
    board.see(1, TasksAdded(**STAMP, request_id="q", tasks=specs, by="ann"))
    return board


def test_only_tasks_of_the_projects_worktrees_count_and_done_ones_by_name_alone() -> None:
    specs = [TaskSpec(id=f"t-{n}", prompt="go", repository="/repo", priority=n) for n in range(2)]
    board = board_with(*specs, TaskSpec(id="t-other", prompt="go", repository="/other"))
    board.see(2, TaskClaimed(**STAMP, task="t-0", run_id="r-1", worker="echo-001"))
    before, done, step = TaskState.ACTIVE, TaskState.DONE, TaskStep.SUCCEED
    board.see(3, TaskMoved(**STAMP, task="t-0", before=before, after=done, step=step, why="", by="x", run_id="r-1"))
    board.see(4, TaskClaimed(**STAMP, task="t-1", run_id="r-2", worker="echo-002"))
    (mark,), finished = marks_of_tasks(board, {"/repo", "/repo-side"})
    assert finished == ("t-0",)
    assert (mark.id, mark.state, mark.priority, mark.rank) == ("t-1", TaskState.ACTIVE, 1, 2.0)
    assert [run.agent for run in mark.runs] == ["echo-002"]


def test_merges_that_were_withdrawn_and_those_of_others_are_left_out() -> None:
    board = board_with()
    for number, (project, phase) in enumerate(
        [("/repo", MergePhase.PROPOSED), ("/repo", MergePhase.WITHDRAWN), ("/other", MergePhase.PROPOSED)]
    ):
        merge = Merge(
            id=f"a{number}", task="t", project=project, branch="b", base="", target="main", phase=phase, why=""
        )
        board.see(number + 2, MergeChanged(**STAMP, merge=merge))
    assert [merge.id for merge in merges_of(board, "/repo")] == ["a0"]
    assert agents_of(board, "/repo") == []
    assert marks_of_agents(board, "/repo", 1.0) == ()


def test_the_example_of_checkpoint_data_is_kept_fact_by_fact() -> None:
    """The example of the multi-agent document: name, time, commit, tasks with their states, agents with their turns."""
    board = Board(lambda submitted: Play().make(submitted))
    specs = tuple(TaskSpec(id=f"task-00{n}", prompt="go", repository="/repo") for n in (1, 2, 3))
    board.see(1, TasksAdded(**STAMP, request_id="q", tasks=specs, by="ann"))
    board.see(2, TaskClaimed(**STAMP, task="task-001", run_id="r-1", worker="echo-009"))
    before, done, step = TaskState.ACTIVE, TaskState.DONE, TaskStep.SUCCEED
    board.see(
        3, TaskMoved(**STAMP, task="task-001", before=before, after=done, step=step, why="", by="x", run_id="r-1")
    )
    board.see(4, TaskClaimed(**STAMP, task="task-002", run_id="r-2", worker="echo-001"))
    agent = play_of("echo-001")
    board.see(5, replace(agent, task=replace(agent.task, id="task-002"), run_id="r-2", project="/repo"))
    board.summary("echo-001").turns = 5
    undone, finished = marks_of_tasks(board, {"/repo"})
    made = ProjectCheckpoint(
        name="before-auth-refactor",
        project="/repo",
        at=datetime.fromisoformat("2026-01-13T12:00:00Z").timestamp(),
        reason="person",
        by="ann",
        branches={"refs/heads/main": "abc123"},
        agents=marks_of_agents(board, "/repo", 1.0),
        tasks=undone,
        done=finished,
    )
    kept = TypeAdapter(ProjectCheckpoint).validate_json(TypeAdapter(ProjectCheckpoint).dump_json(made))
    assert (kept.name, kept.branches["refs/heads/main"]) == ("before-auth-refactor", "abc123")
    assert datetime.fromtimestamp(kept.at, UTC).isoformat() == "2026-01-13T12:00:00+00:00"
    states = {**dict.fromkeys(kept.done, "done"), **{mark.id: str(mark.state) for mark in kept.tasks}}
    assert states == {"task-001": "done", "task-002": "active", "task-003": "pending"}
    assert [(one.agent, one.task, one.turns) for one in kept.agents] == [("echo-001", "task-002", 5)]
