"""Patterns that are worse together than each alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monitors.contract.issues import Issue
from monitors.contract.observations import Observation
from monitors.contract.words import Sensitivity, Severity
from monitors.guarded import OpenIssues
from monitors.sensitivity import PatternSettings
from monitors.streaks import MAX_EVIDENCE, Streaks


@dataclass(frozen=True, slots=True)
class Combination:
    """Patterns that, open at once, make one more issue."""

    name: str
    members: tuple[tuple[str, ...], ...]
    """One of each tuple must be open."""
    multiplier: float
    """How many times as bad as its worst member it is."""
    means: str
    """Its meaning for a person."""


COMBINATIONS = (
    Combination(
        "error_exploration_loop",
        (("repetitive_errors",), ("exploration_wandering",)),
        1.5,
        "it runs into the same error and looks about without finding a way",
    ),
    Combination(
        "runaway_execution",
        (("resource_spiral",), ("goal_drift", "repetition", "text_loop")),
        2.0,
        "it uses more and more, and not for its goals",
    ),
    Combination(
        "confused_state",
        (("hallucination",), ("scope_creep", "goal_drift")),
        1.8,
        "it takes things for real that are not, away from its task",
    ),
)
"""Combinations that are worse than their parts. The first member of each group gave the combination its name; the
others are patterns of the same meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinationsSettings(PatternSettings):
    """Combinations that are worse than their parts.

    They are an error and exploration loop, runaway execution, and a confused state.
    """

    # No key here: each combination has the sensitivity of its parts.
    sensitivity: Sensitivity | None = None


class Combinations:
    """Raises an issue named as the combination. It comes last: it looks at what the others have open.

    Args:
        board: Where the detectors before it note what they raise.
        settings: What to look for.
    """

    name = "combinations"

    def __init__(self, board: OpenIssues, settings: CombinationsSettings | None = None) -> None:
        self._board = board
        self._settings = settings or CombinationsSettings()
        self._streaks: Mapping[str, Streaks] = {one.name: Streaks(1) for one in COMBINATIONS}
        self._changes = 0

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Look at the board again where something on it changed."""
        if self._board.changes == self._changes:
            return ()
        self._changes = self._board.changes
        return [issue for one in COMBINATIONS for issue in self._look_for(one, observation.seq)]

    def _look_for(self, combination: Combination, seq: int) -> Sequence[Issue]:
        found = [self._worst(types) for types in combination.members]
        members = [issue for issue in found if issue is not None]
        streaks = self._streaks[combination.name]
        if len(members) < len(found):
            return streaks.close()
        combined = _combined(combination, members, seq)
        issue = replace(combined, severity=self._settings.graded(combined.severity))
        return streaks.seen(issue, 1 + issue.severity.rank)

    def _worst(self, types: tuple[str, ...]) -> Issue | None:
        return next((issue for issue in map(self._board.worst, types) if issue is not None), None)


def _combined(combination: Combination, members: Sequence[Issue], seq: int) -> Issue:
    """The multiplier goes into the impact factor, and what that cannot hold into the severity."""
    worst = max(members, key=lambda issue: (issue.severity.rank, issue.impact_factor))
    factor = combination.multiplier * (1 + worst.impact_factor)
    rank = worst.severity.rank + (1 if factor > 2 else 0)
    names = " and ".join(issue.type for issue in members)
    return Issue(
        type=combination.name,
        severity=list(Severity)[min(rank, Severity.CRITICAL.rank)],
        confidence=min(issue.confidence for issue in members),
        impact_factor=round(min(1.0, factor - 1), 3),
        began=min(issue.began for issue in members),
        sentence=f"{names} at once: {combination.means}.",
        evidence=tuple(sorted({seq, *(number for issue in members for number in issue.evidence)}))[-MAX_EVIDENCE:],
        details={"multiplier": combination.multiplier, "members": tuple(issue.type for issue in members)},
    )
