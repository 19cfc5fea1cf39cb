"""Checkpoints and rollbacks of whole projects: all worktrees, branches, tasks and agents of a repository.

agents          the agents of a project that goes back: brought to a standstill, ended, let go
checkpoints     project checkpoints: made, listed, forgotten
milestones      a checkpoint of a project after every so many of its tasks that are done
preview         the effect that a rollback of a project would have now
rollback        a rollback of a project, step by step, so that a daemon that was killed goes on
worktree_files  the files of one worktree as a part of its project: captured, brought back, compared, dropped
worktrees       the worktrees of a project as they are found
"""
