"""Recorded journals: each agent's events through the same fold as the live run, so that what is seen is what was seen.

Detectors are shown what happened, as the journal has it: the gate's answers, people's words, chaperon's own, the looks
at the process tree. Each call is reviewed by today's reviewer beside that, to count what it would decide now.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from interventions.controller import Controller
from interventions.settings import InterventionSettings
from monitors.guarded import EVERYTHING
from supervisor.core import gate
from supervisor.core.captures import CaptureRules
from supervisor.core.memory import Memory
from supervisor.core.replay import Replay, SeenIssue, home_of
from supervisor.protocol.actions import Context, Reviewer
from supervisor.protocol.events import AnyEvent, ReviewMade, TaskSubmitted
from supervisor.protocol.issues import Detector, Issue
from supervisor.protocol.observations import Observation

MakeDetectors = Callable[[TaskSubmitted], Sequence[Detector]]


class Rerun:
    """One agent of a journal on its way through.

    Args:
        submitted: The event that began it.
        reviewer: Reviews each call again; None leaves what the journal has.
        detectors: Fresh ones, made as for the live run.
    """

    def __init__(
        self,
        submitted: TaskSubmitted,
        reviewer: Reviewer | None,
        detectors: Sequence[Detector],
    ) -> None:
        self.agent, self.task = submitted.agent, submitted.task
        self.result = Replay(session_id=submitted.session_id)
        self._reviewer = reviewer
        witnessed = [_Witness(detector, self.result.issues) for detector in detectors]
        controller = Controller(InterventionSettings(), submitted.task)
        self._known = Memory(submitted, witnessed, controller, CaptureRules())
        self._began = submitted.mono

    def take(self, seq: int, event: AnyEvent) -> None:
        """Fold one of the agent's events in."""
        self.result.events += 1
        self.result.lines += 1
        self.result.recorded_seconds = max(0.0, event.mono - self._began)
        if isinstance(event, ReviewMade):
            self._review(seq, event)
        self._known.remember(seq, event)

    def _review(self, seq: int, event: ReviewMade) -> None:
        review = event.review
        if self._reviewer is not None:
            known = self._known
            context = Context(self.task, known.calls.steps, home_of(known.submitted.workspace))
            review = gate.review(self._reviewer, event.action, context)
        self.result.reviewed(seq, review)


def rerun(
    events: Iterable[tuple[int, AnyEvent]],
    reviewer: Reviewer | None,
    make_detectors: MakeDetectors,
) -> Iterator[Rerun]:
    """Run a journal, and return what was seen of each agent that it has from the beginning, in the order of their tasks.

    Args:
        events: The journal's, with their numbers; one that lost its beginning tells only of agents that began after it.
        reviewer: Reviews each call again; None leaves what the journal has.
        make_detectors: Makes an agent's detectors.
    """
    runs: dict[str, Rerun] = {}
    for seq, event in events:
        if isinstance(event, TaskSubmitted):
            runs[event.agent] = Rerun(event, reviewer, make_detectors(event))
        if event.agent in runs:
            runs[event.agent].take(seq, event)
    return iter(runs.values())


class _Witness:
    """A detector whose issues are noted with the event at which they came."""

    def __init__(self, detector: Detector, seen: list[SeenIssue]) -> None:
        self.name = detector.name
        self.watches: frozenset[type] = getattr(detector, "watches", EVERYTHING)
        self._detector, self._seen = detector, seen

    def see(self, observation: Observation) -> Sequence[Issue]:
        issues = self._detector.see(observation)
        self._seen.extend(SeenIssue(observation.seq, issue) for issue in issues)
        return issues
