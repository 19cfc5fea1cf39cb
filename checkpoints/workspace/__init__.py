"""A workspace as it is now: watched, scanned, captured.

capture           capturing a workspace
ignore            what git would ignore
incremental       from changed paths to edits of the last tree
index             what git's index names
notes             the kernel's notes of changes, inotify(7), read for many workspaces by a few threads
rename_noreplace  putting things in place in a workspace without ever replacing what nobody looked at
repository        what the workspace's own repository says
safe_open         looking at the workspace without being led astray
scan              the full look at a folder
traces            what was done to a repository since a moment, as its reflogs tell
watch             which paths of a workspace changed
worktree          which worktree a directory is in
"""
