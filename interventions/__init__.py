"""Pure: an issue in, an intervention out. Detectors and their issues come from `monitors`.

choice/           the choice of an intervention, its moment, and the judgement whether it helped
kinds/            the five kinds of interventions, weakest first, and the stages in which features are given up
recovery/         going on after an agent ended before its task was done
texts/            messages to agents
advice            advice on settings after an emergency stop
aftermath         the remains of a stopped agent, looked up after its processes had ended
approval          approval mode: the actions that wait for a person, and the effect of the reply
contract          the contract of interventions and strategies, built-in ones and plugins
decisions         decisions about an issue
effectiveness     whether interventions help
goals             the goals of a task that are done by the agent's own to-do list
ladders           the kinds of intervention for each pattern, weakest first
recovery_options  the ways back from an emergency stop
sanitise          take secrets out of what is kept for people to read
settings          settings of interventions
stop_report       the full report of an emergency stop, as in the incident's file
words             the kinds of interventions, weakest first
"""

from typing import TYPE_CHECKING

from monitors.faces import lazily

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

__getattr__ = lazily(
    __name__,
    {
        "interventions.contract": ("Answer", "Case", "LadderPosition", "Plan", "Strategy", "Unfit"),
        "interventions.decisions": ("Intervention", "Judgement", "PersonNeed"),
        "interventions.recovery.after_end": ("AgentEnd", "Follow", "RecoveryAnswer", "RecoveryPlan"),
        "interventions.words": ("InterventionKind",),
    },
)
