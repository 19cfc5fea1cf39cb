"""Project checkpoints: made, listed, forgotten.

The files of each worktree are a checkpoint of the project's store, and the commits of its branches are held by refs.
The journal's event comes last: without it nothing counts, and what a crash left of an attempt goes with the next one.
"""

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import anyio.to_thread

from checkpoints import project_refs
from checkpoints.model import CaptureContext, Checkpoint, ConversationPosition, Reason
from monitors.contract.errors import ChaperonError, UsageError
from supervisor.core.project_marks import marks_of_agents, marks_of_tasks, merges_of
from supervisor.protocol.kinds.projects import ProjectCheckpointForgotten, ProjectCheckpointMade
from supervisor.protocol.projects import AgentMark, ProjectCheckpoint, WorkspaceMark
from supervisor.runtime.daemon_parts import FolderParts, WorktreeParts
from supervisor.runtime.log import log
from supervisor.runtime.projects import worktree_files
from supervisor.runtime.projects.worktrees import ProjectWorktree, find_worktrees, project_at, projects_of

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
"""Permitted names: the checkpoint of each worktree is named by it and the worktree's label, in 120 characters."""

MOST_ATTEMPTS = 3
"""How often worktrees are captured anew because a branch moved, a task took a step or an agent came or went meanwhile.
A capture takes milliseconds if little changed; the third attempt counts in any case, and its note says so."""

KEY = "project:"
"""Begins the key of checkpoints of files that are parts of a project's."""


class ProjectParts(WorktreeParts, FolderParts, Protocol):
    """The parts of the daemon that project checkpoints need."""


@dataclass(frozen=True, slots=True)
class _Present:
    """The state of a project beside its files."""

    worktrees: tuple[ProjectWorktree, ...]
    branches: dict[str, str]
    agents: tuple[AgentMark, ...]
    marks: tuple[Any, ...]

    def like(self, other: "_Present") -> bool:
        """Whether nothing of consequence came between."""
        mine, its = ([(one.agent, one.run_id) for one in present.agents] for present in (self, other))
        same = (self.worktrees, self.branches, self.marks) == (other.worktrees, other.branches, other.marks)
        return same and mine == its


class ProjectCheckpoints:
    """Makes and forgets project checkpoints.

    Args:
        parts: The daemon.
    """

    def __init__(self, parts: ProjectParts) -> None:
        self._parts = parts
        self._being_made: set[tuple[str, str]] = set()
        self._mark = "+" + sha256(os.fsencode(parts.agents_folder)).hexdigest()[:8]

    def held_as(self, name: str) -> str:
        """Return the name under which git holds the commits of a checkpoint of this state directory.

        A repository may have checkpoints of another daemon, another user's or one of a restored state, under any name.
        """
        return name + self._mark

    async def project_at(self, folder: str) -> str:
        """Return the project of a folder that a person named; raises UsageError if there is none."""
        return await anyio.to_thread.run_sync(project_at, Path(folder))

    async def make(
        self, project: str, name: str, by: str, *, reason: Reason = Reason.PERSON, note: str = "", once: bool = False
    ) -> ProjectCheckpoint:
        """Capture a project under a name; all of it is durable when this returns. Agents go on meanwhile.

        Args:
            project: The folder that stands for all worktrees of the repository.
            name: The name; others of the project have other ones.
            by: The person, or `chaperon`.
            reason: Why: `PERSON` is kept until it is forgotten, and of the others the last twenty.
            note: A sentence for people.
            once: Whether one of that name that is there is returned instead of refused.

        Raises:
            UsageError: The name is taken, is being taken, or cannot be one; or the project goes back right now.
            ChaperonError: It could not be made; nothing was announced.
        """
        _check_name(name)
        if (known := self._parts.board.projects.get(project, name)) is not None:
            if once:
                return known
            raise UsageError(f"There is a project checkpoint {name!r} already.", way_out="Choose another name.")
        if (project, name) in self._being_made:
            raise UsageError(f"A project checkpoint {name!r} is being made right now.", way_out="Choose another name.")
        back = self._parts.board.projects.going_back(project)
        if back is not None and reason is not Reason.UNDO:
            raise UsageError(f"{project} goes back to {back.checkpoint} right now; no checkpoint was made.")
        self._being_made.add((project, name))
        try:
            return await self._make(project, name, by, reason, note)
        finally:
            self._being_made.discard((project, name))

    async def forget(self, name: str, project: str, by: str) -> ProjectCheckpoint:
        """Let go of a project checkpoint, with the checkpoints of files and the refs that it is made of.

        Raises:
            NotFoundError: There is none.
            UsageError: Several projects have one, or a rollback needs it.
        """
        board = self._parts.board
        one = board.projects.find(name, project)
        back = board.projects.going_back(one.project)
        if back is not None and name in (back.checkpoint, back.undo):
            raise UsageError(f"{one.project} goes back to {back.checkpoint} right now; nothing was forgotten.")
        forgotten = ProjectCheckpointForgotten(**self._parts.stamp(""), project=one.project, name=name, by=by)
        await self._parts.journal.written(self._parts.happened(forgotten))
        await self._clear(one.project, name)
        await self._let_go(one.project, name)  # as a daemon of before held it
        return one

    async def tidy(self, project: str) -> None:
        """Remove what attempts that a crash cut off left of a project, and the oldest that chaperon made by itself."""
        for one in self._parts.board.projects.too_many(project):
            back = self._parts.board.projects.going_back(project)
            if back is None or one.name not in (back.checkpoint, back.undo):
                await self.forget(one.name, project, "chaperon")
        held = await anyio.to_thread.run_sync(project_refs.held_names, Path(project))
        for name in [one.removesuffix(self._mark) for one in held if one.endswith(self._mark)]:
            if self._parts.board.projects.get(project, name) is None and (project, name) not in self._being_made:
                await self._clear(project, name)

    async def found(self, project: str) -> tuple[tuple[ProjectWorktree, ...], dict[str, str]]:
        """Return the worktrees of a project, and its branches with their commits, without those of another daemon."""
        made = await self._parts.worktrees.all()
        worktrees, others = await anyio.to_thread.run_sync(find_worktrees, project, made)
        branches = await anyio.to_thread.run_sync(project_refs.branches_of, Path(project))
        return worktrees, {name: commit for name, commit in branches.items() if name not in others}

    async def repositories(self, project: str) -> tuple[str, ...]:
        """Return the worktrees that stored tasks name and that are of a project, whether they are there or not."""
        named = {task.spec.repository for task in self._parts.board.tasks}
        known = await anyio.to_thread.run_sync(projects_of, named)
        agents = {one.task.repository: one.project for one in self._parts.board.summaries()}
        return tuple(sorted(one for one in named if {**agents, **known}.get(one, one) == project))

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _make(self, project: str, name: str, by: str, reason: Reason, note: str) -> ProjectCheckpoint:
        parts, repositories = self._parts, await self.repositories(project)
        before = await self._present(project, repositories)
        for left in reversed(range(MOST_ATTEMPTS)):
            files, problem = await self._capture_all(project, name, before, reason)
            after = await self._present(project, repositories)
            if after.like(before) or not left:
                if problem is not None:
                    raise problem
                note = note if after.like(before) else f"{note}; work went on while it was made".removeprefix("; ")
                break
            before = after
        held = {f"heads/{branch.removeprefix(project_refs.BRANCH)}": at for branch, at in before.branches.items()}
        held |= {f"detached/{one.label}": one.head for one in before.worktrees if one.head and not one.branch}
        await anyio.to_thread.run_sync(project_refs.hold, Path(project), self.held_as(name), held)
        tasks, done = marks_of_tasks(parts.board, repositories)
        stamp = parts.stamp("")
        made = ProjectCheckpoint(
            name=name,
            project=project,
            at=stamp["at"],
            reason=reason,
            by=by,
            note=note,
            workspaces=tuple(_mark(one, kept) for one, kept in zip(before.worktrees, files, strict=True)),
            branches=before.branches,
            agents=before.agents,
            tasks=tasks,
            done=done,
            merges=merges_of(parts.board, project),
        )
        await parts.journal.written(parts.happened(ProjectCheckpointMade(**stamp, checkpoint=made)))
        if made.automatic:
            await self.tidy(project)
        return made

    async def _present(self, project: str, repositories: tuple[str, ...]) -> _Present:
        found, branches = await self.found(project)
        board = self._parts.board
        agents = marks_of_agents(board, project, self._parts.stamp("")["mono"])
        return _Present(found, branches, agents, (marks_of_tasks(board, repositories), merges_of(board, project)))

    async def _capture_all(
        self, project: str, name: str, present: _Present, reason: Reason
    ) -> tuple[list[Checkpoint], ChaperonError | None]:
        """Capture all worktrees, or say why one of them could not be: it may have gone meanwhile."""
        try:
            return [await self._capture(project, name, one, present, reason) for one in present.worktrees], None
        except ChaperonError as error:
            return [], error

    async def _capture(
        self, project: str, name: str, one: ProjectWorktree, present: _Present, reason: Reason
    ) -> Checkpoint:
        """Capture the files of a worktree; what an earlier attempt left under the name goes."""
        here = [agent for agent in present.agents if agent.workspace == one.path]
        agent = here[0] if len(here) == 1 else None
        needed = self._parts.board.projects.needs(project)
        context = CaptureContext(
            reason,
            self._parts.stamp("")["at"],
            agent.agent if agent else "",
            f"{name}.{one.label}",
            ConversationPosition(agent.session_id, agent.message_uuid) if agent else ConversationPosition(),
            agent_states={each.agent: each.state for each in here},
            task_states={each.task: each.state for each in here if each.task},
            note=f"part of the project checkpoint {name}",
            key=f"{KEY}{name}",
        )
        return await worktree_files.capture_part(self._parts.checkpoint_manager, one.path, context, needed)

    async def _clear(self, project: str, name: str) -> None:
        """Remove the refs and the checkpoints of files of a project checkpoint that is not there any more."""
        await self._let_go(project, self.held_as(name))
        try:
            needed = self._parts.board.projects.needs(project)
            await worktree_files.drop_parts(self._parts.checkpoint_manager, project, f"{KEY}{name}", needed)
        except ChaperonError as error:
            log.warning("what is left of project checkpoint %s could not be removed: %s", name, error)

    async def _let_go(self, project: str, held: str) -> None:
        try:
            await anyio.to_thread.run_sync(project_refs.let_go, Path(project), held)
        except ChaperonError as error:
            log.warning("refs of project checkpoint %s could not be removed: %s", held, error)


def _mark(one: ProjectWorktree, kept: Checkpoint) -> WorkspaceMark:
    return WorkspaceMark(one.path, kept.name, kept.tree, one.branch, one.head, one.made)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or ".." in name or name.endswith((".", ".lock")):
        raise UsageError(
            f"{name!r} cannot be a project checkpoint's name.",
            way_out="Use 1 to 60 letters, digits, dots, underscores and hyphens; begin with a letter or digit.",
        )
