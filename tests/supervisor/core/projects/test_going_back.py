"""What becomes of each task, agent and merge when a project goes back, as tables."""

from dataclasses import replace

import pytest

from monitors.contract.tasks import Task
from supervisor.core.fold.summary import Summary
from supervisor.core.projects.going_back import agents_going_back, merges_going_back, tasks_going_back
from supervisor.core.tasks.records import StoredTask
from supervisor.protocol.merges import Merge, MergePhase
from supervisor.protocol.projects import AgentMark, ProjectCheckpoint, TaskMark
from supervisor.protocol.tasks import TaskRun, TaskSpec, TaskState
from supervisor.protocol.words import AgentState

RUN = TaskRun("r-1", "echo-001", 1.0)
LATER = TaskRun("r-2", "echo-002", 5.0)


def target(*tasks: TaskMark, **about: object) -> ProjectCheckpoint:
    made = ProjectCheckpoint(name="before", project="/repo", at=3.0, reason="person", by="ann", tasks=tasks)
    return replace(made, **about)  # type: ignore[arg-type]


def mark(state: TaskState, *runs: TaskRun, **about: object) -> TaskMark:
    return replace(TaskMark("t", state, "then", 0, 7.0, runs=runs), **about)  # type: ignore[arg-type]


def task(state: TaskState, *runs: TaskRun, id_: str = "t", rank: float = 7.0) -> StoredTask:
    spec = TaskSpec(id=id_, prompt="go", repository="/repo")
    return StoredTask(spec, state, "now", "ann", 1.0, "ann", 9.0, rank, 1, runs=runs)


def gone_back(then: ProjectCheckpoint, now: StoredTask, **about: object) -> TaskMark | None:
    options: dict[str, object] = {"merges": (), "back": (), "with_branches": True, **about}
    found = tasks_going_back(then, [now], now=9.0, **options)  # type: ignore[arg-type]
    return found.changed[0] if found.changed else None


@pytest.mark.parametrize("state", [TaskState.DONE, TaskState.FAILED, TaskState.PARKED, TaskState.CANCELLED])
def test_a_task_that_was_pending_is_so_again_with_its_place_and_its_attempts(state: TaskState) -> None:
    then = mark(TaskState.PENDING, rank=2.0, tries=1, priority=5)
    assert gone_back(target(then), task(state, LATER, rank=9.0)) == then


@pytest.mark.parametrize("state", [TaskState.ACTIVE, TaskState.PAUSED, TaskState.VERIFYING, TaskState.MERGING])
def test_a_task_that_an_agent_had_goes_back_to_the_queue_with_the_run_that_had_it(state: TaskState) -> None:
    found = gone_back(target(mark(state, RUN)), task(TaskState.DONE, RUN, LATER))
    assert found is not None
    assert (found.state, [run.agent for run in found.runs]) == (TaskState.PENDING, ["echo-001"])
    assert (found.runs[0].outcome, found.runs[0].ended_at) == ("went back", 9.0)
    assert found.why == "its project went back to before, when echo-001 had it"


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.PARKED, TaskState.CANCELLED])
def test_a_task_that_was_over_is_so_again(state: TaskState) -> None:
    then = mark(state)
    assert gone_back(target(then), task(TaskState.PENDING)) == then


def test_a_task_that_was_added_since_waits_in_the_queue_unless_a_person_took_it_back() -> None:
    found = gone_back(target(), task(TaskState.DONE, LATER))
    assert found is not None
    assert (found.state, found.runs, found.runs_before) == (TaskState.PENDING, (), 1)
    assert gone_back(target(), task(TaskState.CANCELLED)) is None
    assert gone_back(target(), task(TaskState.PENDING)) is None


def with_agent(state: TaskState, *runs: TaskRun) -> StoredTask:
    known = task(state, *runs)
    return replace(known, spec=replace(known.spec, with_agent=True))


def test_a_task_that_was_submitted_with_its_agent_waits_for_no_other_one() -> None:
    for then, runs in ((target(), []), (target(mark(TaskState.ACTIVE, RUN)), ["echo-001"])):
        found = gone_back(then, with_agent(TaskState.DONE, RUN))
        assert found is not None
        assert (found.state, [run.agent for run in found.runs]) == (TaskState.CANCELLED, runs)
        assert found.why.endswith("it was submitted with its agent: chaperon task retry t")
        same = replace(with_agent(found.state, *found.runs), tries=found.tries, rank=found.rank)
        assert gone_back(then, same) is None, "done again, it changes nothing"
    again = mark(TaskState.PENDING, RUN)
    retried = gone_back(target(again), with_agent(TaskState.DONE, RUN, LATER))
    assert retried is not None
    assert retried.state is TaskState.PENDING, "a person had it tried again"


def test_a_task_that_was_done_is_done_and_one_that_did_not_change_is_left_alone() -> None:
    assert gone_back(target(done=("t",)), task(TaskState.DONE, RUN)) is None
    found = gone_back(target(done=("t",)), task(TaskState.ACTIVE, LATER))
    assert found is not None
    assert (found.state, found.runs[0].outcome) == (TaskState.DONE, "went back")
    assert gone_back(target(mark(TaskState.PENDING)), task(TaskState.PENDING)) is None


def test_an_agent_that_goes_back_keeps_its_task() -> None:
    assert gone_back(target(mark(TaskState.ACTIVE, RUN)), task(TaskState.WAITING, RUN), back=("echo-001",)) is None


def test_merged_work_whose_branch_stays_is_not_done_again() -> None:
    then, now = target(mark(TaskState.PENDING)), task(TaskState.DONE, LATER)
    found = tasks_going_back(then, [now], [merge("echo-002", MergePhase.MERGED)], (), 9.0, with_branches=False)
    assert (found.changed, found.finished, found.merged) == ((), ("t",), {"t": "main"})
    assert gone_back(then, now, merges=[merge("echo-002", MergePhase.MERGED)]) is not None


def agent(state: AgentState = AgentState.RUNNING, **about: object) -> Summary:
    known = Summary("a1", state, Task("t", "go", "/repo"), "/repo", "s", 0.0, run_id="r-1")
    return replace(known, **about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "back", "why"),
    [
        (agent(), ("a1",), ""),
        (agent(AgentState.PAUSED), ("a1",), ""),
        (agent(AgentState.WAITING), (), "it waits to be started again, so that it could not be told"),
        (agent(AgentState.STOPPING), (), "it is being stopped"),
        (agent(run_id="r-9"), (), "it has another task now"),
        (agent(agent="a2"), (), "it was started since"),
        (agent(agent="mine", origin="terminal"), ("mine",), ""),
    ],
)
def test_agents_that_were_at_work_then_go_back_and_others_are_ended(
    now: Summary, back: tuple[str, ...], why: str
) -> None:
    then = target(agents=(AgentMark("a1", "/repo", "running", "t", "r-1"),))
    found = agents_going_back(then, [now])
    assert found.back == back
    assert list(found.ended.values()) == ([why] if why else [])


def merge(id_: str, phase: MergePhase, **about: object) -> Merge:
    made = Merge(
        id=id_,
        task="t",
        project="/repo",
        branch=f"chaperon/{id_}",
        base="b",
        target="main",
        phase=phase,
        why="",
        by="ann",
    )
    return replace(made, **about)  # type: ignore[arg-type]


PROPOSED, MERGED, WITHDRAWN, QUEUED = MergePhase.PROPOSED, MergePhase.MERGED, MergePhase.WITHDRAWN, MergePhase.QUEUED


@pytest.mark.parametrize(
    ("then", "now", "with_branches", "superseded", "after"),
    [
        (None, PROPOSED, True, True, WITHDRAWN),
        (None, PROPOSED, True, False, PROPOSED),
        (None, QUEUED, True, False, PROPOSED),
        (None, MERGED, True, False, WITHDRAWN),
        (None, MERGED, False, True, MERGED),
        (PROPOSED, MERGED, True, False, PROPOSED),
        (PROPOSED, MERGED, False, False, MERGED),
        (QUEUED, MERGED, True, False, PROPOSED),
        (PROPOSED, WITHDRAWN, True, False, PROPOSED),
        (MERGED, WITHDRAWN, True, False, MERGED),
        (MERGED, WITHDRAWN, False, False, WITHDRAWN),
        (MERGED, MERGED, True, True, MERGED),
    ],
)
def test_a_merge_follows_its_task_and_its_branches(
    then: MergePhase | None, now: MergePhase, with_branches: bool, superseded: bool, after: MergePhase
) -> None:
    marks = target(merges=(merge("a1", then),) if then else ())
    tasks = ("t",) if superseded else ()
    found = merges_going_back(marks, [merge("a1", now)], tasks, (), with_branches=with_branches)
    assert [one.phase for one in found] == ([] if after is now else [after])
    again = merges_going_back(marks, found, tasks, (), with_branches=with_branches)
    assert again == (), "done again, it changes nothing"
