"""Checkpoints of whole projects: all worktrees, branches, tasks and agents of a repository.

checkpoints  project checkpoints: made, listed, forgotten
milestones   a checkpoint of a project after every so many of its tasks that are done
worktrees    the worktrees of a project: found, made again, removed
"""
