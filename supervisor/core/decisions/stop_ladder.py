"""The stop ladder: each rung, and how long the next one waits.

An agent that is asked to stop is given the chance to put things down before it is made to.
"""

from dataclasses import dataclass

from supervisor.protocol.words import Rung


@dataclass(frozen=True, slots=True)
class StopLadder:
    """Seconds that each rung is given before the next is climbed."""

    interrupt_seconds: float = 3.0
    """The CLI answers an interrupt within milliseconds; a tool that ignores its signal for 3 s will not heed it at all."""
    end_of_input_seconds: float = 5.0
    """After its input ended the CLI flushes its session file and ends: well under a second when measured; the official
    SDK gives the same 5 s, for the same file."""
    terminate_seconds: float = 5.0
    """What a program is commonly given to clean up on SIGTERM before it is killed."""
    freeze_seconds: float = 1.0
    """Freezing takes under 5 ms; a tree that does not stand still in a second is ended as it runs."""

    hard_stop: bool = True
    """Whether an emergency stop ends the processes; where not, they stand still until a person ends them."""

    def after(self, rung: Rung) -> tuple[Rung, float] | None:
        """The rung that follows and the seconds until it does; None behind the last."""
        match rung:
            case Rung.INTERRUPT:
                return Rung.END_OF_INPUT, self.interrupt_seconds
            case Rung.END_OF_INPUT:
                return Rung.TERMINATE, self.end_of_input_seconds
            case Rung.TERMINATE:
                return Rung.KILL, self.terminate_seconds
            case Rung.FREEZE:
                return Rung.KILL, self.freeze_seconds
            case Rung.KILL:
                return None
