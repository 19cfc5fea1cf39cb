"""Workspaces of agents that do not work in place.

They are made for a task, found again after a crash, and closed by rule at its end.

A workspace whose agent ended well is removed if nothing would be lost; any other is kept for a person to examine.
Blocking work is done in threads, one at a time: libgit2 and the records need one owner.
"""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeVar

import anyio
import anyio.to_thread
import pygit2

from checkpoints.branches import own_commits, remove_branch
from checkpoints.errors import CheckpointError
from checkpoints.workspace import repository
from checkpoints.worktrees import ProjectWorktrees, Workspace, WorkspaceState
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from supervisor.core.fold.summary import Summary
from supervisor.protocol.words import AgentState
from supervisor.runtime.log import log
from supervisor.runtime.long_work import LongWork
from supervisor.runtime.processes.user_program import ProgramError, Trusted, as_it_is, run_program

T = TypeVar("T")


class SetUpError(ChaperonError):
    """The program that prepares a workspace failed; the workspace was kept."""


@dataclass(frozen=True, slots=True)
class WorktreeRules:
    """Settings of workspaces."""

    folder: Path
    """Their folder: in it one for each project, in that one for each workspace."""
    set_up: str | None = None
    """A program that is run in each new one."""
    set_up_seconds: float = 600.0
    at_end: Literal["remove", "keep"] = "remove"
    remove_stopped: bool = False
    """Whether those of agents that were stopped go as those of agents that ended well."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment of set-up programs, beside AGENT, WORKSPACE and REPOSITORY."""
    trusted: Trusted = as_it_is
    """Tells by which path the program is run."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The fate of a workspace at the end of its agent."""

    workspace: Workspace
    removed: bool
    why: str


class Worktrees:
    """Makes and closes the workspaces of all projects."""

    def __init__(self, rules: WorktreeRules, work: LongWork) -> None:
        self.rules, self._work = rules, work
        self._one_at_a_time = anyio.Lock()

    async def make(self, name: str, worktree: str, base: str) -> Workspace:
        """Make a worktree of the same repository, at this commit, and run the set-up program in it.

        Where this is cancelled, the program is ended with all that it started, and the worktree removed.

        Raises:
            UsageError: The repository or the base cannot be.
            CheckpointError: It could not be made; nothing is left of it.
            SetUpError: The program failed, and the worktree is kept for a look.
        """
        workspace = await self.create(name, worktree, base)
        if self.rules.set_up is not None:
            await self._set_up(workspace, self.rules.set_up)
        return workspace

    async def create(self, name: str, worktree: str, base: str) -> Workspace:
        """The same without the set-up program."""
        return await self._do(lambda: _create(self._of(worktree), name, base))

    async def keep(self, workspace: Workspace, why: str) -> Workspace:
        """Keep a workspace until a person removes it with git."""
        return await self._do(lambda: self._of(workspace.project).preserve(workspace.name, why))

    async def all(self) -> list[Workspace]:
        """Every workspace of every project.

        Raises:
            CheckpointError: A record cannot be read; the sentence says which.
        """
        return await self._do(
            lambda: [one for folder in sorted(self.rules.folder.glob("*")) for one in ProjectWorktrees.recorded(folder)]
        )

    async def close(self, path: str, kept_because: str = "") -> Closed | None:
        """Remove a workspace, or keep it and say why; None if there is none, or it is kept already.

        Args:
            path: Its path.
            kept_because: Why it is kept in any case; empty if it may go.

        Raises:
            ChaperonError: It could be neither removed nor kept.
        """
        return await self._do(lambda: self._close(path, kept_because))

    async def give_up(self, path: str) -> str:
        """Remove the workspace of a task that a person gives up, if nothing would be lost.

        Returns why it was left, if it was.

        It uses libgit2, as at an agent's end: a stopped agent may have configured git to run a program of its own.

        Raises:
            ChaperonError: It could not be dealt with.
        """
        return await self._do(lambda: self._give_up(path))

    async def make_again(self, workspace: Workspace, commit: str) -> None:
        """Make a workspace that is gone again; raises as `ProjectWorktrees.make_again`."""
        await self._do(lambda: self._of(workspace.project).make_again(workspace, commit))

    async def discard(self, workspace: Workspace) -> None:
        """Remove a workspace whose content is kept elsewhere, whatever is in it.

        Raises:
            ChaperonError: It could not be removed.
        """
        await self._do(lambda: self._of(workspace.project).discard(workspace.name))

    async def close_of(self, summary: Summary, *, in_use: bool) -> tuple[bool, str]:
        """Close the workspace that was made for an agent, by the rules; whether it was removed, and why or why not."""
        why = "another agent works in it" if in_use else self._to_be_kept(summary)
        try:
            closed = await self.close(summary.workspace, why)
        except ChaperonError as error:
            return False, str(error)
        return (closed.removed, closed.why) if closed is not None else (False, "it was dealt with before")

    async def close_left(self, live: Collection[str], known: Collection[str]) -> None:
        """Close those in which no agent is known to have worked, and forget those removed with git.

        Args:
            live: Workspaces in which agents work: left alone.
            known: Workspaces that the journal knows of, live or ended.

        Raises:
            ChaperonError: One could not be dealt with.
        """
        for one in await self.all():
            if one.path not in live and (one.path not in known or not await anyio.Path(one.path).exists()):
                await self.close(one.path)

    def _to_be_kept(self, summary: Summary) -> str:
        if summary.state is AgentState.DONE or (summary.state is AgentState.STOPPED and self.rules.remove_stopped):
            return ""
        return f"the agent did not end well ({summary.state}: {summary.why})"

    def _close(self, path: str, kept_because: str) -> Closed | None:
        found = next((one for one in ProjectWorktrees.recorded(Path(path).parent) if one.path == path), None)
        if found is None or (found.state is WorkspaceState.PRESERVED and Path(path).exists()):
            return None
        if Path(path).exists() and self.rules.at_end == "keep":
            kept_because = kept_because or "workspaces.at_end says so"
        workspaces = self._of(found.project)
        if not kept_because:
            kept_because = " ".join(workspaces.would_be_lost(found.name))
        if kept_because:
            return Closed(workspaces.preserve(found.name, kept_because), False, kept_because)
        workspaces.remove(found.name)
        return Closed(found, True, "nothing in it would be lost")

    async def losses(self, path: str, project: str, branch: str) -> list[str]:
        """Return the losses that a removal of an ended agent's workspace and branch would cause, in words.

        Args:
            path: Its workspace.
            project: Its repository.
            branch: The branch that was made for it.

        Raises:
            ChaperonError: They could not be read.
        """
        return await self._do(lambda: self._losses(path, project, branch))

    async def remove(self, path: str, project: str, branch: str) -> list[str]:
        """Remove both, whatever is lost; returns the things removed, in words. Arguments as for `losses`.

        Raises:
            ChaperonError: One could not be removed.
        """
        return await self._do(lambda: self._remove(path, project, branch))

    def _found(self, path: str) -> Workspace | None:
        folder = Path(path).parent
        ours = ProjectWorktrees.recorded(folder) if folder.parent == self.rules.folder else ()
        return next((one for one in ours if one.path == path), None)

    def _losses(self, path: str, project: str, branch: str) -> list[str]:
        found = self._found(path)
        lost = list(self._of(found.project).would_be_lost(found.name, given_up=True)) if found is not None else []
        if found is None and Path(path).is_dir():
            lost.append(f"{path} is there, and has no record of chaperon's.")
        if Path(project).is_dir() and (own := own_commits(Path(project), branch)):
            lost.append(f"The branch {branch} has {counted(own, 'commit')} that no other branch has.")
        return lost

    def _remove(self, path: str, project: str, branch: str) -> list[str]:
        removed, found = [], self._found(path)
        if found is not None:
            self._of(found.project).discard(found.name)
            removed.append(f"the workspace {path}")
        if Path(project).is_dir() and (tip := remove_branch(Path(project), branch)):
            removed.append(f"the branch {branch} (it was at {tip[:12]})")
        elif found is not None:
            removed.append(f"the branch {branch}")
        return removed

    def _give_up(self, path: str) -> str:
        found = self._found(path)
        if found is None:
            return "it is none that chaperon made for an agent" if Path(path).is_dir() else ""
        workspaces = self._of(found.project)
        lost = workspaces.would_be_lost(found.name, given_up=True)
        if not lost:
            workspaces.remove(found.name, given_up=True)
        return " ".join(lost)

    def _of(self, project: str) -> ProjectWorktrees:
        """The workspaces of the project that this worktree is of."""
        main = repository.project_of(Path(project))
        return ProjectWorktrees(
            Path(project), self.rules.folder / f"{main.name}-{sha256(os.fsencode(main)).hexdigest()[:8]}"
        )

    async def _set_up(self, workspace: Workspace, program: str) -> None:
        """Run the user's program; if it fails, the workspace is kept, and if it is cancelled, nothing is."""
        about = {"AGENT": workspace.name, "WORKSPACE": workspace.path, "REPOSITORY": workspace.project}
        environment = {**self.rules.environment, **about}
        try:
            wait, trusted = self.rules.set_up_seconds, self.rules.trusted
            with self._work.under_way("setting up", workspace.name, "second"):
                await run_program("set-up program", program, workspace.path, environment, wait, trusted)
        except ProgramError as error:
            await self.keep(workspace, "its set-up failed")
            raise SetUpError(
                f"{error.what} No agent was started; the workspace {workspace.path} was kept for a look.",
                way_out="Mend the program, remove the workspace "
                f"(git -C {workspace.project} worktree remove --force {workspace.path}), and ask again.",
            ) from error
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._discard(workspace)
            raise

    async def _discard(self, workspace: Workspace) -> None:
        """Remove a workspace whose set-up was given up; what is left of it goes at the next start."""
        try:
            await self._do(lambda: self._of(workspace.project).discard(workspace.name))
            log.info("the set-up of %s was given up, and the workspace removed", workspace.path)
        except ChaperonError as error:
            log.warning("the set-up of %s was given up, and the workspace not removed: %s", workspace.path, error)

    async def _do(self, work: Callable[[], T]) -> T:
        async with self._one_at_a_time:
            try:
                return await anyio.to_thread.run_sync(work)
            except (OSError, pygit2.GitError, ValueError) as error:
                raise CheckpointError(f"The worktree could not be dealt with: {error}.") from error


def _create(workspaces: ProjectWorktrees, name: str, base: str) -> Workspace:
    """Create one under this name, or under the next that is free: an agent's name may be that of one long gone."""
    taken = {one.name for one in workspaces.all()}
    names = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
    return workspaces.create(next(one for one in names if one not in taken), base)
