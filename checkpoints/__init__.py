"""Checkpoints of a workspace, kept in a git object store of our own.

Content of a checkpoint, and the treatment of the rest by a restore:

| what | in a checkpoint |
| --- | --- |
| files, tracked or not | byte for byte as they lie there: no filter, line ending or attribute is applied |
| files kept in Git LFS | the pointer or the content, whichever lies there |
| executable bit; other permissions | kept; a file that is replaced hands its own on |
| links | as links, never followed |
| empty folders | kept |
| names of any bytes; names that differ in case alone | kept; two files where the file system has two |
| ignored files, unless committed or listed (`checkpoints.also`) | left out, and never touched |
| files over `checkpoints.max_file_mb`; pipes, sockets, devices; unreadable files | named in it, never touched |
| repositories inside, with or without commits; submodules | their files; their `.git` is left out and stays |
| files that a sparse checkout leaves out | left out, and not written by a restore |
| no commit yet, a detached HEAD, a rebase or merge under way | noted; the repository keeps its state |
| owners, extended attributes, hard links, times | left out |

git/        Git's formats, read and written without running a program of the repository's choosing
restore/    restores: planned, applied so that a crash loses nothing, verified
store/      the store of one project
workspace/  a workspace as it is now
branches    branches of agents: the commits that only they hold, and their removal
choose      the choice of the checkpoint to go back to after a run went wrong
errors      errors of checkpoints, as types
model       checkpoints, the differences of two, and plans and results of a restore
paths       names of files as text
project_refs  the branches of a repository at a moment
retention   the choice of checkpoints to keep
steps       the steps of work that may be cut off half-way
worktrees   a git worktree per agent
"""

from typing import TYPE_CHECKING

from monitors.faces import lazily

if TYPE_CHECKING:
    from checkpoints.model import CaptureContext, Checkpoint, Difference
    from checkpoints.restore.restore import Restorer
    from checkpoints.store.store import Store
    from checkpoints.workspace.capture import Capturer, CaptureSettings

__all__ = [
    "CaptureContext",
    "CaptureSettings",
    "Capturer",
    "Checkpoint",
    "Difference",
    "Restorer",
    "Store",
]

__getattr__ = lazily(
    __name__,
    {
        "checkpoints.model": ("CaptureContext", "Checkpoint", "Difference"),
        "checkpoints.restore.restore": ("Restorer",),
        "checkpoints.store.store": ("Store",),
        "checkpoints.workspace.capture": ("CaptureSettings", "Capturer"),
    },
)
