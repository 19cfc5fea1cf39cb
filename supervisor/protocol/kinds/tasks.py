"""The events of stored tasks, as the journal keeps them.

These events are the daemon's own, so that `agent` is empty: a task outlives its agents. A run is named by its id, and
what is said of a run that has lost its claim changes nothing.
"""

from dataclasses import dataclass
from typing import Literal

from supervisor.protocol.kinds.stamp import Event
from supervisor.protocol.tasks import TaskSpec, TaskState, TaskStep


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksAdded(Event):
    """Somebody wants these done; all of them, or, with a daemon that was killed meanwhile, none."""

    request_id: str
    """Id of the request, which is taken once however often it is sent."""
    tasks: tuple[TaskSpec, ...]
    by: str
    kind: Literal["tasks_added"] = "tasks_added"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEdited(Event):
    """A person changed what a task asks for. An agent that works on it goes on with what it was told."""

    task: TaskSpec
    """The task as it is from here on."""
    changed: tuple[str, ...]
    """The names of the fields that changed."""
    by: str
    kind: Literal["task_edited"] = "task_edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReordered(Event):
    """A person gave a task another place in the queue."""

    task: str
    before: str
    """The task that it stands before, whose priority it takes; empty: the end of those of its own priority."""
    by: str
    kind: Literal["task_reordered"] = "task_reordered"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskClaimed(Event):
    """A run took a task: the next one of the queue, or one that needs more work."""

    task: str
    run_id: str
    """Names the run; a later one has another."""
    worker: str
    """The agent's name."""
    rework: str = ""
    """Reason why the task goes back to an agent, as the agent is told it; empty for a task of the queue."""
    kind: Literal["task_claimed"] = "task_claimed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMoved(Event):
    """A task took a step of the table of states."""

    task: str
    before: TaskState
    after: TaskState
    step: TaskStep
    why: str
    by: str
    """The person, or `chaperon`."""
    run_id: str = ""
    """The run that had the task; empty if none did."""
    tried: bool = False
    """Whether the run counts as an attempt that failed, after which only so many retries are left."""
    not_before: float = 0.0
    """Unix time until which a task that went back to the queue is not claimed; 0 if it may be at once."""
    kind: Literal["task_moved"] = "task_moved"
