"""Facts of other agents that an agent is told while it runs: beside the answer to its next call, each once."""

from supervisor.core.discoveries import facts
from supervisor.protocol.events import DiscoveryTold


class HeardFacts:
    """A fold over the journal.

    Args:
        briefing: What the agent was told with its task, which has the facts that were known then.
    """

    def __init__(self, briefing: str) -> None:
        self._briefing = briefing
        self._told = set[str]()
        self._due: list[DiscoveryTold] = []

    def may_hear(self, text: str, most: int) -> bool:
        """Whether the agent does not know a fact yet, and was told fewer than so many while it ran."""
        return text not in self._told and f'"{text}"' not in self._briefing and len(self._told) < most

    def remember(self, event: DiscoveryTold) -> None:
        """Have a fact told with the next answer that can carry it."""
        self._told.add(event.text)
        self._due.append(event)

    def take(self) -> str:
        """Return what is told with the answer to a call that goes out now; empty if there is nothing."""
        due, self._due = self._due, []
        return facts((one.by, one.text) for one in due) if due else ""
