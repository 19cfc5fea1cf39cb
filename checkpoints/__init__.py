"""Checkpoints of a workspace, kept in a git object store of our own.

What a checkpoint holds of a workspace, and what going back does with the rest:

| what | in a checkpoint |
| --- | --- |
| files, tracked or not | byte for byte as they lie there: no filter, line ending or attribute is applied |
| files kept in Git LFS | the pointer or the content, whichever lies there |
| executable bit; other permissions | kept; a file that is replaced hands its own on |
| links | as links, never followed |
| empty folders | kept |
| names of any bytes; names that differ in case alone | kept; two files where the file system has two |
| ignored files, unless committed or listed (`checkpoints.also`) | left out, and never touched |
| files over `checkpoints.max_file_mb`; pipes, sockets, devices; what may not be read | named in it, never touched |
| repositories inside, with or without commits; submodules | their files as files; their `.git` is left out and stays |
| what a sparse checkout leaves out | left out, and not written by going back |
| no commit yet, a detached HEAD, a rebase or merge under way | noted; files go back, the repository's state stays |
| owners, extended attributes, hard links, times | left out |

git/        Git's formats, read and written without running a program of the repository's choosing
restore/    going back
store/      the store of one project
workspace/  a workspace as it is now
choose      which checkpoint to go back to when a run went wrong
durable     writing so that it is still there after the power went
errors      what can go wrong with checkpoints, as types
model       what a checkpoint is, what differs between two, and what going back does
paths       names of files as text
retention   which checkpoints to keep
worktrees   a git worktree per agent
"""
