"""Pure: an issue in, an intervention out. Detectors and their issues come from `monitors`.

choice/           which intervention is chosen, when, and whether it helped
kinds/            the five kinds of interventions, weakest first, and the stages in which features are given up
recovery/         going on after an agent ended before its task was done
texts/            what agents are told
advice            what to set otherwise after an emergency stop
aftermath         what an agent left behind that was stopped, as it was looked for once its processes had gone
approval          approval mode
contract          what an intervention and a strategy are shown, and what they answer
decisions         what is done about an issue, whether it helped, and the incident that tells of it
effectiveness     whether interventions help
goals             which goals of a task the agent's own to-do list says are done
ladders           which kinds answer which pattern, weakest first
recovery_options  the ways back from an emergency stop
sanitise          take secrets out of what is kept for people to read
settings          what the user may decide about interventions
stop_report       the full report of an emergency stop, as the incident's file holds it
words             the kinds of interventions, weakest first
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interventions.contract import Answer, Case, LadderPosition, Plan, Strategy, Unfit
    from interventions.decisions import Intervention, Judgement, PersonNeed
    from interventions.recovery.after_end import AgentEnd, Follow, RecoveryAnswer, RecoveryPlan
    from interventions.words import InterventionKind

__all__ = [
    "AgentEnd",
    "Answer",
    "Case",
    "Follow",
    "Intervention",
    "InterventionKind",
    "Judgement",
    "LadderPosition",
    "PersonNeed",
    "Plan",
    "RecoveryAnswer",
    "RecoveryPlan",
    "Strategy",
    "Unfit",
]

_HOMES = {
    "interventions.contract": ("Answer", "Case", "LadderPosition", "Plan", "Strategy", "Unfit"),
    "interventions.decisions": ("Intervention", "Judgement", "PersonNeed"),
    "interventions.recovery.after_end": ("AgentEnd", "Follow", "RecoveryAnswer", "RecoveryPlan"),
    "interventions.words": ("InterventionKind",),
}
"""The names of the face by module. Each is looked up at its first use: a command that needs one loads little."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
