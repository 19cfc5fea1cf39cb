"""The kinds of intervention for each pattern, weakest first.

A kind that does not bear on a pattern is not on its ladder: tighter memory does not mend a wrong path, and a rollback
does not bring a password. An emergency stop stands behind each ladder unless the type is listed as `NOT_STOPPED`.
"""

from interventions.words import InterventionKind

SOFT, REINFORCE, THROTTLE, ROLLBACK, STOP = InterventionKind

LADDERS: dict[str, tuple[InterventionKind, ...]] = {
    "repetitive_errors": (SOFT, REINFORCE, ROLLBACK),
    "repetition": (SOFT, REINFORCE, ROLLBACK),
    "goal_drift": (SOFT, REINFORCE, ROLLBACK),
    "no_progress": (SOFT, REINFORCE, ROLLBACK),
    "error_exploration_loop": (SOFT, REINFORCE, ROLLBACK),
    "exploration_wandering": (SOFT, REINFORCE, THROTTLE),
    "refusals": (SOFT, REINFORCE, THROTTLE),
    "scope_creep": (REINFORCE, THROTTLE, STOP),
    "hallucination": (REINFORCE, ROLLBACK, STOP),
    "test_tampering": (REINFORCE, ROLLBACK, STOP),
    "confused_state": (REINFORCE, ROLLBACK, STOP),
    "text_loop": (SOFT, ROLLBACK, STOP),
    "resource_spiral": (THROTTLE, ROLLBACK, STOP),
    "runaway_execution": (THROTTLE, ROLLBACK, STOP),
    "blocked_on_human": (SOFT,),
    "limit_reached": (SOFT,),
    "critical_action": (STOP,),
    "gate_bypassed": (STOP,),
}
"""By issue type. Those of repetitive errors, scope creep, resource spiral, goal drift and hallucination are the
specified ones; each other follows the pattern nearest to it. A text loop is rolled back early, since the loop itself
stands in the context that feeds it."""

DEFAULT = (SOFT, REINFORCE, ROLLBACK)
"""For types that only a plugin knows."""

NOT_STOPPED = frozenset({"blocked_on_human", "limit_reached"})
"""Types for which a stop mends nothing: behind their ladder stands a person. At a limit the gate refuses what changes
something; one that is passed by far is raised as a `critical_action`."""

CALLED_BACK = frozenset({"blocked_on_human", "hallucination", "test_tampering"})
"""Types for which an agent is spoken to though it has finished: what it ended with is itself what is wrong."""

FOR_A_PERSON = frozenset({"blocked_on_human"})
"""Types of which a person is notified as soon as they are seen."""


def ladder_of(issue_type: str) -> tuple[InterventionKind, ...]:
    """The ladder of a type, with the stop behind it where one may follow."""
    kinds = LADDERS.get(issue_type, DEFAULT)
    return kinds if STOP in kinds or issue_type in NOT_STOPPED else (*kinds, STOP)
