"""The window after an intervention: did the issue end, come back, or change, and what did the run lose.

It is open until something is clear: the issue was raised again (at once), the issue closed and some more steps passed
without it, the run ended, another intervention is due, or the window's steps or seconds are used up.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from interventions.decisions import Fate, Intervention, InterventionOutcome, Judgement
from interventions.words import InterventionKind
from monitors.contract.issues import Issue

WINDOW_STEPS = 15
"""Tool results in a window: the slowest detectors forget a pattern after 12, so by then it ended or was raised
again."""

WINDOW_SECONDS = 600.0
"""Longest window: at the pace of real runs, 15 steps take two to five minutes; a build may take the rest."""

SETTLED_STEPS = 3
"""Tool results without the issue, once it closed, that make a success."""

COMPARED_STEPS = 3
"""Fewest tool results before and after for their shares of success to be compared."""

RECENT = 20
"""Tool results before an intervention that it is compared with."""


class Pace:
    """The latest tool results: which succeeded."""

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=RECENT)

    def saw(self, ok: bool) -> None:
        """Count one tool result."""
        self._recent.append(ok)

    def share(self) -> float | None:
        """Share of successes; None if there are too few to say."""
        return _share(self._recent)


@dataclass(slots=True)
class Window:
    """One intervention under watch."""

    intervention: Intervention
    opened: float
    """When it was chosen, in seconds on the clock that never goes back."""
    before: float | None
    """Share of successful tool calls before it."""
    known: frozenset[str] = frozenset()
    """Types of the issues open when it was chosen."""
    results: list[bool] = field(default_factory=list)
    closed_at: int | None = None
    """After how many results the issue closed; None while it is open."""
    again: Issue | None = None
    """The issue, raised again."""
    other: Issue | None = None
    """An issue of a type that was not open before."""

    def saw_result(self, ok: bool) -> None:
        """Count one tool result."""
        if len(self.results) < WINDOW_STEPS:
            self.results.append(ok)

    def saw_issue(self, issue: Issue) -> None:
        """Note what an issue says of this one."""
        mine = self.intervention.issue
        same = (issue.type, issue.key) == (mine.type, mine.key)
        if same and issue.closed:
            self.closed_at = len(self.results)
        elif same or (issue.type == mine.type and not issue.closed):
            self.again = self.again or issue
        elif not issue.closed and issue.type not in self.known:
            self.other = self.other or issue

    def over(self, mono: float) -> bool:
        """Whether it is clear by now, or never will be."""
        settled = self.closed_at is not None and len(self.results) - self.closed_at >= SETTLED_STEPS
        full = len(self.results) >= WINDOW_STEPS or mono - self.opened >= WINDOW_SECONDS
        return self.again is not None or settled or full

    def judge(self, mono: float, *, ended: bool = False, well: bool = False) -> Judgement:
        """Return the outcome of the intervention.

        Args:
            mono: Now.
            ended: Whether the run is over.
            well: Whether it ended as it was meant to.
        """
        fate, outcome, why = self._outcome(ended=ended, well=well)
        disruption = self._disruption()
        loss = f" Calls that succeed went down by {disruption:.0%}." if disruption else ""
        chosen = self.intervention
        return Judgement(
            intervention=chosen.id,
            kind=chosen.kind,
            issue_type=chosen.issue.type,
            fate=fate,
            outcome=outcome,
            steps=len(self.results),
            seconds=round(max(0.0, mono - self.opened), 3),
            disruption=disruption,
            sentence=f"{chosen.kind} against {chosen.issue.type}: {outcome}. {why}{loss}",
        )

    def _outcome(self, *, ended: bool, well: bool) -> tuple[Fate, InterventionOutcome, str]:
        if self.intervention.kind is InterventionKind.EMERGENCY_STOP:
            if ended and well:
                return Fate.ENDED, InterventionOutcome.SUCCESS, "The run was stopped."
            return Fate.UNKNOWN, InterventionOutcome.UNCLEAR, "The run ended before it was stopped."
        if self.again is not None:
            return Fate.CAME_BACK, InterventionOutcome.FAILURE, f"It came back: {self.again.sentence}"
        if self.other is not None:
            graver = self.other.severity.rank >= self.intervention.issue.severity.rank
            outcome = InterventionOutcome.FAILURE if graver else InterventionOutcome.UNCLEAR
            return Fate.CHANGED, outcome, f"Another issue came in its place: {self.other.sentence}"
        if self.closed_at is not None:
            return Fate.ENDED, InterventionOutcome.SUCCESS, "The issue ended."
        if ended and well:
            return Fate.ENDED, InterventionOutcome.SUCCESS, "The run ended well without it."
        return (
            Fate.UNKNOWN,
            InterventionOutcome.UNCLEAR,
            "It neither ended nor came back." if not ended else "The run ended.",
        )

    def _disruption(self) -> float:
        after = _share(self.results)
        if self.before is None or after is None:
            return 0.0
        return round(max(0.0, self.before - after), 3)


def _share(results: Iterable[bool]) -> float | None:
    seen = list(results)
    return sum(seen) / len(seen) if len(seen) >= COMPARED_STEPS else None
