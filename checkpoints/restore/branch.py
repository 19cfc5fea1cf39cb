"""Moves of a branch back to its commit at a checkpoint, on request. pygit2 runs no hook, and the former tip is kept."""

import pygit2

from checkpoints.errors import RestoreFailedError, RestoreRefusedError
from checkpoints.model import Checkpoint
from checkpoints.workspace.repository import GitFolders, look

KEPT = "refs/chaperon/kept/"
"""Prefix of the refs that hold former tips of branches in the project's repository, so that no commit becomes
unreachable."""

_BY_HAND = "Move the branch by hand with `git branch -f`."


def check_movable(folders: GitFolders | None, target: Checkpoint) -> None:
    """Check that the branch that HEAD names can be moved to its commit at the target.

    Raises:
        RestoreRefusedError: HEAD names another branch than then, is detached, or the commit is gone.
    """
    now, then = look(folders), target.repository
    if folders is None or not now.branch or now.branch != then.branch or not then.head or not now.head:
        raise RestoreRefusedError(
            f"The branch cannot go back: HEAD was on {then.branch or 'no branch'} at {then.head[:12] or 'no commit'} then, "
            f"and is on {now.branch or 'no branch'} at {now.head[:12] or 'no commit'} now. Nothing was changed.",
            way_out="Go back without --with-branch, and move the branch by hand.",
        )
    try:
        known = then.head in pygit2.Repository(str(folders.own))
    except (pygit2.GitError, OSError, ValueError):
        known = False
    if not known:
        raise RestoreRefusedError(
            f"The branch {then.branch} cannot go back: its commit {then.head[:12]} is not there any more. Nothing was changed.",
            way_out="Go back without --with-branch.",
        )


def move_branch(folders: GitFolders, target: Checkpoint) -> str:
    """Move the branch that HEAD names to its commit at the target, and return the ref that holds its former tip.

    Index and files are not touched. Returns an empty string if the branch is at that commit already.

    Raises:
        RestoreFailedError: It could not be moved, though it could when it was checked; nothing was moved.
    """
    now, then = look(folders), target.repository
    if now.head == then.head:
        return ""
    try:
        repository = pygit2.Repository(str(folders.own))
        kept = f"{KEPT}{target.name}-{now.head[:12]}"
        repository.references.create(kept, now.head, force=True)
        repository.references[now.branch].set_target(then.head, f"chaperon: back to {target.name}")
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise RestoreFailedError(
            f"The branch {now.branch} was not moved to {then.head[:12]}: {error}. The files were restored.",
            way_out=_BY_HAND,
        ) from error
    return kept
