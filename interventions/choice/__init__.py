"""The choice of an intervention, its moment, and the judgement whether it helped.

strategies/     how the next kind of intervention is proposed
chooser         the choice of an answer
controller      the controller: decides when to intervene in a run, how, and when to leave it alone
episodes        the memory of a controller about a run
limit_guard     throttled limits at the gate
meter           usage of an agent, as a fold over observations
outcome_window  the window after an intervention
scoring         the score of an issue's gravity, and the kind that is in proportion to it
"""
