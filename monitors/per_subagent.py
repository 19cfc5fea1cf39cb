"""Subagents watched apart: what one repeats says nothing of another that works beside it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import Observation, ToolReturned
from monitors.guarded import EVERYTHING, OpenIssues

MAX_SUBAGENTS = 8
"""Subagents remembered at once, with the agent itself; one more ends the memory of the one longest silent."""


@dataclass(slots=True)
class _Watched:
    detector: Detector
    open: OpenIssues = field(default_factory=OpenIssues)


class Apart:
    """One detector for the agent and one for each of its subagents.

    Args:
        make: Makes a fresh detector; called once for each.
    """

    def __init__(self, make: Callable[[], Detector]) -> None:
        self._own = make()
        self.name = self._own.name
        self.watches: frozenset[type] = getattr(self._own, "watches", EVERYTHING) | {ToolReturned}
        self._make = make
        self._watched: dict[str, _Watched] = {"": _Watched(self._own)}

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Pass the observation to the detector of its subagent; one without a subagent goes to the agent's own."""
        about = getattr(observation, "subagent", "")
        if not about and len(self._watched) == 1:
            return self._own.see(observation)
        ended = (
            self._end(observation.id)
            if isinstance(observation, ToolReturned) and observation.id in self._watched
            else ()
        )
        crowded_out = self._make_room() if about not in self._watched else ()
        watched = self._watched.pop(about, None) or _Watched(self._make())
        self._watched[about] = watched
        issues = watched.detector.see(observation)
        if issues and about:
            issues = [
                replace(issue, key=f"{about} {issue.key}", details={**issue.details, "subagent": about})
                for issue in issues
            ]
        watched.open.note(issues)
        return (*ended, *crowded_out, *issues) if ended or crowded_out else issues

    def _end(self, subagent: str) -> Sequence[Issue]:
        """The call that started a subagent returned, or it was crowded out: what it had open is over."""
        return self._watched.pop(subagent).open.close_all()

    def _make_room(self) -> Sequence[Issue]:
        if len(self._watched) < MAX_SUBAGENTS:
            return ()
        return self._end(next(subagent for subagent in self._watched if subagent))
