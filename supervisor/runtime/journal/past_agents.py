"""Agents whose end a journal has, found while its lines are checked.

No detector need watch what they did again: each issue is in the journal, and none follows. Half of a fold is detectors.
"""

from supervisor.protocol import records
from supervisor.protocol.events import StateChanged

_DETECTOR_FAILED = b'"detector_failed-'
"""The beginning of the type of incident for a failed detector. Only the detectors can identify the detector again."""


class PastAgents:
    """Their names. Whoever is not among them may have ended all the same."""

    def __init__(self) -> None:
        self._ended: set[str] = set()
        self._with_failures: set[str] = set()

    def look(self, line: bytes) -> None:
        """Look at a line that was checked."""
        if _DETECTOR_FAILED in line:
            self._with_failures.add(records.whose_and_when(line)[0])
        if records.kind_of(line) != "state_changed":  # one that is written otherwise only costs time
            return
        event = records.read_event(line.removesuffix(b"\n"))
        if isinstance(event, StateChanged) and event.after.ended:
            self._ended.add(event.agent)

    def __contains__(self, agent: str) -> bool:
        return agent in self._ended and agent not in self._with_failures
