"""The words of stored tasks, which exist apart from the agents that try them.

A stored task is claimed by an agent, and outlives it. The legal steps between its states are the table of
`supervisor.core.tasks.states`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from monitors.contract.words import MonitoringLevel
from supervisor.protocol.words import MergeMode

TaskWorkspace = Literal["in-place", "new"]
"""In which worktree a stored task is worked on: the one that was named, or one of its own."""


class TaskState(StrEnum):
    """The state of a stored task."""

    PENDING = "pending"
    """In the queue: no agent has it."""
    ACTIVE = "active"
    """An agent works on it."""
    PAUSED = "paused"
    """Its agent is held by a person."""
    WAITING = "waiting"
    """Its agent waits for a person's answer."""
    VERIFYING = "verifying"
    """Its agent is done, and its check command decides."""
    MERGING = "merging"
    """Its work is on its way into the target branch."""
    DONE = "done"
    """Its work is finished, verified and merged as far as was asked."""
    FAILED = "failed"
    """Every attempt that it may have failed."""
    PARKED = "parked"
    """Left for a person to decide, with all of its work kept."""
    CANCELLED = "cancelled"
    """Taken back by a person."""

    @property
    def held(self) -> bool:
        """Whether a run has it, and with it one of the slots."""
        return self in _HELD

    @property
    def over(self) -> bool:
        """Whether nothing follows unless a person asks for it."""
        return self in _OVER


_HELD = frozenset({TaskState.ACTIVE, TaskState.PAUSED, TaskState.WAITING, TaskState.VERIFYING, TaskState.MERGING})
_OVER = frozenset({TaskState.DONE, TaskState.FAILED, TaskState.PARKED, TaskState.CANCELLED})


class TaskStep(StrEnum):
    """Steps of a stored task, each as the text that completes "cannot …"."""

    CLAIM = "be claimed"
    PAUSE = "be paused"
    ASK = "wait for a person"
    GO_ON = "go on"
    VERIFY = "be verified"
    MERGE = "be merged"
    REWORK = "go back to an agent"
    GIVE_BACK = "go back to the queue"
    SUCCEED = "be done"
    FAIL = "fail"
    PARK = "be parked"
    CANCEL = "be cancelled"
    RETRY = "be tried again"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """The work to be done, its place and its bounds. None means: as configured."""

    id: str
    """Example: `t-3f9a01bc`."""
    prompt: str
    """The prompt for the agent, word for word."""
    repository: str
    """Absolute path of the top of a git worktree."""
    goals: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    expected_paths: tuple[str, ...] = ()
    base: str | None = None
    """The commit that a new workspace starts from."""
    priority: int = 0
    """Higher ones are claimed first."""
    depends_on: tuple[str, ...] = ()
    """Ids of the tasks that must be done before."""
    limits: Mapping[str, Any] | None = None
    """Limits of its own by their names in `Limits`; the others are as configured."""
    max_cost_usd: float | None = None
    verify: str | None = None
    """Command of the shell that must exit with 0 before the task is done; empty for none whatever is configured."""
    merge: MergeMode | None = None
    target: str | None = None
    """Branch that its work is meant for; None: the one that its repository has checked out."""
    retries: int | None = None
    """How many more attempts follow on ones that failed."""
    labels: tuple[str, ...] = ()
    workspace: TaskWorkspace = "new"
    permission_mode: str | None = None
    approval: Mapping[str, Any] | None = None
    """Keys of the configuration's section `approval` for this task."""
    name_prefix: str | None = None
    """Its agents are named by it and a number. Example: `echo` for `echo-001`."""
    model: str | None = None
    monitoring_level: MonitoringLevel = MonitoringLevel.NORMAL
    with_agent: bool = False
    """Whether it was submitted together with its agent. No other is begun for it by the queue: in place of going back
    there it is cancelled."""

    @property
    def step_back(self) -> "TaskStep":
        """The step by which it leaves an agent that did not end it."""
        return TaskStep.CANCEL if self.with_agent else TaskStep.GIVE_BACK


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One attempt at a task: the claim of one agent."""

    run_id: str
    agent: str
    began_at: float
    """Unix time in seconds."""
    rework: str = ""
    """The reason why it goes on with an earlier run's work; empty if it does not."""
    ended_at: float | None = None
    outcome: str = ""
    """The step by which it ended; empty while it has the task."""
    why: str = ""
