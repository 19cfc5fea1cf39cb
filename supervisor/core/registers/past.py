"""The known past of agents that ended: the fold passes over their events until there."""

from collections.abc import Iterable
from dataclasses import dataclass

from supervisor.core.fold.summary import Summary
from supervisor.protocol.events import TaskSubmitted

OF_ONE_SESSION = {
    "line_received": b'"type":"result"',
    "input_accepted": b'"key":"tell:',
    "review_made": b"\0",
}
"""Kinds of events that nothing but their agent's session folds, and nine tenths of a journal are of them; each with the
bytes by which a line of that kind is of use to others all the same: the counters of turns and of interventions. Of a
review a start counts what `records.review_of` gives; no line has a null byte."""


@dataclass(frozen=True, slots=True)
class KnownEnd:
    """The summary of an agent that ended, and how far it goes."""

    n: int
    """Number of the last event that is in the summary."""
    summary: Summary


class KnownPast:
    """The events that need not be folded."""

    def __init__(self) -> None:
        self._through: dict[str, int] = {}
        self._expected: dict[str, KnownEnd] = {}

    def restore(self, ends: Iterable[KnownEnd]) -> None:
        """Take in agents whose summaries the board has now."""
        for end in ends:
            self._through[end.summary.agent] = end.n

    def forget(self, agent: str) -> None:
        """Know nothing of an agent any more."""
        self._through.pop(agent, None)
        self._expected.pop(agent, None)

    def expect(self, ends: Iterable[KnownEnd]) -> None:
        """Take in what may be known of agents, if the journal turns out to be the one that it was known from."""
        self._expected.update({end.summary.agent: end for end in ends})

    def recognise(self, seq: int, submitted: TaskSubmitted) -> Summary | None:
        """The summary of the agent that was submitted here; None if it is another or nothing is known of it."""
        end = self._expected.pop(submitted.agent, None)
        if end is None:
            return None
        known = end.summary
        if (known.first_event, known.started_at, known.workspace) != (seq, submitted.at, submitted.workspace):
            return None
        self._through[submitted.agent] = end.n
        return known

    def has(self, agent: str, seq: int) -> bool:
        """Whether the event of that number is in what is known of its agent."""
        return seq <= self._through.get(agent, 0)

    def passes(self, agent: str, seq: int, kind: str, line: bytes) -> bool:
        """Whether the line of an event need not be read.

        Args:
            agent: The event's agent.
            seq: Its number.
            kind: Its kind.
            line: Its line in the journal.
        """
        of_use = OF_ONE_SESSION.get(kind)
        return of_use is not None and self.has(agent, seq) and of_use not in line
