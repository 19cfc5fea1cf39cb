"""Troubles in one agent's run: the detectors that watch it, and the issues that they raised."""

from collections.abc import Sequence

from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import Observation
from monitors.guarded import DetectorFailure, Guarded, Watchers


class Issues:
    """The issues of one agent.

    Args:
        detectors: Watch the run; fed here, since their memory is part of the state.
    """

    def __init__(self, detectors: Sequence[Detector]) -> None:
        self.fresh: list[Issue] = []
        """Those that are not in the journal yet, in the order in which they were raised."""
        self.open: dict[tuple[str, str], Issue] = {}
        """By type and key."""
        self._watchers = Watchers(detectors)
        self._working = {detector for detector in detectors if isinstance(detector, Guarded)}

    @property
    def known(self) -> set[tuple[str, str]]:
        """The types and keys of those that are open, or about to be."""
        return {*self.open, *((issue.type, issue.key) for issue in self.fresh)}

    def observed(self, observation: Observation) -> list[DetectorFailure]:
        """Show it to the detectors; returns those that failed and are not asked again."""
        failures = []
        for detector in self._watchers.of(observation):
            if issues := detector.see(observation):
                self.fresh += issues
            if isinstance(detector, Guarded) and detector.failure is not None and detector in self._working:
                self._working.remove(detector)
                failures.append(detector.failure)
        return failures

    def raised(self, issue: Issue) -> None:
        """The journal has it."""
        self.fresh = [fresh for fresh in self.fresh if fresh != issue]
        if issue.closed:
            self.open.pop((issue.type, issue.key), None)
        else:
            self.open[issue.type, issue.key] = issue
