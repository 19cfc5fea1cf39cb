"""Project checkpoints and rollbacks, pure.

going_back  the plan of a project's rollback: what becomes of its tasks, agents and merges
known       project checkpoints and rollbacks, as a fold over the journal
"""
