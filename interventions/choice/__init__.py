"""Which intervention is chosen, when, and whether it helped.

strategies/     how the next kind of intervention is proposed
chooser         the rule by which an answer is chosen
controller      the controller
episodes        what a controller remembers of a run
limit_guard     throttled limits at the gate
meter           what an agent has used, as a fold over what was observed
outcome_window  the window after an intervention
scoring         how grave an issue is, as a number, and which kind is in proportion to it
"""
