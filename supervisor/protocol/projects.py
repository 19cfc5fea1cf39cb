"""The words of project checkpoints: one name for all worktrees, branches, tasks and agents of a repository."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from supervisor.protocol.merges import Merge
from supervisor.protocol.tasks import TaskRun, TaskState


@dataclass(frozen=True, slots=True)
class MadeWorkspace:
    """The facts by which a worktree that chaperon made can be made again."""

    name: str
    branch: str
    """Without `refs/heads/`."""
    base: str
    """The commit that it was made at."""
    target: str = ""
    """The branch that its work is meant for, without `refs/heads/`."""


@dataclass(frozen=True, slots=True)
class WorkspaceMark:
    """One worktree, as it was."""

    path: str
    checkpoint: str
    """The checkpoint of its files in the project's store."""
    tree: str
    """The id of their tree."""
    branch: str = ""
    """Full name of the branch that HEAD named; empty if HEAD was detached, or there is no repository."""
    head: str = ""
    """The commit that HEAD stood on; empty without one."""
    made: MadeWorkspace | None = None
    """None if chaperon did not make it."""


@dataclass(frozen=True, slots=True)
class AgentMark:
    """One agent that was at work, as it was."""

    agent: str
    workspace: str
    state: str
    task: str
    """The stored task that it had; empty if its task was given to it alone."""
    run_id: str = ""
    """The run by which it had that."""
    turns: int = 0
    """How many of its turns had ended."""
    session_id: str = ""
    message_uuid: str = ""
    """The last message of that session at which it can be resumed."""


@dataclass(frozen=True, slots=True)
class TaskMark:
    """One stored task that was not done, as it was."""

    id: str
    state: TaskState
    why: str
    priority: int
    rank: float
    """Its place among pending tasks of its priority."""
    tries: int = 0
    not_before: float = 0.0
    runs: tuple[TaskRun, ...] = ()
    runs_before: int = 0
    """Runs that are not among these any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCheckpoint:
    """A moment that a whole project can go back to."""

    name: str
    project: str
    """The folder that stands for all worktrees of the repository."""
    at: float
    """Unix time in seconds."""
    reason: str
    """A word of `checkpoints.model.Reason`: `person`, `periodic`, `unattended` or `undo`."""
    by: str
    note: str = ""
    workspaces: tuple[WorkspaceMark, ...] = ()
    branches: Mapping[str, str] = field(default_factory=dict)
    """Full names of the repository's branches, each with its commit. A ref holds each of these commits."""
    agents: tuple[AgentMark, ...] = ()
    tasks: tuple[TaskMark, ...] = ()
    done: tuple[str, ...] = ()
    """Ids of the stored tasks that were done."""
    merges: tuple[Merge, ...] = ()
    """The merges that were not withdrawn."""

    @property
    def automatic(self) -> bool:
        """Whether chaperon made it by itself, so that it goes once there are many newer ones."""
        return self.reason != "person"


class ProjectPhase(StrEnum):
    """The phases of a project's rollback."""

    HOLDING = "holding"
    """Agents are brought to a standstill, and the present is captured. Nothing was changed yet."""
    APPLYING = "applying"
    """Files, branches and tasks go back; a daemon that starts meanwhile goes on with it."""
    RETURNING = "returning"
    """It could not be completed, and what was done of it is undone."""
    DONE = "done"
    FAILED = "failed"
    """Nothing was gone back to; the reason is with it."""

    @property
    def over(self) -> bool:
        """Whether the project's agents go on."""
        return self in (ProjectPhase.DONE, ProjectPhase.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRollback:
    """A rollback of a project: what was asked, how far it is, and what came of it."""

    id: str
    """Id of the request, which is carried out once however often it is sent."""
    project: str
    checkpoint: str
    by: str
    with_branches: bool = False
    """Whether branches move back as well."""
    phase: ProjectPhase = ProjectPhase.HOLDING
    repositories: tuple[str, ...] = ()
    """The worktrees that stored tasks name and that are of this project."""
    ended: tuple[str, ...] = ()
    """Agents that are ended by it, since they cannot go back."""
    undo: str = ""
    """The project checkpoint of what was there before: going back to it undoes this. Empty until it is made."""
    error: str = ""
    """Why nothing was gone back to."""
    restored: int = 0
    """Paths that were written, removed or changed, in all worktrees."""
    kept: tuple[str, ...] = ()
    """Paths and worktrees that were left as they are though the checkpoint has them otherwise, each with its reason."""
    closed: tuple[str, ...] = ()
    """Worktrees that the checkpoint does not know and that were removed; the undo has their content."""
    made_again: tuple[str, ...] = ()
    """Worktrees that were gone and are there again."""
    moved: tuple[str, ...] = ()
    """Branches that moved, came back or went."""
    tasks: tuple[str, ...] = ()
    """Stored tasks whose state or place went back."""
