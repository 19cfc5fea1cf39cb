"""The last calls of an agent, what the gate said of each, and how its last test run went."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from monitors.facts import OUTPUT_TOOLS
from monitors.testruns import Tally, tally
from supervisor.protocol.actions import Step
from supervisor.protocol.events import ReviewMade
from supervisor.protocol.observations import ToolReturned

KEPT = 50
"""Calls kept for reviews, reports and `show`: as many last actions as an incident report carries."""

TELLING_FIELDS = ("command", "file_path", "notebook_path", "path", "pattern", "url", "prompt", "description")
"""Fields of tool inputs that say what a call is about, most telling first."""


@dataclass(frozen=True, slots=True)
class RanOtherwise:
    """A call that ran with another input than was reviewed: a hook of the user's settings has the last word on it (2.1.329)."""

    tool: str
    reviewed: str
    ran: str


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

    def ran_otherwise(self, tool_use_id: str, given: object) -> RanOtherwise | None:
        """How a call ran that was not as it was reviewed; None where it was, as far as its command or its path tells."""
        made = self._verdicts.get(tool_use_id)
        if made is None or not isinstance(given, Mapping):
            return None
        wanted = made.review.updated_input or made.action.input
        for name in ("command", "file_path"):
            reviewed, ran = wanted.get(name), given.get(name)
            if isinstance(reviewed, str) and isinstance(ran, str) and not _same(reviewed, ran):
                return RanOtherwise(made.action.tool, reviewed[:300], ran[:300])
        return None

    def returned(self, call: ToolReturned) -> None:
        """A call came back; one that is forgotten can no longer be marked as failed."""
        if call.tool in OUTPUT_TOOLS and not call.refused:
            self.tests = tally(call.text) or self.tests
        if call.failed and call.id in self._steps:
            self._steps[call.id] = replace(self._steps[call.id], failed=True)


def _same(reviewed: str, ran: str) -> bool:
    """Whether two texts mean the same; a relative path may have become absolute meanwhile."""
    return reviewed.strip() == ran.strip() or (ran[:1] == "/" and ran.endswith("/" + reviewed.removeprefix("./")))


def _step(made: ReviewMade) -> Step:
    """A call as history: its command, path or pattern, shortened."""
    given: Mapping[str, object] = made.action.input
    what = next((str(given[name]) for name in TELLING_FIELDS if given.get(name)), "")
    return Step(made.action.tool, what[:200], failed=False, decision=made.review.decision)
