"""An agent's use over time, from its journal: cost, tokens, context, memory and processes, as its summary had them.

The same fold as the live run counts them, so the last point is what the agent's own row says.
"""

from dataclasses import asdict, dataclass
from typing import Any

from interventions.choice.controller import Controller
from interventions.settings import InterventionSettings
from supervisor.core.fold.life.checkpoints import CaptureRules
from supervisor.core.fold.memory import Memory
from supervisor.core.fold.summary import Summary
from supervisor.protocol.claude.prices import Prices
from supervisor.protocol.events import (
    AgentExited,
    AnyEvent,
    InterventionChosen,
    IssueSeen,
    StateChanged,
    TaskSubmitted,
)

MOST_POINTS = 240
"""Points that are kept at most: a chart of 800 pixels shows no more. Of twice as many, every second one is dropped."""

MOST_MARKS = 200
"""Issues, interventions and states that are kept at most, the latest."""


@dataclass(frozen=True, slots=True)
class UsePoint:
    """The use at one moment."""

    at: float
    """Unix time in seconds."""
    cost_usd: float | None
    tokens: int
    """Of all kinds, so far."""
    context: int
    """Tokens of the last reply with its input."""
    memory_mb: float
    """Resident memory of the process tree, in MiB."""
    processes: int

    @classmethod
    def of(cls, summary: Summary, at: float) -> "UsePoint":
        """Take the figures of a moment."""
        return cls(at, summary.cost_usd, summary.tokens, summary.context_tokens, summary.memory_mb, summary.processes)

    def same_as(self, other: "UsePoint") -> bool:
        """Whether nothing but the time differs."""
        return (self.cost_usd, self.tokens, self.context, self.memory_mb, self.processes) == (
            other.cost_usd, other.tokens, other.context, other.memory_mb, other.processes,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class UseMark:
    """Something that happened meanwhile."""

    n: int
    """The number of its event."""
    at: float
    kind: str
    """`issue`, `intervention` or `state`."""
    text: str


class UseHistory:
    """Folds an agent's events in, one after another.

    Args:
        prices: The user's own prices of models.
    """

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices
        self._memory: Memory | None = None
        self._points: list[UsePoint] = []
        self._marks: list[UseMark] = []
        self._last: UsePoint | None = None
        self._step, self._skipped = 1, 0

    def take(self, n: int, event: AnyEvent) -> None:
        """Fold an event in; those before the agent's task count for nothing."""
        if self._memory is None:
            if not isinstance(event, TaskSubmitted):
                return
            controller = Controller(InterventionSettings(), event.task)
            self._memory = Memory(event, (), controller, CaptureRules(), prices=self._prices)
        self._memory.remember(n, event)
        self._look(self._memory.summary, event)
        if mark := _mark(n, event):
            self._marks = [*self._marks[-MOST_MARKS + 1 :], mark]

    def as_json(self) -> dict[str, Any]:
        """Return the points, oldest first, and the marks."""
        points = self._points if self._last is None or self._last in self._points[-1:] else [*self._points, self._last]
        window = self._memory.summary.context_window if self._memory else None
        return {
            "points": [asdict(each) for each in points],
            "marks": [asdict(each) for each in self._marks],
            "context_window": window,
        }

    def _look(self, summary: Summary, event: AnyEvent) -> None:
        now = UsePoint.of(summary, event.at)
        if self._last is not None and now.same_as(self._last) and not isinstance(event, AgentExited):
            return
        self._last = now
        self._skipped += 1
        if self._skipped < self._step and self._points:
            return
        self._skipped = 0
        self._points.append(now)
        if len(self._points) >= 2 * MOST_POINTS:
            self._points = self._points[::2]
            self._step *= 2


def _mark(n: int, event: AnyEvent) -> UseMark | None:
    match event:
        case IssueSeen(issue=issue) if not issue.closed:
            return UseMark(n, event.at, "issue", f"{issue.type} ({issue.severity})")
        case InterventionChosen(intervention=chosen):
            return UseMark(n, event.at, "intervention", str(chosen.kind))
        case StateChanged():
            return UseMark(n, event.at, "state", str(event.after))
        case _:
            return None
