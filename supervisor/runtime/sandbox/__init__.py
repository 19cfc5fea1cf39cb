"""The sandbox of agents: what a machine can give, which one is in force, and the words that a CLI is started through.

bubblewrap  the words for bubblewrap, from a list of mounts; pure
entry       the last step before the CLI, inside: filter of system calls, Landlock; a program of its own, here and in C
git_helper  the remote helper of git in a sandbox without a proxy of its own; a program of its own
history     the origin of a file of a workspace, by the history of its repository
landlock    the plan for that last step; pure
layout      which folders of this machine an agent needs, by a look at the disk
machine     trials of what this kernel and its programs can do
planted     a bounded look at a workspace for files that are obeyed later, and new
sandboxes   from configuration and machine to the sandbox of one launch
seccomp     the filter of system calls; pure
"""
