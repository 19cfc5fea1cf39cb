"""The events of project checkpoints. They are the daemon's own, so that `agent` is empty."""

from dataclasses import dataclass
from typing import Literal

from supervisor.protocol.kinds.stamp import Event
from supervisor.protocol.projects import ProjectCheckpoint, ProjectRollback, TaskMark


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCheckpointMade(Event):
    """A project was captured whole under one name; its files and commits are held."""

    checkpoint: ProjectCheckpoint
    kind: Literal["project_checkpoint_made"] = "project_checkpoint_made"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCheckpointForgotten(Event):
    """A project checkpoint was let go of: by a person, or since there are many newer ones."""

    project: str
    name: str
    by: str
    kind: Literal["project_checkpoint_forgotten"] = "project_checkpoint_forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRollbackChanged(Event):
    """The rollback of a project was asked for, or took a step. While it is under way, nothing else begins there."""

    rollback: ProjectRollback
    kind: Literal["project_rollback_changed"] = "project_rollback_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksWentBack(Event):
    """Stored tasks went back with their project: states, places in the queue, attempts. It is no step of the table."""

    rollback: str
    """Id of the project's rollback."""
    tasks: tuple[TaskMark, ...]
    why: str
    by: str
    kind: Literal["tasks_went_back"] = "tasks_went_back"
