"""A workspace as it is now: watched, scanned, captured.

capture           capture of a workspace as a checkpoint in the store
ignore            Git's rules for ignored paths
ignored           a single path against these rules
incremental       from changed paths to edits of the last tree
index             the paths in git's index
notes             the kernel's notes of changes, inotify(7), read for many workspaces by a few threads
rename_noreplace  renames in a workspace that never replace a file which was not examined
repository        the state of the workspace's own repository
safe_open         access to the workspace that never leaves it
scan              the full scan of a folder
traces            operations on a repository since a moment, from its reflogs and files
uncommitted       paths of a worktree that no commit has, those among them that git was told not to look at
watch             changed paths of a workspace, from the kernel's notes (`checkpoints.workspace.notes`)
worktree          the worktree that a directory is in
"""
