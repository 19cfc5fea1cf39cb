"""What goes wrong in one agent's run: the detectors that watch it, and the issues that they raised."""

from collections.abc import Iterator, Sequence

from monitors.guarded import DetectorFailure, Guarded, Watchers
from supervisor.protocol.issues import Detector, Issue
from supervisor.protocol.observations import Observation


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
        self._switched_off: set[str] = set()

    def observed(self, observation: Observation) -> Iterator[DetectorFailure]:
        """Show it to the detectors; yields those that failed and are not asked again."""
        for detector in self._watchers.of(observation):
            self.fresh += detector.see(observation)
            if isinstance(detector, Guarded) and detector.failure and detector.name not in self._switched_off:
                self._switched_off.add(detector.name)
                yield detector.failure

    def raised(self, issue: Issue) -> None:
        """The journal has it."""
        self.fresh = [fresh for fresh in self.fresh if fresh != issue]
        if issue.closed:
            self.open.pop((issue.type, issue.key), None)
        else:
            self.open[issue.type, issue.key] = issue
