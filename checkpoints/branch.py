"""Moving a branch back, when asked: with pygit2, which runs no hook, and never without keeping what it left."""

import pygit2

from checkpoints.errors import RestoreFailedError
from checkpoints.model import Checkpoint
from checkpoints.repository import GitFolders, look

KEPT = "refs/chaperon/kept/"
"""Where former tips of branches are held in the project's repository, so that no commit becomes unreachable."""


def move_branch(folders: GitFolders, target: Checkpoint) -> str:
    """Move the branch that HEAD names to where it stood at the target, and return the ref that holds its former tip.

    Index and files are not touched. Empty where the branch stands there already.

    Raises:
        RestoreFailedError: HEAD names another branch than then, is detached, or the commit is gone; nothing was moved.
    """
    now, then = look(folders), target.repository
    if now.head == then.head:
        return ""
    if not now.branch or now.branch != then.branch or not then.head or not now.head:
        raise RestoreFailedError(
            f"The branch was not moved: HEAD was on {then.branch or 'no branch'} at {then.head[:12] or 'no commit'} then, "
            f"and is on {now.branch or 'no branch'} at {now.head[:12] or 'no commit'} now. The files were restored.",
            way_out="Move the branch by hand with `git branch -f`.",
        )
    try:
        repository = pygit2.Repository(str(folders.own))
        kept = f"{KEPT}{target.name}-{now.head[:12]}"
        repository.references.create(kept, now.head, force=True)
        repository.references[now.branch].set_target(then.head, f"chaperon: back to {target.name}")
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise RestoreFailedError(
            f"The branch {now.branch} was not moved to {then.head[:12]}: {error}. The files were restored.",
            way_out="Move the branch by hand with `git branch -f`.",
        ) from error
    return kept
