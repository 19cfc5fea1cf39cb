"""The last calls of an agent, what the gate said of each, and how its last test run went."""

from dataclasses import dataclass, replace

from monitors.contract.actions import Action, PastCall
from monitors.contract.observations import ToolReturned
from monitors.contract.words import Decision
from monitors.signals.shared import OUTPUT_TOOLS
from monitors.signals.test_runs import TestTally, tally
from supervisor.protocol.events import ReviewMade

KEPT = 50
"""Calls kept for reviews, reports and `show`: as many last actions as an incident report carries."""

MAX_UNDER_WAY = 256
"""Verdicts kept for calls that have not returned: each is compared with its outcome. The observer keeps as many
calls."""


LONGEST_SUBJECT = 200
"""Characters of what a call is about that are kept; the journal has all of it."""


MOST_RUNNING = 5
"""Calls under way that are listed at once."""


@dataclass(frozen=True, slots=True)
class CallUnderWay:
    """A call that was let through and has not come back."""

    tool: str
    summary: str
    """The subject, shortened."""
    since: float
    """When it was let through, in Unix seconds."""


class History:
    """The last reviewed calls of one agent."""

    def __init__(self) -> None:
        self._steps: dict[str, PastCall] = {}
        self._verdicts: dict[str, ReviewMade] = {}
        self._under_way: dict[str, CallUnderWay | None] = {}
        """By the id of the call; None for one that was blocked, whose result comes too."""
        self.tests: TestTally | None = None
        """The last test run, if there was one."""

    @property
    def steps(self) -> tuple[PastCall, ...]:
        """The last calls, oldest first."""
        return tuple(self._steps.values())

    @property
    def running(self) -> tuple[CallUnderWay, ...]:
        """The calls that were let through and have not come back, oldest first, as many as a person looks at."""
        through = [call for id_, call in self._under_way.items() if id_ and call is not None]
        return tuple(through[-MOST_RUNNING:])

    def verdict(self, tool_use_id: str) -> ReviewMade | None:
        """Return the gate's verdict on a call; None if there is none, or it is too old."""
        return self._verdicts.get(tool_use_id)

    def reviewed(self, made: ReviewMade) -> None:
        """The gate decided about a call."""
        id_, tool, subject, decision = (
            made.action.tool_use_id,
            made.action.tool,
            subject_of(made.action),
            made.review.decision,
        )
        self._verdicts[id_] = made
        self._under_way[id_] = None if decision is Decision.BLOCK else CallUnderWay(tool, subject, made.at)
        self._steps[id_ or made.request_id] = PastCall(tool, subject, failed=False, decision=decision)
        if len(self._steps) > KEPT:
            del self._steps[next(iter(self._steps))]
        if len(self._under_way) > MAX_UNDER_WAY:
            del self._under_way[next(iter(self._under_way))]
        if len(self._verdicts) > KEPT:
            over = next((known for known in self._verdicts if known not in self._under_way), "")
            self._verdicts.pop(over, None)

    def launched(self) -> None:
        """The CLI was launched again: what the launch before did not answer never comes back."""
        self._under_way.clear()

    def returned(self, call: ToolReturned) -> None:
        """A call came back; one that is forgotten can no longer be marked as failed."""
        self._under_way.pop(call.id, None)
        if call.tool in OUTPUT_TOOLS and not call.refused:
            self.tests = tally(call.text) or self.tests
        if call.failed and call.id in self._steps:
            self._steps[call.id] = replace(self._steps[call.id], failed=True)


def subject_of(action: Action) -> str:
    """Return what a call is about: its command, path or pattern, shortened, which is seen."""
    about = action.subject or str(action.input.get("description") or "")
    return about if len(about) <= LONGEST_SUBJECT else f"{about[: LONGEST_SUBJECT - 1]}…"
