"""The stop sequence: its steps, gentlest first, and the time each is given.

An interrupt and the end of input let an agent finish orderly before signals end it.
"""

from dataclasses import dataclass

from monitors.contract.bounds import Pause
from supervisor.protocol.words import StopStep


@dataclass(frozen=True, slots=True)
class StopSequence:
    """Seconds that each step is given before the next is taken."""

    interrupt_seconds: Pause = 3.0
    """After an interrupt, in seconds. The CLI ends tool and turn at once; what is left is writing the result."""
    end_of_input_seconds: Pause = 5.0
    """After its input was closed, in seconds. The CLI ends by itself then; 5 s is what the agent SDK grants it to
    flush its session file."""
    terminate_seconds: Pause = 5.0
    """After SIGTERM, in seconds, before SIGKILL; the agent SDK's figure too."""
    freeze_seconds: float = 1.0
    """Freezing takes under 5 ms; a tree that is not frozen after a second is ended while it runs."""

    hard_stop: bool = True
    """Whether an emergency stop ends the processes. If not, they stay frozen until a person ends them."""

    def after(self, step: StopStep) -> tuple[StopStep, float] | None:
        """Return the step that follows and the seconds until it is taken; None after the last."""
        match step:
            case StopStep.INTERRUPT:
                return StopStep.END_OF_INPUT, self.interrupt_seconds
            case StopStep.END_OF_INPUT:
                return StopStep.TERMINATE, self.end_of_input_seconds
            case StopStep.TERMINATE:
                return StopStep.KILL, self.terminate_seconds
            case StopStep.FREEZE:
                return StopStep.KILL, self.freeze_seconds
            case StopStep.KILL:
                return None
