"""The way from an agent that is done to a task that is done.

A task whose agent ended well is handed to a `Completion`, which answers with the step that follows. It may have the
task take steps meanwhile, as into `verifying`. A daemon that is killed meanwhile asks again at its next start, with the
task in the state in which it was, so a completion must be able to begin again anywhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from monitors.contract.errors import ChaperonError
from supervisor.core.tasks.records import StoredTask
from supervisor.protocol.tasks import TaskStep


class LostClaimError(ChaperonError):
    """A run has lost its claim of a task, so nothing of it counts any more."""

    def __init__(self, task: str, run_id: str) -> None:
        """Name both."""
        super().__init__(f"Run {run_id} has lost its claim of task {task}; nothing more was done for it.")
        self.task, self.run_id = task, run_id


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run whose agent ended well."""

    task: StoredTask
    """The task as it is now: its state says how far an earlier daemon came."""
    run_id: str
    agent: str
    workspace: str
    """Absolute path of the worktree with the work."""
    branch: str
    """The branch of a workspace that was made for the agent; empty if it worked in place."""
    session_id: str
    """The session of the CLI, which can be resumed there."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """The step that follows."""

    step: TaskStep
    """One of `SUCCEED`, `FAIL`, `PARK`, `GIVE_BACK` and `REWORK`."""
    why: str
    """The reason; for `REWORK` the message to the agent, which goes on in its session."""
    tried: bool = False
    """For `GIVE_BACK`: whether the run counts as an attempt that failed."""


MoveTask = Callable[[TaskStep, str], StoredTask]
"""Has the task take a step on the way, for a reason; raises LostClaimError if its run has lost the claim."""


class Completion(Protocol):
    """Brings a finished run's work to its end."""

    async def complete(self, finished: FinishedRun, move: MoveTask) -> NextStep:
        """Return the step that follows. It may take hours, and is cancelled if the daemon ends.

        Raises:
            ChaperonError: It could not be brought to an end; the task is parked, with the sentence as its reason.
        """
        ...


class NothingToComplete:
    """The completion where nothing is verified and nothing merged: the agent's word counts."""

    async def complete(self, finished: FinishedRun, move: MoveTask) -> NextStep:  # noqa: ARG002 - the protocol's signature
        """The task is done."""
        return NextStep(TaskStep.SUCCEED, f"agent {finished.agent} is done")
