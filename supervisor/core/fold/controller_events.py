"""Events of a run, passed to the controller of interventions, which knows neither events nor the journal."""

from interventions.choice.controller import Controller, Stamp
from supervisor.protocol.events import (
    AnyEvent,
    CheckpointMade,
    ContextRestated,
    InterventionChosen,
    InterventionJudged,
    IssueSeen,
    LimitsEased,
    PersonNeeded,
    RestoreFailed,
    ReviewMade,
)


def tell_controller(controller: Controller, seq: int, event: AnyEvent) -> None:
    """Pass an event to a controller, now or before a restart.

    Events without bearing on interventions change nothing.
    """
    when = Stamp(seq, event.at, event.mono)
    match event:
        case IssueSeen():
            controller.issue_seen(when, event.issue)
        case InterventionChosen():
            controller.intervention_chosen(when, event.intervention)
        case InterventionJudged():
            controller.intervention_judged(when, event.judgement)
        case PersonNeeded():
            controller.person_asked(when, event.need)
        case ContextRestated():
            controller.context_restated()
        case LimitsEased():
            controller.limits_eased(when, event.limits)
        case RestoreFailed():
            controller.restore_failed(when, event.intervention, event.checkpoint, event.error)
        case ReviewMade():
            controller.review_made(when, event.review)
        case CheckpointMade():
            controller.checkpoint_made()
        case _:
            pass
