"""The branches of a repository at a moment: read, held by refs so that git keeps their commits, and set back.

Only refs, HEADs and indexes are touched, by libgit2, which runs no hook. All of it blocks, and can be done again.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pygit2

from checkpoints.errors import CheckpointError
from checkpoints.workspace import repository
from host.standing import is_file

HOLDING = "refs/chaperon/checkpoints/"
"""Prefix of the refs that hold the commits of project checkpoints, by checkpoint and branch."""

BRANCH = "refs/heads/"

INDEXES = "indexes/"
"""Below a checkpoint's prefix: the trees of indexes that were about to be replaced."""


def branches_of(project: Path) -> dict[str, str]:
    """Return the full name of each branch of a repository with its commit; empty without a repository.

    Raises:
        CheckpointError: The repository cannot be read.
    """
    git = open_project(project)
    if git is None:
        return {}
    try:
        found = {name: git.references[name].resolve().target for name in git.references if name.startswith(BRANCH)}
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise CheckpointError(f"The branches of {project} cannot be read: {error}.") from error
    return {name: str(target) for name, target in found.items()}


def hold(project: Path, name: str, commits: Mapping[str, str]) -> None:
    """Have git keep these commits for as long as the checkpoint of this name is kept.

    Args:
        project: The repository.
        name: The checkpoint's.
        commits: Each with the name under which it is held. Example: `heads/main`.

    Raises:
        CheckpointError: Git could not do it.
    """
    git = open_project(project)
    if git is None or not commits:
        return
    try:
        for label, commit in commits.items():
            git.references.create(f"{HOLDING}{name}/{label}", pygit2.Oid(hex=commit), force=True)
    except (pygit2.GitError, OSError, ValueError) as error:
        raise CheckpointError(
            f"The commits of {project} could not be held: {error}. No checkpoint was made."
        ) from error


def let_go(project: Path, name: str) -> None:
    """Hold the commits of a checkpoint no longer; nothing happens if the repository is gone.

    Raises:
        CheckpointError: Git could not do it.
    """
    try:
        git = open_project(project)
        if git is not None:
            for ref in _below(git, f"{HOLDING}{name}/"):
                git.references.delete(ref)
    except (pygit2.GitError, OSError, KeyError) as error:
        raise CheckpointError(f"The refs of {name} in {project} could not be removed: {error}.") from error


def held_names(project: Path) -> frozenset[str]:
    """Return the names of the checkpoints whose commits are held; empty if the repository cannot be read."""
    try:
        git = open_project(project)
        return (
            frozenset(ref.removeprefix(HOLDING).split("/")[0] for ref in _below(git, HOLDING)) if git else frozenset()
        )
    except (CheckpointError, pygit2.GitError):
        return frozenset()


def commits_between(project: Path, old: Iterable[str], new: str) -> int:
    """Return how many commits a commit has behind it that none of the old ones has; 0 if that cannot be said."""
    git = open_project(project)
    if git is None or not new:
        return 0
    try:
        walker = git.walk(pygit2.Oid(hex=new))
        for commit in old:
            walker.hide(pygit2.Oid(hex=commit))
        return sum(1 for _ in walker)
    except (pygit2.GitError, OSError, KeyError, ValueError):
        return 0


def set_branches(project: Path, then: Mapping[str, str], gone: frozenset[str], note: str) -> tuple[str, ...]:
    """Set branches to their commits, make those that are missing, and remove others.

    Args:
        project: The repository.
        then: The full name of each with its commit; others stay.
        gone: Full names of branches that go. One that is checked out stays.
        note: Written into each branch's log.

    Returns:
        What was done, a sentence each.

    Raises:
        CheckpointError: Git could not do it. It can be done again.
    """
    git = open_project(project)
    if git is None:
        return ()
    done = []
    try:
        for name, commit in then.items():
            now = git.references.get(name)
            if now is None:
                git.references.create(name, pygit2.Oid(hex=commit))
                done.append(f"{_short(name)} is there again, at {commit[:12]}")
            elif str(now.target) != commit:
                done.append(f"{_short(name)} went from {str(now.target)[:12]} to {commit[:12]}")
                now.set_target(pygit2.Oid(hex=commit), note)
        for name in sorted(gone):
            branch = git.branches.local.get(_short(name))
            if branch is None:
                continue
            if branch.is_checked_out():
                done.append(f"{_short(name)} is checked out somewhere and stays")
            else:
                done.append(f"{_short(name)} was removed; it was at {str(branch.target)[:12]}")
                branch.delete()
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise CheckpointError(f"The branches of {project} could not be set: {error}.") from error
    return tuple(done)


def set_head(worktree: Path, branch: str, head: str, *, hold_index_as: str) -> None:
    """Have HEAD of a worktree name its branch, or its commit if it was detached, and its index be as that commit.

    Files are not touched. The index that is replaced stays, as a tree that a ref holds.

    Args:
        worktree: Which.
        branch: Full name of the branch; empty for a detached HEAD.
        head: The commit; empty if the branch had none yet.
        hold_index_as: The ref that holds the former index.

    Raises:
        CheckpointError: Git could not do it. It can be done again.
    """
    git = repository.open_worktree(worktree)
    if git is None:
        return
    now = repository.look(repository.find(worktree))
    try:
        if branch and now.branch != branch:
            git.references.create("HEAD", branch, force=True) if git.head_is_detached else git.set_head(branch)
        elif not branch and head and (now.branch or now.head != head):
            git.set_head(pygit2.Oid(hex=head))
        if head:
            _set_index(git, head, hold_index_as)
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise CheckpointError(f"HEAD of {worktree} could not be set to {branch or head[:12]}: {error}.") from error


def _set_index(git: pygit2.Repository, head: str, hold_as: str) -> None:
    """Have the index be as a commit; entries of files that are as in it keep what is known of the files."""
    tree = git[pygit2.Oid(hex=head)].peel(pygit2.Tree)
    index = git.index
    if index.conflicts is None:
        before = index.write_tree()
        if before == tree.id:
            return
        git.references.create(hold_as, git.create_commit(None, *_signed(), "The index before", before, []), force=True)
    index.read_tree(tree)
    index.write()


def _signed() -> tuple[pygit2.Signature, pygit2.Signature]:
    who = pygit2.Signature("chaperon", "chaperon@localhost", 0, 0)
    return who, who


def _below(git: pygit2.Repository, prefix: str) -> Iterator[str]:
    return iter([name for name in git.references if name.startswith(prefix)])


def _short(name: str) -> str:
    return name.removeprefix(BRANCH)


def open_project(project: Path) -> pygit2.Repository | None:
    """Return libgit2's view of a repository, bare or not; None if there is none.

    Raises:
        CheckpointError: There is one, and it cannot be opened.
    """
    if os.path.lexists(project / ".git"):
        opened = repository.worktree_or_why(project)
        if isinstance(opened, str):
            raise CheckpointError(f"The repository of {project} cannot be opened: {opened}.")
        return opened
    if not is_file(project / "HEAD"):
        return None
    if endless := repository.endless_file(repository.GitFolders(project, project)):
        raise CheckpointError(f"The repository {project} cannot be opened: {endless} is a named pipe.")
    try:
        return pygit2.Repository(str(project))
    except (pygit2.GitError, OSError) as error:
        raise CheckpointError(f"The repository {project} cannot be opened: {error}.") from error
