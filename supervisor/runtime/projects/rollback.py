"""A rollback of a project, step by step, so that a daemon that was killed goes on.

    holding ──► applying ──► done
       │            └──► returning ──► failed
       └──► failed

Nothing is changed while it holds. From `applying` on each step finds what is left of it to be done, and can be done
again: a daemon that starts meanwhile takes all of them once more.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import anyio.to_thread
import pygit2
from anyio.abc import TaskGroup

from checkpoints import project_refs
from checkpoints.model import CaptureContext, Reason
from checkpoints.workspace import repository
from checkpoints.worktrees import BRANCHES, Workspace
from monitors.contract.errors import ChaperonError, UsageError
from monitors.contract.words import Severity
from supervisor.core.project_marks import agents_of, tasks_of
from supervisor.core.projects.going_back import agents_going_back, merges_going_back, tasks_going_back
from supervisor.protocol import events
from supervisor.protocol.projects import ProjectCheckpoint, ProjectPhase, ProjectRollback, WorkspaceMark
from supervisor.protocol.tasks import TaskState
from supervisor.runtime.daemon_parts import FaultParts, MergingParts
from supervisor.runtime.journal.errors import JournalError
from supervisor.runtime.log import log
from supervisor.runtime.projects import worktree_files
from supervisor.runtime.projects.agents import AgentParts, ProjectAgents
from supervisor.runtime.projects.checkpoints import ProjectCheckpoints, ProjectParts
from supervisor.runtime.projects.preview import ProjectPlan, UnusualRollbackError, preview

MOST_KEPT = 100
"""Paths that were left as they are that the journal has of one rollback."""

StandStill = Callable[[ProjectRollback], Awaitable[None]]
"""Holds work on stored tasks for a rollback that has begun."""


class RollbackOfProjectParts(ProjectParts, AgentParts, MergingParts, FaultParts, Protocol):
    """The parts of the daemon that rollbacks of projects need."""

    def refuse_additions_for_now(self) -> None:
        """Refuse what cannot be kept now."""
        ...


class ProjectNotRestoredError(ChaperonError):
    """A project did not go back; the sentence says why, and how it was left."""


@dataclass(frozen=True, slots=True)
class ProjectRollbackRequest:
    """How a project is to go back."""

    checkpoint: str
    with_branches: bool = False
    unusual: bool = False
    """Whether a rollback of unusual size was confirmed."""


class ProjectRollbacks:
    """Carries out rollbacks of projects.

    Args:
        parts: The daemon.
        checkpoints: Makes the checkpoint that undoes a rollback.
        stand_still: Holds work on stored tasks.
        tasks: The task group of the work.
    """

    def __init__(
        self, parts: RollbackOfProjectParts, checkpoints: ProjectCheckpoints, stand_still: StandStill, tasks: TaskGroup
    ) -> None:
        self._parts = parts
        self._tasks = tasks
        self._checkpoints = checkpoints
        self._stand_still = stand_still
        self.agents = ProjectAgents(parts)
        self._over: dict[str, anyio.Event] = {}

    async def roll_back(self, project: str, how: ProjectRollbackRequest, by: str, request_id: str) -> ProjectRollback:
        """Go back; done when this returns. A request that is sent again is carried out once.

        Args:
            project: The folder that stands for all worktrees of the repository.
            how: Where to, and whether branches go back.
            by: The person.
            request_id: Names the request.

        Raises:
            NotFoundError: There is no such checkpoint.
            UsageError: It cannot be, or another request had this id.
                UnusualRollbackError: It is of unusual size, and that was not confirmed.
            ProjectNotRestoredError: It was not done.
        """
        board = self._parts.board
        known = board.projects.rollback(request_id)
        if known is not None and (known.project, known.checkpoint, known.with_branches) != (
            project,
            how.checkpoint,
            how.with_branches,
        ):
            raise UsageError(f"Another rollback had the id {request_id!r}; nothing was done.", way_out="Take a new id.")
        if known is None:
            await self._refuse_unusual(project, how)
            repositories = await self._checkpoints.repositories(project)
            if board.projects.going_back(project) is not None or board.projects.rollback(request_id) is not None:
                raise UsageError(f"{project} goes back right now; nothing else was begun.")
            begun = ProjectRollback(
                id=request_id,
                project=project,
                checkpoint=how.checkpoint,
                by=by,
                with_branches=how.with_branches,
                repositories=tuple(sorted({*repositories, project})),
            )
            self._step(begun)
            self.go_on(begun.id)
        while not (now := self._now(request_id)).phase.over:
            await self._over.setdefault(request_id, anyio.Event()).wait()
        await self._parts.journal.written(self._parts.journal.last)
        if now.phase is ProjectPhase.FAILED:
            raise ProjectNotRestoredError(f"{project} did not go back to {how.checkpoint}: {now.error}")
        return now

    async def check(self, project: str, how: ProjectRollbackRequest) -> ProjectCheckpoint:
        """Refuse a rollback that cannot be, and return its target.

        Raises:
            NotFoundError: There is no such checkpoint, or a part of it is gone.
            UsageError: An agent has no session, a rollback is under way, or git is in the middle of something.
            UnavailableError: The daemon is ending, or its disk is full.
        """
        board = self._parts.board
        target = board.projects.find(how.checkpoint, project)
        self._parts.refuse_additions_for_now()
        if (back := board.projects.going_back(project)) is not None:
            raise UsageError(f"{project} goes back to {back.checkpoint} right now; nothing else was begun.")
        for agent, known in board.unmade.items():
            if known.project == project:
                board.refuse_unmade(agent)
        for mark in target.workspaces:
            await worktree_files.find_part(self._parts.checkpoint_manager, project, mark.checkpoint)
        if how.with_branches:
            await anyio.to_thread.run_sync(_refuse_operations, target)
        return target

    async def plan(self, project: str, how: ProjectRollbackRequest) -> ProjectPlan:
        """Return what a rollback would do now; raises like `check`."""
        target = await self.check(project, how)
        return await preview(self._parts, self._checkpoints, target, with_branches=how.with_branches)

    async def _refuse_unusual(self, project: str, how: ProjectRollbackRequest) -> None:
        if how.unusual:
            await self.check(project, how)
        elif unusual := (await self.plan(project, how)).unusual:
            raise UnusualRollbackError(
                f"Going back to {how.checkpoint} is of unusual size. {unusual} Nothing was changed.",
                way_out="Look at what is lost, and confirm the size as well (--unusual).",
            )

    def go_on(self, id_: str) -> None:
        """Carry a rollback on that was begun, now or by a daemon before this one."""
        self._tasks.start_soon(self._carry_on, id_, name=f"rollback {id_}")

    # ── the phases ────────────────────────────────────────────────────────────────────────────────────────────────

    async def _carry_on(self, id_: str) -> None:
        try:
            if self._now(id_).phase is ProjectPhase.HOLDING:
                await self._hold(id_)
            if self._now(id_).phase is ProjectPhase.APPLYING:
                await self._apply(id_)
            if self._now(id_).phase is ProjectPhase.RETURNING:
                await self._return(id_)
        finally:
            if self._now(id_).phase.over:
                self.agents.let_go(id_)
                self._parts.merging.go_on()
                self._over.pop(id_, anyio.Event()).set()

    async def _hold(self, id_: str) -> None:
        """Bring everything to a standstill and capture the present; whatever fails leaves all as it was."""
        rollback = self._now(id_)
        try:
            await self._all_still(rollback)
            undo = f"undo-{rollback.checkpoint[:40]}-{sha256(id_.encode()).hexdigest()[:8]}"
            if self._parts.board.projects.get(rollback.project, undo) is not None:  # of before the daemon was killed
                await self._checkpoints.forget(undo, rollback.project, "chaperon")
            note = f"before {rollback.project} went back to {rollback.checkpoint}"
            await self._checkpoints.make(rollback.project, undo, rollback.by, reason=Reason.UNDO, note=note)
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever failed, the agents stand still until they are told
            if not isinstance(error, ChaperonError):
                log.exception("the rollback %s of %s failed", id_, rollback.project)
            await self._written(replace(rollback, phase=ProjectPhase.FAILED, error=f"{error} Nothing was changed."))
            return
        target = self._target(rollback)
        ended = agents_going_back(target, agents_of(self._parts.board, rollback.project)).ended
        await self._written(replace(rollback, phase=ProjectPhase.APPLYING, undo=undo, ended=tuple(ended)))

    async def _apply(self, id_: str) -> None:
        rollback = self._now(id_)
        try:
            done = await self._bring_back(rollback, self._target(rollback), with_branches=rollback.with_branches)
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever failed, the project must not stay half-way
            if not isinstance(error, ChaperonError):
                log.exception("the rollback %s of %s failed", id_, rollback.project)
            await self._written(replace(rollback, phase=ProjectPhase.RETURNING, error=str(error)))
            return
        await self._written(replace(done, phase=ProjectPhase.DONE))

    async def _return(self, id_: str) -> None:
        """Undo what was done of a rollback that could not be completed."""
        rollback = self._now(id_)
        undo = self._parts.board.projects.find(rollback.undo, rollback.project)
        try:
            await self._bring_back(rollback, undo, with_branches=True)
            error = f"{rollback.error} All of it was put back."
        except JournalError:
            raise
        except Exception as problem:  # noqa: BLE001 - a person has to know, and the agents must not wait for ever
            log.exception("the rollback %s of %s could not be undone", id_, rollback.project)
            error = f"{rollback.error} Not all of it could be put back: {problem}"
            way_out = f"chaperon rollback {rollback.undo} --project {rollback.project} --with-branch"
            self._parts.fault("", "project_half_restored", error, Severity.CRITICAL, way_out)
        await self._written(replace(rollback, phase=ProjectPhase.FAILED, error=error))

    async def _all_still(self, rollback: ProjectRollback) -> None:
        await self._stand_still(rollback)
        await self._parts.merging.stand_still(rollback.project)
        await self.agents.stand_still(rollback)

    # ── what goes back ────────────────────────────────────────────────────────────────────────────────────────────

    async def _bring_back(
        self, rollback: ProjectRollback, target: ProjectCheckpoint, *, with_branches: bool
    ) -> ProjectRollback:
        """Have everything be as in a checkpoint; done again, it changes nothing."""
        board, manager, project = self._parts.board, self._parts.checkpoint_manager, rollback.project
        undo = board.projects.find(rollback.undo, project)
        await self._all_still(rollback)
        going = agents_going_back(target, agents_of(board, project))
        await self.agents.end(tuple(going.ended), f"its project goes back to {rollback.checkpoint}")
        closed = await self._close_orphans(undo, target)
        made = {one.path for one in undo.workspaces}
        again, kept = await self._make_again(project, target, made)
        gone = frozenset(_own_branches(undo) - set(target.branches)) if with_branches else frozenset[str]()
        moved: tuple[str, ...] = ()
        if with_branches:
            note = f"chaperon: back to {target.name}"
            await anyio.to_thread.run_sync(project_refs.set_branches, Path(project), target.branches, gone, note)
            moved = _moved(undo, target, gone)
        restored = 0
        trees = {one.path: one for one in undo.workspaces}
        for mark in target.workspaces:
            if not await anyio.Path(mark.path).is_dir():
                continue
            if with_branches:
                await self._set_head(rollback, mark)
            was = trees.get(mark.path)
            present = CaptureContext(Reason.UNDO, self._parts.stamp("")["at"], frozen=True)
            left = await worktree_files.set_back(manager, mark.path, mark.checkpoint, was.tree if was else "", present)
            kept += [f"{mark.path}/{one.path}: {one.why}" for one in left]
            if was is not None:
                restored += await worktree_files.compare_parts(manager, project, was.checkpoint, mark.checkpoint)
        tasks = self._set_tasks(rollback, target, going.back, with_branches=with_branches)
        await self._set_merges(rollback, target, gone, with_branches=with_branches)
        return replace(
            rollback,
            restored=restored,
            kept=tuple(kept[:MOST_KEPT]),
            closed=closed,
            made_again=again,
            moved=moved,
            tasks=tasks,
        )

    async def _close_orphans(self, undo: ProjectCheckpoint, target: ProjectCheckpoint) -> tuple[str, ...]:
        """Remove the worktrees of chaperon's that the target does not know; the undo has their content and commits."""
        orphans = orphans_of(undo, target)
        for workspace in await self._parts.worktrees.all():
            if workspace.path in orphans:
                await self._parts.checkpoint_manager.release(workspace.path)
                await self._parts.worktrees.discard(workspace)
        return orphans

    async def _make_again(
        self, project: str, target: ProjectCheckpoint, known: set[str]
    ) -> tuple[tuple[str, ...], list[str]]:
        """Make worktrees again that were there then; returns those that are made, and what cannot be."""
        again, kept = list[str](), list[str]()
        for mark in target.workspaces:
            if mark.made is not None:
                await self._parts.checkpoint_manager.release(mark.path) if mark.path not in known else None
                made = mark.made
                workspace = Workspace(made.name, mark.path, made.branch, made.base, project, target=made.target)
                await self._parts.worktrees.make_again(workspace, mark.head or made.base)
                again += [mark.path] if mark.path not in known else []
            elif not await anyio.Path(mark.path).is_dir():
                kept.append(f"{mark.path}: it is gone and was not made by chaperon; its files are in {mark.checkpoint}")
        return tuple(again), kept

    async def _set_head(self, rollback: ProjectRollback, mark: WorkspaceMark) -> None:
        label = mark.checkpoint.rpartition(".")[2]
        holding = f"{project_refs.HOLDING}{self._checkpoints.held_as(rollback.undo)}/{project_refs.INDEXES}{label}"

        def work() -> None:
            project_refs.set_head(Path(mark.path), mark.branch, mark.head, hold_index_as=holding)

        await anyio.to_thread.run_sync(work)

    def _set_tasks(
        self, rollback: ProjectRollback, target: ProjectCheckpoint, back: tuple[str, ...], *, with_branches: bool
    ) -> tuple[str, ...]:
        board, stamp = self._parts.board, self._parts.stamp("")
        tasks, merges = tasks_of(board, rollback.repositories), board.merges.all()
        going = tasks_going_back(target, tasks, merges, back, stamp["at"], with_branches=with_branches)
        why = f"its project went back to {target.name}"
        if going.changed:
            went = events.TasksWentBack(**stamp, rollback=rollback.id, tasks=going.changed, why=why, by=rollback.by)
            self._parts.happened(went)
        return tuple(mark.id for mark in going.changed)

    async def _set_merges(
        self, rollback: ProjectRollback, target: ProjectCheckpoint, gone: frozenset[str], *, with_branches: bool
    ) -> None:
        board = self._parts.board
        mine = [one for one in board.merges.all() if one.project == rollback.project]
        done = set(target.done)
        tasks = [
            task.id
            for task in tasks_of(board, rollback.repositories)
            if (task.state is TaskState.PENDING or (task.spec.with_agent and task.state is TaskState.CANCELLED))
            and task.id not in done
        ]
        names = {name.removeprefix(project_refs.BRANCH) for name in gone}
        for merge in merges_going_back(target, mine, tasks, names, with_branches=with_branches):
            await self._parts.merging.set_back(merge)

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _now(self, id_: str) -> ProjectRollback:
        known = self._parts.board.projects.rollback(id_)
        assert known is not None
        return known

    def _target(self, rollback: ProjectRollback) -> ProjectCheckpoint:
        return self._parts.board.projects.find(rollback.checkpoint, rollback.project)

    def _step(self, rollback: ProjectRollback) -> int:
        return self._parts.happened(events.ProjectRollbackChanged(**self._parts.stamp(""), rollback=rollback))

    async def _written(self, rollback: ProjectRollback) -> None:
        """Journal a step; it is on the disk when this returns."""
        await self._parts.journal.written(self._step(rollback))


def orphans_of(present: ProjectCheckpoint, target: ProjectCheckpoint) -> tuple[str, ...]:
    """Return the worktrees that chaperon made and that the target does not know."""
    then = {mark.path for mark in target.workspaces}
    return tuple(mark.path for mark in present.workspaces if mark.made is not None and mark.path not in then)


def _own_branches(checkpoint: ProjectCheckpoint) -> set[str]:
    return {name for name in checkpoint.branches if name.startswith(f"{project_refs.BRANCH}{BRANCHES}")}


def _moved(present: ProjectCheckpoint, target: ProjectCheckpoint, gone: frozenset[str]) -> tuple[str, ...]:
    """Say which branches move, come back and go."""
    said = []
    for name, commit in target.branches.items():
        now, short = present.branches.get(name, ""), name.removeprefix(project_refs.BRANCH)
        if now != commit:
            said.append(f"{short} from {now[:12]} to {commit[:12]}" if now else f"{short} is there again")
    return (*said, *(f"{name.removeprefix(project_refs.BRANCH)} is gone" for name in sorted(gone)))


def _refuse_operations(target: ProjectCheckpoint) -> None:
    """Refuse to move branches in the middle of a rebase or merge. Blocks."""
    for mark in target.workspaces:
        now = repository.look(repository.find(Path(mark.path)))
        if now.operation:
            raise UsageError(
                f"{mark.path} is in the middle of a {now.operation}; nothing was changed.",
                way_out=f"Complete or abort it (git {now.operation} --abort), or go back without branches.",
            )
    try:
        git = project_refs.open_project(Path(target.project))
        missing = [name for name, commit in target.branches.items() if git is None or commit not in git]
    except (pygit2.GitError, OSError, ValueError):
        missing = list(target.branches)
    if missing:
        raise UsageError(
            f"The commits of {', '.join(missing)} are not in {target.project} any more; nothing was changed.",
            way_out="Go back without branches.",
        )
