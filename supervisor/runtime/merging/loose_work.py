"""Work in an agent's workspace that no commit has: counted, or committed as unfinished.

Blocking, and done in a process apart, which reads this module alone and not the daemon's.
"""

from pathlib import Path

import pygit2

from checkpoints.workspace import repository
from checkpoints.workspace.uncommitted import uncommitted_paths
from monitors.contract.errors import UsageError
from supervisor.runtime.merging.git_merge import MergeError

WIP_AUTHOR = ("chaperon", "chaperon@localhost")
"""The author of a commit of unfinished work: it is neither the agent's decision nor a person's."""


def uncommitted(workspace: Path, branch: str) -> int:
    """Count the paths of an agent's workspace that are not committed; 0 if it is gone. Blocks.

    Raises:
        MergeError: Git cannot tell.
    """
    if not branch or not workspace.is_dir():
        return 0
    opened = repository.worktree_or_why(workspace)  # whatever an agent wrote into its core.worktree
    try:
        paths = opened if isinstance(opened, str) else uncommitted_paths(opened)
    except (pygit2.GitError, OSError, ValueError) as error:
        paths = f"git cannot read it ({error})"
    if isinstance(paths, str):
        raise MergeError(
            f"It is not known what of {workspace} is not committed: {paths}.",
            way_out=f"See what git says: git -C {workspace} status",
        )
    return len(paths)


def commit_unfinished(workspace: str, branch: str, prompt: str) -> str:
    """Commit all that is uncommitted on an agent's own branch; returns the commit, empty if there was nothing. Blocks.

    Raises:
        UsageError: The workspace was not made for the agent, is not on its branch, or cannot be committed.
    """
    if not branch:
        raise UsageError(
            f"The agent works in place in {workspace}, so it has no branch of its own for unfinished work; "
            "nothing was changed.",
            way_out="Leave --wip-commit out, or keep its work with chaperon checkpoint.",
        )
    opened = repository.worktree_or_why(Path(workspace))  # an agent may have named another folder as its worktree
    if isinstance(opened, str):
        raise UsageError(
            f"The unfinished work in {workspace} could not be committed: {opened}; nothing was changed.",
            way_out=f"See what git says: git -C {workspace} status. Or leave --wip-commit out.",
        )
    try:
        if opened.head_is_detached or opened.head.shorthand != branch:
            raise UsageError(
                f"The workspace {workspace} is not on the agent's branch {branch}; nothing was committed or changed."
            )
        index = opened.index
        index.add_all()
        tree = index.write_tree()
        if tree == opened.head.peel(pygit2.Commit).tree.id:
            return ""
        index.write()
        author = pygit2.Signature(*WIP_AUTHOR)
        message = f"WIP: {' '.join(prompt.split())[:60]}\n\nUnfinished work, committed as the agent got another task.\n"
        return str(opened.create_commit("HEAD", author, author, message, tree, [opened.head.target]))
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        raise UsageError(
            f"The unfinished work in {workspace} could not be committed: {error}; nothing was changed."
        ) from error
