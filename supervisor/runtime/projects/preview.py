"""The effect that a rollback of a project would have now. Nothing is changed for it."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio.to_thread

from checkpoints import project_refs
from checkpoints.worktrees import BRANCHES
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from supervisor.core.project_marks import agents_of, tasks_of
from supervisor.core.projects.going_back import agents_going_back, tasks_going_back
from supervisor.protocol.projects import ProjectCheckpoint
from supervisor.runtime.projects.checkpoints import ProjectCheckpoints, ProjectParts

MOST_PATHS = 200
"""Paths of a worktree that a plan names."""


@dataclass(frozen=True, slots=True)
class WorktreePlan:
    """The change of one worktree."""

    path: str
    lost: tuple[str, ...]
    """Paths that were changed or made since, the first of them; they stay in the undo."""
    count: int
    """How many those are."""
    back: int
    """How many paths come back that were removed since."""
    kept: tuple[str, ...] = ()
    """Paths that stay as they are, each with the reason."""


@dataclass(frozen=True, slots=True)
class BranchPlan:
    """The change of one branch."""

    name: str
    now: str
    """The commit on which it stands; empty if it is gone."""
    then: str
    """The commit to which it goes; empty if it goes altogether."""
    commits: int
    """Commits that go with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPlan:
    """The effect of a rollback of a project."""

    checkpoint: str
    project: str
    at: float
    """Unix time of the checkpoint, in seconds."""
    with_branches: bool
    worktrees: tuple[WorktreePlan, ...] = ()
    """Those whose files change."""
    closed: tuple[str, ...] = ()
    """Worktrees that go: the checkpoint does not know them."""
    made_again: tuple[str, ...] = ()
    """Worktrees that are gone and come back."""
    branches: tuple[BranchPlan, ...] = ()
    under_way: tuple[str, ...] = ()
    """Stored tasks that an agent has now."""
    finished: tuple[str, ...] = ()
    """Stored tasks that were done since."""
    stay_done: dict[str, str] = field(default_factory=dict)
    """Those of them that stay done, each with the branch that keeps its work."""
    tasks: dict[str, str] = field(default_factory=dict)
    """Stored tasks that change, each with the state that it will have."""
    agents_back: tuple[str, ...] = ()
    """Agents whose conversations go back."""
    agents_ended: dict[str, str] = field(default_factory=dict)
    """Agents that are ended, each with the reason."""
    unusual: str = ""
    """Why this needs a second confirmation; empty if it is of usual size."""
    warnings: tuple[str, ...] = ()


async def preview(
    parts: ProjectParts, checkpoints: ProjectCheckpoints, target: ProjectCheckpoint, *, with_branches: bool
) -> ProjectPlan:
    """Return what a rollback would do now.

    Args:
        parts: The daemon.
        checkpoints: Finds worktrees and repositories of the project.
        target: Where it would go back to.
        with_branches: Whether branches go back as well.

    Raises:
        ChaperonError: It cannot be said.
    """
    board, project = parts.board, target.project
    worktrees, branches = await checkpoints.found(project)
    here, then = {one.path: one for one in worktrees}, {one.path for one in target.workspaces}
    agents = agents_going_back(target, agents_of(board, project))
    repositories = await checkpoints.repositories(project)
    tasks = tasks_going_back(
        target,
        tasks_of(board, {*repositories, project}),
        board.merges.all(),
        agents.back,
        parts.stamp("")["at"],
        with_branches=with_branches,
    )
    plans, unusual = list[WorktreePlan](), list[str]()
    warnings = [
        f"{mark.path} is gone and was not made by chaperon; it stays away, and its files are in {mark.checkpoint}."
        for mark in target.workspaces
        if mark.path not in here and mark.made is None
    ]
    for mark in target.workspaces:
        if mark.path in here:
            plan = await parts.checkpoint_manager.preview(mark.path, mark.checkpoint)
            unusual += [f"{mark.path}: {plan.unusual}"] if plan.unusual else []
            lost = tuple(one.path for one in plan.lost if one.change != "deleted")
            kept = tuple(f"{one.path}: {one.why}" for one in plan.kept)
            if plan.lost or kept:
                back = len(plan.lost) - len(lost)
                plans.append(WorktreePlan(mark.path, lost[:MOST_PATHS], len(lost), back, kept[:MOST_PATHS]))
            if here[mark.path].branch != mark.branch and not with_branches:
                warnings.append(f"{mark.path} was on another branch then; it stays on the one that it is on.")
    others = [one.path for one in worktrees if one.made is None and one.path not in then]
    warnings += [f"{path} was made since and not by chaperon; it stays as it is." for path in others]
    if tasks.merged:
        count = counted(len(tasks.merged), "task")
        warnings.append(
            f"{count} done since would stay done, for the work is merged and branches stay. --with-branch takes it back."
        )
    moves = await anyio.to_thread.run_sync(_moves, target, branches) if with_branches else ()
    return ProjectPlan(
        checkpoint=target.name,
        project=project,
        at=target.at,
        with_branches=with_branches,
        worktrees=tuple(plans),
        closed=tuple(one.path for one in worktrees if one.made is not None and one.path not in then),
        made_again=tuple(mark.path for mark in target.workspaces if mark.path not in here and mark.made is not None),
        branches=moves,
        under_way=tasks.under_way,
        finished=tasks.finished,
        stay_done=dict(tasks.merged),
        tasks={mark.id: str(mark.state) for mark in tasks.changed},
        agents_back=agents.back,
        agents_ended=dict(agents.ended),
        unusual=" ".join(unusual),
        warnings=tuple(warnings),
    )


def _moves(target: ProjectCheckpoint, now: dict[str, str]) -> tuple[BranchPlan, ...]:
    """Return the branches that change. Blocks."""
    project, found = Path(target.project), list[BranchPlan]()
    for name, then in target.branches.items():
        if now.get(name, "") != then:
            found.append(
                BranchPlan(
                    _short(name),
                    now.get(name, ""),
                    then,
                    project_refs.commits_between(project, (then,), now.get(name, "")),
                )
            )
    known = tuple(target.branches.values())
    for name, tip in now.items():
        if name not in target.branches and name.startswith(f"{project_refs.BRANCH}{BRANCHES}"):
            found.append(BranchPlan(_short(name), tip, "", project_refs.commits_between(project, known, tip)))
    return tuple(found)


def _short(name: str) -> str:
    return name.removeprefix(project_refs.BRANCH)


class UnusualRollbackError(ChaperonError):
    """A rollback of unusual size was not confirmed as such; nothing was changed."""
