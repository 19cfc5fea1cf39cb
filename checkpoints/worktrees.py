"""A git worktree per agent: created, kept for a look, found after a crash, removed when nothing is lost.

Worktrees are made with libgit2, which runs no hook and no filter command: the project's configuration is one that an
agent in an earlier worktree could have written.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

import pygit2

from checkpoints.errors import CheckpointError
from checkpoints.steps import Step, no_step
from checkpoints.workspace import repository
from checkpoints.workspace.uncommitted import uncommitted_paths
from host.apart import ApartError, run_apart_within
from host.durable import is_temporary, replace_file
from host.folders import below, remove_folder
from monitors.contract.errors import NotFoundError, UsageError
from monitors.contract.wording import counted

BRANCHES = "chaperon/"
"""Prefix of the branches of agents."""

LOOK_SECONDS = 60.0
"""Time after which a look for what no commit has is given up, and the workspace kept. 50,000 files that all are to be
read anew take 2.5 s of a processor, and who removes a workspace waits, as do other workspaces whose agents end."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")


class WorkspaceState(StrEnum):
    """The present use of a workspace."""

    HALF_MADE = "half made"
    """It is being created, or was when a crash came."""
    ACTIVE = "active"
    """An agent works in it, or may."""
    PRESERVED = "preserved"
    """Kept as it is, for a person to look at."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A worktree, and what it was made for."""

    name: str
    path: str
    branch: str
    """Without `refs/heads/`."""
    base: str
    """Commit it was created from."""
    project: str
    """The main worktree of its repository."""
    state: WorkspaceState = WorkspaceState.ACTIVE
    why: str = ""
    """Why it is preserved."""
    target: str = ""
    """The branch that it was made from, without `refs/heads/`: the base if that is a branch, else the one that was
    checked out in the worktree that was named. Empty if there was none."""


class ProjectWorktrees:
    """The workspaces of one project. One owner; not safe between threads."""

    def __init__(self, project: Path, folder: Path, *, step: Step = no_step) -> None:
        """Keep worktrees of this project in this folder, each with a record beside it.

        Raises:
            UsageError: The project is no git repository, or one that cannot be read.
        """
        found = repository.worktree_or_why(project)
        if isinstance(found, str):
            raise UsageError(
                f"Workspaces of agents can neither be made nor removed in {project}: {found}.",
                way_out="Mend that (it takes `git init` and a first commit), or let the agent work in the folder itself.",
            )
        self.project = project
        self.folder = folder
        self._step = step
        self._shared = str(repository.project_of(project))
        self._git = found
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    # ── finding ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def all(self) -> tuple[Workspace, ...]:
        """Return every workspace that has a record, by name: after a crash as before it."""
        return self.recorded(self.folder)

    @staticmethod
    def recorded(folder: Path) -> tuple[Workspace, ...]:
        """Return the same for a folder whose project is not known: each record names it.

        Raises:
            CheckpointError: A record cannot be read; the sentence says which.
        """
        return tuple(_read(path) for path in sorted(folder.glob("*.json")) if not is_temporary(path.name))

    def find(self, name: str) -> Workspace:
        """Return the workspace of this name.

        Raises:
            NotFoundError: There is none.
        """
        path = self._record(name)
        if not _NAME.fullmatch(name) or not path.exists():
            raise NotFoundError(f"There is no workspace {name!r} of {self.project}.")
        return _read(path)

    def _record(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _write(self, workspace: Workspace) -> Workspace:
        replace_file(self._record(workspace.name), json.dumps(asdict(workspace)).encode())
        return workspace

    # ── making ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def create(self, name: str, base: str = "HEAD") -> Workspace:
        """Return a new worktree on a branch of its own, at this commit.

        The record comes first, so that a worktree that was half made when the power went is found again.

        Raises:
            UsageError: The name cannot be one or is taken, or the base is no commit.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be a workspace's name.", way_out="Use letters, digits, _ and -, at most 60."
            )
        path = self.folder / name
        if self._record(name).exists() or path.exists():
            raise UsageError(
                f"There is a workspace {name!r} already.", way_out="Choose another name, or remove it first."
            )
        commit = self._commit(base)
        branch = self._free_branch(name)
        half = WorkspaceState.HALF_MADE
        self._step("record")
        target = self._target(base)
        workspace = self._write(Workspace(name, str(path), branch, str(commit.id), self._shared, half, target=target))
        try:
            self._step("branch")
            reference = self._git.branches.local.create(branch, commit)
            self._step("worktree")
            self._git.add_worktree(self._admin_name(workspace), str(path), reference)
        except (pygit2.GitError, ValueError, OSError) as error:
            self._clear_away(workspace)
            raise CheckpointError(
                f"The workspace {name!r} could not be created at {path}: {error}. Nothing is left of it."
            ) from error
        self._step("made")
        return self._write(replace(workspace, state=WorkspaceState.ACTIVE))

    def make_again(self, workspace: Workspace, commit: str) -> None:
        """Make a workspace that is gone again, at its path and on its branch, which is made if it is gone as well.

        Nothing happens if it is there. One that a crash left half made is made anew.

        Args:
            workspace: What it was.
            commit: The commit on which its branch is made.

        Raises:
            CheckpointError: It could not be made.
        """
        path, record = Path(workspace.path), self._record(workspace.name)
        if record.exists() and _read(record).state is WorkspaceState.HALF_MADE:
            self._clear_away(_read(record))
        if path.exists():
            return
        self._write(replace(workspace, state=WorkspaceState.HALF_MADE))
        self._step("branch again")
        try:
            branch = self._git.branches.local.get(workspace.branch)
            branch = branch or self._git.branches.local.create(workspace.branch, self._commit(commit))
            self._step("worktree again")
            name = self._admin_name(workspace)
            if name in self._git.list_worktrees() and self._git.lookup_worktree(name).is_prunable:
                self._git.lookup_worktree(name).prune()
            self._git.add_worktree(name, str(path), branch)
        except (pygit2.GitError, ValueError, OSError) as error:
            raise CheckpointError(f"The workspace {workspace.path} could not be made again: {error}.") from error
        self._step("made again")
        self._write(replace(workspace, state=WorkspaceState.ACTIVE))

    def _commit(self, base: str) -> pygit2.Commit:
        try:
            return self._git.revparse_single(base).peel(pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError) as error:
            because = "" if isinstance(error, KeyError) else f": {error}"  # a missing key is the name once more
            raise UsageError(
                f"{base!r} names no commit of {self.project}{because}.",
                way_out="Make a first commit, or name a branch or commit that is there.",
            ) from error

    def _target(self, base: str) -> str:
        named = base.removeprefix("refs/heads/")
        if named in self._git.branches.local:
            return named
        return repository.look(repository.find(self.project)).branch.removeprefix("refs/heads/")

    def _free_branch(self, name: str) -> str:
        taken = set(self._git.branches.local)
        candidates = [f"{BRANCHES}{name}", *(f"{BRANCHES}{name}-{number}" for number in range(2, 10_000))]
        return next(branch for branch in candidates if branch not in taken)

    def _admin_name(self, workspace: Workspace) -> str:
        return workspace.branch.replace("/", "-")

    # ── keeping and removing ──────────────────────────────────────────────────────────────────────────────────────────

    def preserve(self, name: str, why: str) -> Workspace:
        """Keep a workspace as it is, for a person to look at."""
        return self._write(replace(self.find(name), state=WorkspaceState.PRESERVED, why=why))

    def would_be_lost(self, name: str, *, given_up: bool = False) -> tuple[str, ...]:
        """Return the losses that a removal of a workspace would cause; empty if it can be removed.

        Work that only a checkpoint has counts as lost, since checkpoints are not kept for ever. Files that git ignores
        do not count.

        Args:
            name: The workspace.
            given_up: Whether a person gives up its task, and so the look for which it was preserved.
        """
        workspace = self.find(name)
        path = Path(workspace.path)
        if workspace.state is WorkspaceState.HALF_MADE or not path.exists():
            return ()
        preserved = workspace.state is WorkspaceState.PRESERVED and not given_up
        lost = [f"It is preserved: {workspace.why}."] if preserved else []
        return (*lost, *self._uncommitted(path), *self._state_lost(path))

    def _uncommitted(self, path: Path) -> list[str]:
        try:
            changed, repositories = run_apart_within(LOOK_SECONDS, _changed, path)
        except ApartError as error:
            return [
                f"Its state cannot be read: {error}. A file of its own may make it last, as a .gitignore of many `**/` does."
            ]
        except (pygit2.GitError, OSError, ValueError) as error:
            return [f"Its state cannot be read: {error}."]
        if changed is None:
            return ["Its state cannot be read."]
        lost = [f"{counted(changed, 'path is', 'paths are')} not committed."] if changed else []
        return [*lost, *(f"Commits of {name} in it are nowhere else." for name in repositories)]

    def _state_lost(self, path: Path) -> list[str]:
        state = repository.look(repository.find(path))
        lost = [f"It is in the middle of a {state.operation}."] if state.operation else []
        if state.head and not self._is_reachable(state.head):
            lost.append(f"Its commit {state.head[:12]} is on no branch.")
        return lost

    def _is_reachable(self, commit: str) -> bool:
        for name in self._git.references:
            if name.startswith(("refs/heads/", "refs/remotes/", "refs/tags/", "refs/chaperon/")):
                tip = str(self._git.references[name].resolve().target)
                if tip == commit or self._descends(tip, commit):
                    return True
        return False

    def _descends(self, tip: str, commit: str) -> bool:
        try:
            return bool(self._git.descendant_of(tip, commit))
        except (pygit2.GitError, OSError, ValueError):
            return False

    def remove(self, name: str, *, given_up: bool = False) -> None:
        """Remove a workspace; arguments as for `would_be_lost`.

        Its branch stays if it has commits that no other branch has.

        Raises:
            CheckpointError: Something would be lost; nothing was removed.
        """
        lost = self.would_be_lost(name, given_up=given_up)
        if lost:
            raise CheckpointError(
                f"Workspace {name!r} was not removed, since something would be lost. {' '.join(lost)}",
                way_out="Commit what is worth keeping, or remove it with `git worktree remove --force`.",
            )
        self._clear_away(self.find(name))

    def discard(self, name: str) -> None:
        """Remove a workspace in which no work was done yet, with all that its set-up left there."""
        self._clear_away(self.find(name))

    def _clear_away(self, workspace: Workspace) -> None:
        """Remove files, administration, branch and record, in that order: a crash leaves a record to begin again from.

        If git moved the worktree elsewhere, its administration and its branch stay.
        """
        path, doomed = Path(workspace.path), self.folder / f".removed-{workspace.name}"
        self._step("remove")
        if path.is_dir():
            path.rename(doomed)  # first, and at once: half a worktree could not tell what would be lost with it
        self._step("remove files")
        if doomed.exists():
            remove_folder(doomed)
        self._step("remove administration")
        if self._admin_name(workspace) in self._git.list_worktrees():
            administration = self._git.lookup_worktree(self._admin_name(workspace))
            if administration.is_prunable:
                administration.prune()
        self._step("remove branch")
        self._drop_branch(workspace)
        self._step("remove record")
        self._record(workspace.name).unlink(missing_ok=True)

    def _drop_branch(self, workspace: Workspace) -> None:
        branch = self._git.branches.local.get(workspace.branch)
        if branch is not None and str(branch.target) == workspace.base and not branch.is_checked_out():
            branch.delete()


def is_made(worktree: Path) -> bool:
    """Whether a worktree was made for an agent, by any daemon: its record lies beside it. Blocks."""
    try:
        return _read(worktree.with_name(f"{worktree.name}.json")).path == str(worktree)
    except (CheckpointError, OSError):
        return False


def _read(path: Path) -> Workspace:
    try:
        data = json.loads(path.read_bytes())
        return Workspace(**{**data, "state": WorkspaceState(data["state"])})
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(
            f"{path} does not describe a workspace: {error}. The worktree beside it is untouched.",
            way_out="Move the record away; the worktree can then be looked at with git.",
        ) from error


def _changed(worktree: Path) -> tuple[int | None, list[str]]:
    """Count the paths that are not committed, None without a repository, and name those within with commits of its own.

    A repository within goes with the worktree: it lies in it, be it ignored, or as a submodule's in its administration.
    An agent can make all of it last for hours.
    """
    opened = repository.open_worktree(worktree)
    if opened is None:
        return None, []
    changed = uncommitted_paths(opened)
    going = [worktree.resolve(), Path(opened.path).resolve()]
    within = [folder for folder in below(worktree, folders_alone=True) if os.path.lexists(folder / ".git")]
    owning = [str(folder.relative_to(worktree)) for folder in within if _has_own_commits(folder, going)]
    return len(changed), owning


def _has_own_commits(within: Path, going: Sequence[Path]) -> bool:
    """Whether a repository within a worktree lies in folders that go, with commits that no remote is known to have."""
    folders = repository.find(within)
    if folders is None or not any(folders.common.resolve().is_relative_to(folder) for folder in going):
        return False
    opened = repository.open_worktree(within)
    if opened is None:
        return True
    tips: dict[str, list[pygit2.Oid]] = {"remotes": [], "tags": [], "heads": []}
    for name in opened.references:
        tip = opened.references[name].resolve().peel()
        if isinstance(tip, pygit2.Commit):
            tips.get(name.split("/")[1], tips["heads"]).append(tip.id)
    # Tags come with what is fetched. A branch at one may be an agent's, who makes tags too; a checkout of one is none's.
    fetched = tips["tags"] if list(opened.remotes) else []
    heads = [*tips["heads"], *(tips["tags"] if not fetched else ())]
    if not opened.head_is_unborn and opened.head_is_detached and opened.head.target not in fetched:
        heads.append(opened.head.target)
    walker = opened.walk(None)
    for tip_id in heads:
        walker.push(tip_id)
    for tip_id in tips["remotes"]:
        walker.hide(tip_id)
    return next(iter(walker), None) is not None
