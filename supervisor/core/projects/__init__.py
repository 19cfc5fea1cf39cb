"""Project checkpoints and rollbacks, pure.

known  project checkpoints and rollbacks, as a fold over the journal
"""
