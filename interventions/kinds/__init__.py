"""The five kinds of interventions, weakest first, and the stages in which features are given up.

checkpoint_rollback    checkpoint rollback
context_reinforcement  context reinforcement
degradation            less instead of an end
emergency_stop         emergency stop
resource_throttling    resource throttling
soft_correction        soft correction
"""
