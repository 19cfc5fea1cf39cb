"""The detectors, one pattern a module. None imports another.

blocked_on_human       the agent waits for a person without notice
combinations           patterns that are worse together than each alone
custom_pattern         a pattern of the user's own
exploration_wandering  looking around without getting anywhere
goal_drift             actions that have less and less to do with the goals
hallucination          things that do not exist, taken for real
model_judge            a model asked for what rules cannot tell
no_progress            a run that gets nowhere, in three tiers that count from its last progress and its last
                       intervention
outputs                watches what tools print
refusals               budgets of refusal
repetition             the same steps again, with the same results
repetitive_errors      the same error again and again
resource_spiral        resources that run away
scope_creep            work on files that the task is not about
tampering              tests made to pass instead of code made right
text_loop              the model repeats itself in words
"""
