"""Around each detector: what it raised is known to the others, and one that raises an exception is switched off."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import Observation

EVERYTHING: frozenset[type] = frozenset(get_args(Observation))
"""Observations for a detector that does not name the ones it watches."""


class Watchers:
    """The detectors of a session, by what each watches: most have nothing to do with most observations.

    Args:
        detectors: In the order in which they are shown an observation.
    """

    def __init__(self, detectors: Sequence[Detector]) -> None:
        of: dict[type, list[Detector]] = {kind: [] for kind in EVERYTHING}
        for one in detectors:
            for kind in EVERYTHING.intersection(getattr(one, "watches", EVERYTHING)):
                of[kind].append(one)
        self._of = {kind: tuple(watching) for kind, watching in of.items()}

    def of(self, observation: Observation) -> tuple[Detector, ...]:
        """Those that want to be shown this, in order."""
        return self._of[type(observation)]


class OpenIssues:
    """The issues that are open, by type and key."""

    def __init__(self) -> None:
        self._issues: dict[tuple[str, str], Issue] = {}
        self.changes = 0
        """How often something was raised or closed; unchanged means that nothing is to be looked at again."""

    def note(self, issues: Iterable[Issue]) -> None:
        """Take in what a detector said."""
        for issue in issues:
            self.changes += 1
            if issue.closed:
                self._issues.pop((issue.type, issue.key), None)
            else:
                self._issues[issue.type, issue.key] = issue

    def worst(self, type_: str) -> Issue | None:
        """The open issue of this type with the highest severity, the oldest of equals; None if none is open."""
        found = [issue for (open_type, _), issue in self._issues.items() if open_type == type_]
        return max(found, key=lambda issue: issue.severity.rank, default=None)

    def close_all(self) -> tuple[Issue, ...]:
        """Close every one, oldest first."""
        closed = tuple(replace(issue, closed=True) for issue in self._issues.values())
        self._issues.clear()
        return closed

    def __len__(self) -> int:
        return len(self._issues)


@dataclass(frozen=True, slots=True)
class DetectorFailure:
    """A detector raised an exception and was switched off for the session; worth an incident."""

    detector: str
    seq: int
    """The observation at which it raised."""
    sentence: str


class Guarded:
    """A detector that cannot stop the run.

    It watches what the detector watches, and gets no other observations.

    Args:
        detector: Anything that watches a run, a plugin too.
        board: Receives all that it raises; one for all detectors of a session.
    """

    def __init__(self, detector: Detector, board: OpenIssues | None = None) -> None:
        self.name = detector.name
        self.failure: DetectorFailure | None = None
        """Why it was switched off; None while it works."""
        self._detector = detector
        self.watches: frozenset[type] = getattr(detector, "watches", EVERYTHING)
        self._board = OpenIssues() if board is None else board
        self._own = OpenIssues()

    def see(self, observation: Observation) -> Sequence[Issue]:
        """As the detector says; when it raises, what it had open is closed, and it says nothing more."""
        if self.failure or type(observation) not in self.watches:
            return ()
        try:
            issues = self._detector.see(observation)
            if not issues:
                return ()
            self._check(issues)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and none of it may end the run
            issues = self._switch_off(observation, error)
        self._own.note(issues)
        self._board.note(issues)
        return issues

    def _check(self, issues: Sequence[object]) -> None:
        for issue in issues:
            if not isinstance(issue, Issue):
                raise TypeError(f"it returned {type(issue).__name__} instead of an Issue")

    def _switch_off(self, observation: Observation, error: Exception) -> Sequence[Issue]:
        what = f"{type(error).__name__}: {error}"[:300]
        sentence = (
            f"The detector {self.name} raised {what} at event {observation.seq}. It is switched off for the rest of "
            "this session, and the run goes on without it; mend or disable it in the configuration."
        )
        self.failure = DetectorFailure(self.name, observation.seq, sentence)
        return self._own.close_all()
