"""Normal forms of the latest step, worked out once for all detectors that ask."""

from typing import NamedTuple

from monitors.normalise import call_key, result_key
from supervisor.protocol.observations import ToolReturned


class Fingerprint(NamedTuple):
    """A step as two short keys."""

    call: bytes
    """What was asked for; see `monitors.normalise.call_key`."""
    result: bytes
    """What came of it; see `monitors.normalise.result_key`."""


class Fingerprints:
    """Keeps the fingerprint of one step: detectors are shown the same step one after another."""

    def __init__(self) -> None:
        self._step: ToolReturned | None = None
        self._fingerprint = Fingerprint(b"", b"")

    def of(self, step: ToolReturned) -> Fingerprint:
        """Return the step's fingerprint."""
        if step is not self._step:
            self._fingerprint = Fingerprint(call_key(step.tool, step.input, step.seq), result_key(step.text))
            self._step = step
        return self._fingerprint
