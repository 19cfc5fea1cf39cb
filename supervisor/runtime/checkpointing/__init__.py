"""The daemon's side of checkpoints: one manager, one store a project, captures as commands.

capture_turns  turns of captures: so many at once, and next the one whose agent waits for an answer
captures       captures and restores for sessions
keyed_locks    a lock for each of many things that come and go, so that work on one does not wait for work on another
manager        the manager of checkpoints
stores         the stores of all projects
worktrees      workspaces of agents that do not work in place
"""
