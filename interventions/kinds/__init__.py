"""The five kinds of interventions, weakest first, and the stages in which features are given up.

checkpoint_rollback    checkpoint rollback: files and conversation go back to a good moment, with guidance
context_reinforcement  context reinforcement: request, constraints, goals and boundaries repeated, with emphasis on
                       those that matter
degradation            stages by which a run gets cheaper before a stop; no kind
emergency_stop         emergency stop: freeze first, then save, then end the tree
resource_throttling    resource throttling: lower limits by the growth of usage, and inform the agent
soft_correction        soft correction: a word in the agent's ear, with the facts and one way on
"""
