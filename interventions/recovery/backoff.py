"""How long to wait before a retry: doubling, with a share of chance that comes from outside."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits of a series of retries."""

    first_seconds: float = 5.0
    """The API asks for a few seconds when it is overloaded. The CLI itself has retried ten times before it gives up."""
    factor: float = 2.0
    most_seconds: float = 600.0
    """Ten minutes: an outage that lasts longer is asked about six times an hour."""
    retries: int = 8
    """With these figures some 20 minutes in all; what lasts longer is a person's to know."""

    def delay(self, attempt: int, chance: float = 0.5) -> float | None:
        """Seconds to wait before a retry, or None if it is given up.

        Args:
            attempt: Which retry it would be, from 1.
            chance: 0 to 1, from outside: spreads agents that failed at the same moment over half to all of the wait.
        """
        if attempt > self.retries:
            return None
        whole = min(self.most_seconds, self.first_seconds * self.factor ** (attempt - 1))
        return whole * (0.5 + 0.5 * min(1.0, max(0.0, chance)))
