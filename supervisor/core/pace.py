"""How many tool calls the gate lets through in a minute, where a throttling says so: the answer waits, and nothing is refused.

Level-triggered: how long a call waits follows from the reviews of the last minute, so a timer that is lost with a daemon
is simply started again.
"""

from collections import deque
from collections.abc import Iterable

MINUTE = 60.0

MOST_REMEMBERED = 1_000
"""Reviews remembered: a limit above this in a minute is none, for a call takes the CLI tens of milliseconds."""


class Pace:
    """When the calls of the last minute were answered."""

    def __init__(self) -> None:
        self._answered: deque[float] = deque(maxlen=MOST_REMEMBERED)

    def answered(self, mono: float) -> None:
        """Note that a call was answered."""
        self._answered.append(mono)

    def wait(self, most: int | None, mono: float) -> float:
        """Seconds until a further call may be answered; 0 where it may now.

        Args:
            most: Calls in a minute; None means no limit.
            mono: Now.
        """
        if most is None:
            return 0.0
        recent = _within(self._answered, mono)
        return 0.0 if len(recent) < most else max(0.0, recent[-most] + MINUTE - mono)


def _within(answered: Iterable[float], mono: float) -> list[float]:
    return [each for each in answered if mono - MINUTE < each <= mono]
