"""The records of the store: immutable, so that a snapshot needs no copy."""

from dataclasses import dataclass

from supervisor.protocol.tasks import TaskRun, TaskSpec, TaskState


@dataclass(frozen=True, slots=True)
class TaskHistoryEntry:
    """One step of a task, and who took it for which reason."""

    at: float
    """Unix time in seconds."""
    step: str
    """A step of the table, or `added`, `edited` or `reordered`."""
    state: TaskState
    """The state after it."""
    why: str
    by: str
    run_id: str = ""
    worker: str = ""
    """The agent of that run."""


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task, the run that has it, and what became of it so far."""

    spec: TaskSpec
    state: TaskState
    why: str
    """Why it is in its state."""
    by: str
    """The person or program that brought it there."""
    added_at: float
    added_by: str
    changed_at: float
    """Time of its last step, in Unix seconds."""
    rank: float
    """Its place among pending tasks of its priority: lower ones are claimed first."""
    number: int
    """Counts the tasks of the store."""
    runs: tuple[TaskRun, ...] = ()
    """The last of its runs, oldest first."""
    runs_before: int = 0
    """Runs that are not kept any more."""
    tries: int = 0
    """Attempts that failed since it was added, or since a person last asked for a retry."""
    not_before: float = 0.0
    """Unix time until which it is not claimed."""
    history: tuple[TaskHistoryEntry, ...] = ()

    @property
    def id(self) -> str:
        """Its id."""
        return self.spec.id

    @property
    def run(self) -> TaskRun | None:
        """The run that has it now; None if none does."""
        return self.runs[-1] if self.state.held and self.runs else None

    @property
    def last_run(self) -> TaskRun | None:
        """The run that has it, or had it last."""
        return self.runs[-1] if self.runs else None

    def held_by(self, run_id: str) -> bool:
        """Whether this run has it."""
        return self.run is not None and self.run.run_id == run_id
