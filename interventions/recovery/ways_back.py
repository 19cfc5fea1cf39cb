"""For each intervention, how the run comes back from it to normal work."""

from dataclasses import dataclass

from supervisor.protocol.interventions import Intervention
from supervisor.protocol.words import InterventionKind


@dataclass(frozen=True, slots=True)
class WayBack:
    """How one kind of intervention ends."""

    by_itself: bool
    """Whether the run comes back without anybody doing anything."""
    when: str
    """What must be so; a whole sentence for a person."""
    command: str = ""
    """What a person can do sooner, or instead, with fields for the agent and the intervention."""


WAYS_BACK: dict[InterventionKind, WayBack] = {
    InterventionKind.SOFT_CORRECTION: WayBack(True, "The agent goes on at once; nothing was taken from it."),
    InterventionKind.CONTEXT_REINFORCEMENT: WayBack(
        True, "The agent goes on at once; what was said is renewed when its context is compacted."
    ),
    InterventionKind.RESOURCE_THROTTLING: WayBack(
        True, "The limits go back when usage has been calm for the window of usage.", "chaperon say {agent} TEXT"
    ),
    InterventionKind.CHECKPOINT_ROLLBACK: WayBack(
        True,
        "The agent goes on from the checkpoint; what was there before was captured first and can be brought back.",
        "chaperon checkpoints {agent}",
    ),
    InterventionKind.EMERGENCY_STOP: WayBack(
        False,
        "A person chooses one of the incident's recovery options.",
        "chaperon recover {intervention}-emergency_stop",
    ),
}


def way_back(chosen: Intervention, agent: str) -> WayBack:
    """The way back from one intervention, with its command filled in."""
    way = WAYS_BACK[chosen.kind]
    return WayBack(way.by_itself, way.when, way.command.format(agent=agent, intervention=chosen.id))
