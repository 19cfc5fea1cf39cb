"""Paths of a worktree that no commit has, those among them that git was told not to look at. Blocks.

An agent can make a file last for hours: who cannot wait has it done in a process apart.
"""

import os
from contextlib import suppress
from pathlib import Path

import pygit2
from pygit2.enums import FileStatus

from checkpoints.workspace.index import unlooked_at
from host.plain_files import read_plain

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Longest file that git was told to pass over and that is compared; of a worktree with a longer one nothing is said."""


def uncommitted_paths(opened: pygit2.Repository) -> set[str]:
    """Return the paths of a worktree that are not as in its commit, but for those that git ignores.

    Raises:
        pygit2.GitError, OSError, ValueError: Git, or we, cannot tell.
    """
    worktree, hidden = Path(opened.workdir), dict[str, str]()
    with suppress(FileNotFoundError):  # nothing was ever added
        hidden = dict(unlooked_at(Path(opened.path) / "index"))
    changed = {
        name
        for name, flags in opened.status().items()
        # A sparse checkout leaves files out, and libgit2 takes these for removed ones.
        if flags != FileStatus.IGNORED and not (flags == FileStatus.WT_DELETED and name in hidden)
    }
    return changed | {name for name, known in hidden.items() if _differs(worktree / name, known)}


def _differs(file: Path, known: str) -> bool:
    """Whether what is at a path is there and is not what the index has; its attributes may make it so."""
    try:
        content = os.fsencode(file.readlink()) if file.is_symlink() else read_plain(file, MAX_FILE_BYTES, links=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return str(pygit2.hash(content)) != known
