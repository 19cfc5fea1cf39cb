"""The last calls of an agent, what the gate said of each, and how its last test run went."""

from collections.abc import Mapping
from dataclasses import replace

from monitors.facts import OUTPUT_TOOLS
from monitors.testruns import Tally, tally
from supervisor.protocol.actions import Step
from supervisor.protocol.events import ReviewMade
from supervisor.protocol.observations import ToolReturned

KEPT = 50
"""Calls kept for reviews, reports and `show`: as many last actions as an incident report carries."""

TELLING_FIELDS = ("command", "file_path", "notebook_path", "path", "pattern", "url", "prompt", "description")
"""Fields of tool inputs that say what a call is about, most telling first."""


class History:
    """The last reviewed calls of one agent."""

    def __init__(self) -> None:
        self._steps: dict[str, Step] = {}
        self._verdicts: dict[str, ReviewMade] = {}
        self.tests: Tally | None = None
        """The last test run, where there was one."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The last calls, oldest first."""
        return tuple(self._steps.values())

    def verdict(self, tool_use_id: str) -> ReviewMade | None:
        """What the gate said of a call; None where it said nothing, or too long ago."""
        return self._verdicts.get(tool_use_id)

    def reviewed(self, made: ReviewMade) -> None:
        """The gate decided about a call."""
        id_ = made.action.tool_use_id
        self._verdicts[id_] = made
        self._steps[id_ or made.request_id] = _step(made)
        for kept in (self._verdicts, self._steps):
            if len(kept) > KEPT:
                del kept[next(iter(kept))]

    def returned(self, call: ToolReturned) -> None:
        """A call came back; one that is forgotten can no longer be marked as failed."""
        if call.tool in OUTPUT_TOOLS and not call.refused:
            self.tests = tally(call.text) or self.tests
        if call.failed and call.id in self._steps:
            self._steps[call.id] = replace(self._steps[call.id], failed=True)


def _step(made: ReviewMade) -> Step:
    """A call as history: its command, path or pattern, shortened."""
    given: Mapping[str, object] = made.action.input
    what = next((str(given[name]) for name in TELLING_FIELDS if given.get(name)), "")
    return Step(made.action.tool, what[:200], failed=False, decision=made.review.decision)
