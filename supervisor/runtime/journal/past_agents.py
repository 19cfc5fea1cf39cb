"""Agents whose end a journal has, found while its lines are checked.

No detector need watch what they did again: each issue is in the journal, and none follows. Half of a fold is detectors.
"""

from collections.abc import Callable, Sequence

from supervisor.protocol import records
from supervisor.protocol.events import StateChanged
from supervisor.runtime.protection.seals import SEALED

_DETECTOR_FAILED = b'"detector_failed-'
"""The beginning of the type of incident for a failed detector. Only the detectors can identify the detector again."""

_STATE_CHANGED = b'"kind":"state_changed"'
_ENDING_BYTES = 160
"""The kind, the signature, the chain and the seal fit into so much of a line's end. To look for one kind there takes a
quarter of what it takes to tell which kind it is."""

_OF_INCIDENTS = ("incident_opened", "")
"""The kinds of lines that tell of one; a line of another make has no kind that is told without reading it."""


class PastAgents:
    """Their names. Whoever is not among them may have ended all the same."""

    def __init__(self) -> None:
        self._ended: set[str] = set()
        self._with_failures: set[str] = set()

    def look(self, lines: Sequence[bytes], opened: Callable[[bytes], bytes] = bytes) -> None:
        """Look at lines that were checked, which `opened` gives in the clear."""
        for line in lines:
            if line.find(_STATE_CHANGED, -_ENDING_BYTES) >= 0:
                event = records.read_event(opened(line))
                if isinstance(event, StateChanged) and event.after.ended:
                    self._ended.add(event.agent)
            elif (_DETECTOR_FAILED in line or SEALED in line) and self._tells_of_failure(opened, line):
                self._with_failures.add(records.agent_of(line))

    @staticmethod
    def _tells_of_failure(opened: Callable[[bytes], bytes], line: bytes) -> bool:
        return records.kind_of(line) in _OF_INCIDENTS and _DETECTOR_FAILED in opened(line)

    def __contains__(self, agent: str) -> bool:
        return agent in self._ended and agent not in self._with_failures
