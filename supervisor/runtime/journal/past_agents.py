"""Agents whose end a journal has, found while its lines are checked.

No detector need watch what they did again: each issue is in the journal, and none follows. Half of a fold is detectors.
"""

import re

from supervisor.protocol import records
from supervisor.protocol.events import StateChanged

_STATE_CHANGED = re.compile(rb'"kind":"state_changed","p":"[0-9a-f]{32}","c":"[0-9a-f]{8}"\}\n?\Z')
"""The end of such an event's line, as this version writes it. A line that is written otherwise only costs time."""

_SEAL_BYTES = 90
"""Longer than what the expression matches: a line may have megabytes."""

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
        if _STATE_CHANGED.search(line, max(0, len(line) - _SEAL_BYTES)) is None:
            return
        event = records.read_event(line.removesuffix(b"\n"))
        if isinstance(event, StateChanged) and event.after.ended:
            self._ended.add(event.agent)

    def __contains__(self, agent: str) -> bool:
        return agent in self._ended and agent not in self._with_failures
