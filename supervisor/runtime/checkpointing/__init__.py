"""The daemon's side of checkpoints: one manager, one store a project, captures as commands.

captures     checkpoints that sessions ask for
manager      the checkpoint manager
keyed_locks  a lock for each of many things that come and go, so that work on one does not wait for work on another
milestones   after every so many tasks that were done in a workspace, a checkpoint
stores       the stores of all projects
worktrees    the workspaces of agents that do not work in place
"""
