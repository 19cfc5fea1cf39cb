"""Project checkpoints and rollbacks as a fold: once, whatever is read again, and whole from a snapshot."""

from dataclasses import replace

import pytest

from monitors.contract.errors import NotFoundError, UsageError
from supervisor.core.projects.known import MOST_AUTOMATIC, MOST_ROLLBACKS, Projects
from supervisor.protocol.kinds.projects import (
    ProjectCheckpointForgotten,
    ProjectCheckpointMade,
    ProjectRollbackChanged,
)
from supervisor.protocol.kinds.stamp import EventStamp
from supervisor.protocol.projects import ProjectCheckpoint, ProjectPhase, ProjectRollback, TaskMark, WorkspaceMark
from supervisor.protocol.tasks import TaskState

STAMP = EventStamp(agent="", at=1.0, mono=1.0)


def checkpoint(name: str = "before", project: str = "/repo", **about: object) -> ProjectCheckpoint:
    mark = TaskMark("t-1", TaskState.PENDING, "added", 0, 1.0)
    made = ProjectCheckpoint(
        name=name,
        project=project,
        at=1.0,
        reason="person",
        by="ann",
        workspaces=(WorkspaceMark(project, f"{name}.main", "tree"),),
        tasks=(mark,),
    )
    return replace(made, **about)  # type: ignore[arg-type]


def made(one: ProjectCheckpoint) -> ProjectCheckpointMade:
    return ProjectCheckpointMade(**STAMP, checkpoint=one)


def back(id_: str = "r1", phase: ProjectPhase = ProjectPhase.HOLDING) -> ProjectRollbackChanged:
    rollback = ProjectRollback(
        id=id_, project="/repo", checkpoint="before", by="ann", phase=phase, repositories=("/repo",)
    )
    return ProjectRollbackChanged(**STAMP, rollback=rollback)


def test_a_checkpoint_is_found_by_name_and_project_until_it_is_forgotten() -> None:
    known = Projects()
    known.remember(1, made(checkpoint()))
    known.remember(2, made(checkpoint(project="/other")))
    with pytest.raises(UsageError, match="2 projects have a checkpoint 'before'"):
        known.find("before")
    assert known.find("before", "/repo").project == "/repo"
    assert known.needs("/repo") == {"before.main"}
    assert known.pins("t-1")
    for project in ("/repo", "/other"):
        assert known.pins("t-1")
        known.remember(
            known._last_seq + 1, ProjectCheckpointForgotten(**STAMP, project=project, name="before", by="ann")
        )
    assert not known.pins("t-1")
    with pytest.raises(NotFoundError, match="no project checkpoint 'before'"):
        known.find("before", "/repo")


def test_what_is_read_again_counts_once() -> None:
    known = Projects()
    for _ in range(2):
        known.count(3, "/repo")
        known.remember(5, made(checkpoint()))
        known.remember(6, ProjectCheckpointForgotten(**STAMP, project="/repo", name="before", by="ann"))
    assert known.finished("/repo") == 1
    assert known.all() == []
    assert not known.pins("t-1")


def test_tasks_are_counted_until_a_checkpoint_is_made_for_their_number() -> None:
    known = Projects()
    for seq in (1, 2, 3):
        known.count(seq, "/repo")
    known.count(4, "")
    known.remember(5, made(checkpoint("named")))
    assert known.finished("/repo") == 3
    known.remember(6, made(checkpoint("after", reason="periodic")))
    assert known.finished("/repo") == 0


def test_those_that_chaperon_made_are_too_many_from_the_oldest_on_and_named_ones_never() -> None:
    known = Projects()
    known.remember(1, made(checkpoint("named")))
    for seq in range(2, MOST_AUTOMATIC + 4):
        known.remember(seq, made(checkpoint(f"auto-{seq}", reason="periodic")))
    assert [one.name for one in known.too_many("/repo")] == ["auto-2", "auto-3"]
    assert known.too_many("/other") == []


def test_a_project_that_goes_back_holds_its_repositories_until_that_is_over() -> None:
    known = Projects()
    known.remember(1, back())
    assert known.going_back("/repo") is not None
    assert known.holds("/repo") == "its project goes back to before"
    assert known.holds("/elsewhere") == ""
    known.remember(2, back(phase=ProjectPhase.DONE))
    assert known.going_back("/repo") is None
    assert known.holds("/repo") == ""
    found = known.rollback("r1")
    assert found is not None
    assert found.phase is ProjectPhase.DONE


def test_only_so_many_rollbacks_that_are_over_are_remembered() -> None:
    known = Projects()
    known.remember(1, back("under-way"))
    for seq in range(2, MOST_ROLLBACKS + 4):
        known.remember(seq, back(f"r{seq}", ProjectPhase.FAILED))
    assert known.rollback("r2") is None
    assert known.rollback("r4") is not None
    assert known.rollback("under-way") is not None


def test_a_snapshot_brings_all_of_it_back() -> None:
    known, restored = Projects(), Projects()
    known.count(1, "/repo")
    known.remember(2, made(checkpoint()))
    known.remember(3, back())
    restored.restore(known.as_json())
    restored.remember(3, back(phase=ProjectPhase.DONE))
    assert restored.as_json() == known.as_json()
    assert restored.pins("t-1")
    assert restored.going_back("/repo") is not None
