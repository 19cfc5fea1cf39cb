"""Facts about the latest observation that several detectors need, computed once for all of them."""

import re
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from monitors.contract.actions import Touch
from monitors.contract.observations import ToolCalled, ToolReturned
from monitors.signals.normalise import NOTHING, call_key, does_nothing, result_key
from monitors.signals.paths import touches
from monitors.signals.polling import is_polling
from monitors.signals.test_runs import TestTally, tally

OUTPUT_TOOLS = frozenset({"Bash", "BashOutput", "TaskOutput"})
"""Tools whose output may be that of a test run. What `Read` shows is a file about one."""

_CHANGES = frozenset({"write", "delete"})

MAX_CALLS = 512
"""Calls whose results are remembered."""

MAX_RESULTS = 4
"""Different results remembered of one call: a call whose result keeps changing is no loop."""

MAX_TEXTS = 64
"""Results kept as text until their call is made again; older ones count as other than what comes then."""


class Fingerprint(NamedTuple):
    """A step as two short keys; equal keys mean the same call and the same result."""

    call: bytes
    """The key of the call; see `monitors.signals.normalise.call_key`."""
    result: int
    """The number of what came of it, given when it first came."""


@dataclass(slots=True)
class _Results:
    """Results of one call."""

    text: str | None
    """The first result, until it is needed or crowded out: normal forms cost more than all else, and few are needed."""
    first: int
    keys: dict[bytes, int] = field(default_factory=dict)

    def number(self, text: str, unused: int) -> int:
        """The number of the result with this text: one it had before, or the unused one."""
        if self.text is not None:
            if text == self.text:
                return self.first
            self.keys[result_key(self.text)] = self.first
            self.text = None
        key = result_key(text)
        number = self.keys.pop(key, unused)
        self.keys[key] = number
        if len(self.keys) > MAX_RESULTS:
            del self.keys[next(iter(self.keys))]
        return number


class SharedSignals:
    """Keeps what was worked out of one observation: detectors are shown the same one after another.

    Args:
        patterns: Regular expressions for test output of one's own; see `monitors.signals.test_runs.tally`.
        root: The agent's workspace, absolute; empty if it is not known.
    """

    def __init__(self, patterns: tuple[re.Pattern[str], ...] = (), root: str = "") -> None:
        self.root = root
        self._patterns = patterns
        self._step: ToolReturned | None = None
        self._fingerprint: Fingerprint | None = None
        self._run: tuple[TestTally | None] | None = None
        self._waits: bool | None = None
        self._call: ToolCalled | None = None
        self._touches: tuple[Touch, ...] = ()
        self._changes: tuple[str, ...] = ()
        self._results: OrderedDict[bytes, _Results] = OrderedDict()
        self._texts: deque[_Results] = deque()
        self._numbers = count()

    def of(self, step: ToolReturned) -> Fingerprint:
        """Return the step's keys."""
        self._turn_to(step)
        if self._fingerprint is None:
            idle = does_nothing(step.tool, step.input)
            call = NOTHING if idle else call_key(step.tool, step.input, step.seq)
            self._fingerprint = Fingerprint(call, self._number(call, "" if idle else step.text))
        return self._fingerprint

    def waits(self, step: ToolReturned) -> bool:
        """Return whether the step looked at something that it waits for; see `monitors.signals.polling`."""
        self._turn_to(step)
        if self._waits is None:
            self._waits = is_polling(step.tool, step.input)
        return self._waits

    def touches(self, call: ToolCalled) -> tuple[Touch, ...]:
        """Return the paths that the call touches; see `monitors.signals.paths`."""
        if call is not self._call:
            self._call, self._touches = call, touches(call)
            self._changes = tuple(touch.path for touch in self._touches if touch.access in _CHANGES)
        return self._touches

    def changes(self, call: ToolCalled) -> tuple[str, ...]:
        """Return the paths that the call writes or deletes."""
        self.touches(call)
        return self._changes

    def _number(self, call: bytes, text: str) -> int:
        number = next(self._numbers)
        known = self._results.pop(call, None)
        if known is not None:
            number = known.number(text, number)
        else:
            known = _Results(text, number)
            self._texts.append(known)
            if len(self._texts) > MAX_TEXTS:
                self._texts.popleft().text = None
        self._results[call] = known
        if len(self._results) > MAX_CALLS:
            self._results.popitem(last=False)
        return number

    def run(self, step: ToolReturned) -> TestTally | None:
        """Return the outcome of the test run that the step was, or None if it was none."""
        self._turn_to(step)
        if self._run is None:
            read = step.tool in OUTPUT_TOOLS and not step.refused
            self._run = (self.tally(step.text) if read else None,)
        return self._run[0]

    def tally(self, text: str) -> TestTally | None:
        """Return what an output says of tests, or None if it says nothing."""
        return tally(text, self._patterns)

    def _turn_to(self, step: ToolReturned) -> None:
        if step is not self._step:
            self._step, self._fingerprint, self._run, self._waits = step, None, None, None
