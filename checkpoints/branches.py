"""Branches of agents: the commits that only they hold, and their removal."""

from pathlib import Path

import pygit2

from checkpoints.errors import CheckpointError
from checkpoints.project_refs import open_project
from checkpoints.worktrees import BRANCHES

MERGED = "refs/chaperon/merged/"
"""Refs that keep agents' own commits after these were written anew on the target of a merge."""

KEEPING = ("refs/heads/", "refs/remotes/", "refs/tags/", MERGED)
"""Prefixes of the references that keep a commit for a person."""

MOST_COUNTED = 1_000
"""Commits that are counted; from there on it is as many and more."""


def own_commits(project: Path, branch: str) -> int:
    """Return how many commits a branch has that no other reference holds; 0 if there is no such branch. Blocks.

    Raises:
        CheckpointError: The repository cannot be read.
    """
    git = _opened(project)
    try:
        found = git.branches.local.get(branch)
        if found is None:
            return 0
        walker = git.walk(found.target)
        for name in git.references:
            if name.startswith(KEEPING) and name != f"refs/heads/{branch}":
                target = git.references[name].resolve().peel()
                if isinstance(target, pygit2.Commit):
                    walker.hide(target.id)
        return sum(1 for _, _ in zip(walker, range(MOST_COUNTED), strict=False))
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise CheckpointError(f"The branches of {project} cannot be read: {error}.") from error


def remove_branch(project: Path, branch: str) -> str:
    """Remove a branch of an agent, and return the commit at its tip; empty if there is none. Blocks.

    Raises:
        CheckpointError: It is none of an agent's, is checked out somewhere, or could not be removed.
    """
    if not branch.startswith(BRANCHES):
        raise CheckpointError(f"The branch {branch} was not made by chaperon and was not removed.")
    try:
        found = _opened(project).branches.local.get(branch)
        if found is None:
            return ""
        if found.is_checked_out():
            raise CheckpointError(f"The branch {branch} is checked out somewhere and was not removed.")
        tip = str(found.target)
        found.delete()
    except (pygit2.GitError, OSError) as error:
        raise CheckpointError(f"The branch {branch} could not be removed: {error}.") from error
    return tip


def _opened(project: Path) -> pygit2.Repository:
    opened = open_project(project)
    if opened is None:
        raise CheckpointError(f"{project} is no git repository any more.")
    return opened
