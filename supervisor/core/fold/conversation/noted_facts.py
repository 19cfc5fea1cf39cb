"""Facts that an agent notes for others: read from its replies, due until the journal has each as a discovery."""

from monitors.contract.observations import AgentSpoke, Observation
from supervisor.core.discoveries import MOST_OF_AN_AGENT, read_discoveries
from supervisor.protocol.words import DiscoveryScope


class NotedFacts:
    """The facts of one agent."""

    def __init__(self) -> None:
        self.due: list[tuple[DiscoveryScope, str]] = []
        """Those that the journal does not have yet, oldest first."""
        self._read: set[str] = set()

    def observed(self, observation: Observation) -> None:
        """Read a reply of the agent. Those of its subagents come back to it as results, and are not read."""
        if not isinstance(observation, AgentSpoke) or observation.subagent:
            return
        for scope, text in read_discoveries(observation.text):
            if text not in self._read and len(self._read) < MOST_OF_AN_AGENT:
                self._read.add(text)
                self.due.append((scope, text))

    def journalled(self, text: str) -> None:
        """Take in that the journal has one."""
        self.due = [fact for fact in self.due if fact[1] != text]
