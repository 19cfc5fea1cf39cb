"""The stop of an agent before its task is done, with its reasons and its progress. A fold over events."""

from interventions.words import InterventionKind
from supervisor.core.timers import STOP_STEP
from supervisor.protocol.claude.messages import ControlResponse
from supervisor.protocol.events import (
    AnyEvent,
    InterventionChosen,
    RungReached,
    StopRequested,
    TimerFired,
    TreeFrozen,
)
from supervisor.protocol.words import StopStep


class AgentStop:
    """The stop of one agent: its reasons, of which there may be several, and the step that it has reached."""

    def __init__(self) -> None:
        self.asked: StopRequested | None = None
        self.emergency: InterventionChosen | None = None
        self.unfit: ControlResponse | TimerFired | None = None
        """The CLI's refusal of the hooks, or the end of the wait for its first answer: no call of it would be
        reviewed."""
        self.lingers = False
        """Whether the CLI did not end in time once its input was closed."""
        self.step: StopStep | None = None
        self.step_over = False
        """Whether the next step is due."""

    @property
    def due(self) -> bool:
        """Whether there is any reason."""
        return self.asked is not None or self.emergency is not None or self.unfit is not None or self.lingers

    def remember(self, event: AnyEvent) -> None:
        """Take in an event; those that do not bear on a stop change nothing."""
        match event:
            case StopRequested():
                self.asked = event
            case InterventionChosen() if event.intervention.kind is InterventionKind.EMERGENCY_STOP:
                self.emergency = event
            case RungReached():
                self.step, self.step_over = event.rung, False
            case TreeFrozen():
                self.step_over = self.step is StopStep.FREEZE
            case TimerFired(name=name) if name == STOP_STEP:
                self.step_over = True
            case _:
                pass

    def turn_began(self) -> None:
        """Note that the CLI began another turn, for work in the background.

        Its input is closed then, or about to be.
        """
        self.step_over = self.step_over or self.step is StopStep.END_OF_INPUT

    def turn_ended(self) -> None:
        """Note the end of a turn, which is the aim of an interruption."""
        self.step_over = self.step_over or self.step is StopStep.INTERRUPT
