"""Whether the API answers an agent: a fold over the CLI's own retries."""

from supervisor.protocol.claude.retrying import Retrying

OUTAGE_RETRIES = 5
"""The retry from which a person is notified. The four before it take eight seconds, in which most disturbances pass.
The CLI's ten take minutes, in which nothing else is seen of the agent."""

REFUSED_RETRIES = 2
"""The same for a key or login that is refused: time mends none. The CLI renews a login that ran out by itself, so one
refusal is no news; the second comes within two seconds."""


class Outage:
    """The retries since the model answered last."""

    def __init__(self) -> None:
        self.now: Retrying | None = None
        """The last one; None while the API answers."""
        self._told = False

    def retried(self, retrying: Retrying) -> bool:
        """Take in a retry, and return whether a person is to be notified now.

        That happens once until the model answers.
        """
        self.now = retrying
        if self._told or retrying.attempt < (REFUSED_RETRIES if retrying.refused else OUTAGE_RETRIES):
            return False
        self._told = True
        return True

    def over(self) -> None:
        """The model answered, or the turn ended."""
        self.now, self._told = None, False
