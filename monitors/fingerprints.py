"""What several detectors ask of the latest step, worked out once for all of them."""

import re
from typing import NamedTuple

from monitors.normalise import call_key, result_key
from monitors.testruns import Tally, tally
from supervisor.protocol.observations import ToolReturned

OUTPUT_TOOLS = frozenset({"Bash", "BashOutput", "TaskOutput"})
"""Tools whose output may be that of a test run. What `Read` shows is a file about one."""


class Fingerprint(NamedTuple):
    """A step as two short keys."""

    call: bytes
    """What was asked for; see `monitors.normalise.call_key`."""
    result: bytes
    """What came of it; see `monitors.normalise.result_key`."""


class Fingerprints:
    """Keeps what was worked out of one step: detectors are shown the same step one after another.

    Args:
        patterns: Regular expressions for test output of one's own; see `monitors.testruns.tally`.
    """

    def __init__(self, patterns: tuple[re.Pattern[str], ...] = ()) -> None:
        self._patterns = patterns
        self._step: ToolReturned | None = None
        self._fingerprint: Fingerprint | None = None
        self._run: tuple[Tally | None] | None = None

    def of(self, step: ToolReturned) -> Fingerprint:
        """Return the step's keys."""
        self._turn_to(step)
        if self._fingerprint is None:
            self._fingerprint = Fingerprint(call_key(step.tool, step.input, step.seq), result_key(step.text))
        return self._fingerprint

    def run(self, step: ToolReturned) -> Tally | None:
        """Return the outcome of the test run that the step was, or None where it was none."""
        self._turn_to(step)
        if self._run is None:
            read = step.tool in OUTPUT_TOOLS and not step.refused
            self._run = (tally(step.text, self._patterns) if read else None,)
        return self._run[0]

    def _turn_to(self, step: ToolReturned) -> None:
        if step is not self._step:
            self._step, self._fingerprint, self._run = step, None, None
