"""Directories in requests: the worktree or the repository that one means.

A directory that is not there can still be meant, if something is known of it: a repository may have gone since. One of
which nothing is known is a mistake, and a request for it would do nothing, or would wait for ever.
"""

import os
from collections.abc import Collection
from pathlib import Path

from checkpoints.workspace.repository import project_of
from checkpoints.workspace.worktree import worktree_of
from monitors.contract.errors import UsageError


def worktree_meant(directory: str, known: Collection[str]) -> str:
    """Return the top of the worktree that a directory is in. Blocks for some milliseconds.

    Args:
        directory: What the request says.
        known: Worktrees of which something is known, which may be gone.

    Raises:
        UsageError: It is no absolute path, in no git worktree, or neither there nor known.
    """
    if "\0" in directory or not Path(directory).is_absolute():
        raise UsageError(f"The repository {directory!r} is not an absolute path; nothing was done.")
    if os.path.isdir(directory):  # noqa: PTH112 - false also for a name that is too long, where Path raises
        return str(worktree_of(Path(directory)))
    gone = os.path.normpath(directory)
    if gone in known:
        return gone
    problem = "is not a directory" if os.path.lexists(directory) else "does not exist"
    raise UsageError(
        f"The repository {directory!r} {problem}, and nothing is known of one there; nothing was done.",
        way_out="Name a directory of the repository; chaperon ps and chaperon task list show which there are.",
    )


def project_meant(directory: str, known: Collection[str]) -> str:
    """Return the repository that a directory is in, of all its worktrees; takes and raises as `worktree_meant`."""
    top = worktree_meant(directory, known)
    return top if top in known and not os.path.lexists(top) else str(project_of(Path(top)))
