"""The kinds of interventions, weakest first."""

from enum import StrEnum


class InterventionKind(StrEnum):
    """The five answers to an issue, weakest first."""

    SOFT_CORRECTION = "soft_correction"
    """A word in the agent's ear: a message into the running turn."""
    CONTEXT_REINFORCEMENT = "context_reinforcement"
    """The request, constraints and goals said again, with what matters now emphasised."""
    RESOURCE_THROTTLING = "resource_throttling"
    """Tighter limits on processes, tokens and rate, and a message to the agent."""
    CHECKPOINT_ROLLBACK = "checkpoint_rollback"
    """Files and conversation go back to a good moment."""
    EMERGENCY_STOP = "emergency_stop"
    """Frozen, saved, ended: the whole process tree."""

    @property
    def rank(self) -> int:
        """Place in the order, 0 for soft correction to 4 for emergency stop."""
        return _KIND_RANKS[self]


_KIND_RANKS = {kind: rank for rank, kind in enumerate(InterventionKind)}
