"""Recorded journals: each agent's events through the same fold as the live run, so that the findings are the same.

Detectors see the events of the journal: the gate's answers, people's messages, chaperon's own, the samples of the
process tree. Each call is also reviewed by today's reviewer, to count its present decision: in the places that the
journal has of its daemon, with the history and the open issues of that moment. Missing facts are named, such as the
files on the disk, unless they are looked up as they are now.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from interventions import approval
from interventions.choice.controller import Controller
from interventions.settings import InterventionSettings
from monitors.contract.actions import ReviewContext, Reviewer
from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import Observation
from monitors.guarded import EVERYTHING
from supervisor.core import bypass, gate, limits
from supervisor.core.decisions import decide
from supervisor.core.fold.life.checkpoints import CaptureRules
from supervisor.core.fold.memory import Memory
from supervisor.core.replay.transcript_replay import PLACES, Replay, SeenIssue, home_of
from supervisor.protocol.events import AnyEvent, DaemonStarted, IssueSeen, PolicyChanged, ReviewMade, TaskSubmitted

OF_THE_CORE = frozenset({bypass.TYPE, limits.LIMIT_REACHED, limits.OVERRUN, "unpredicted_change"})
"""Types of issues that no detector raises. Those that a rule's stop raises are made anew, by today's reviewer."""

OF_THE_RUN = frozenset(
    {
        approval.DENIED_BY_PERSON,
        approval.DEADLINE_PASSED,
        decide.NOT_CAPTURED,
        gate.LIMIT_USED_UP,
        gate.MALFORMED_INPUT,
        limits.RULE,
    }
)
"""Rules by which a run decided and not the reviewer. Such a review, and one that an allowance made, is taken as it
is."""

ReviewerOf = Callable[[str], Reviewer | None]
"""Gives the reviewer of a policy by its digest."""

MakeDetectors = Callable[[TaskSubmitted], Sequence[Detector]]


class Rerun:
    """One agent of a journal on its way through.

    Args:
        submitted: The event that began it.
        reviewer: Reviews each call again; None leaves what the journal has.
        detectors: Fresh ones, made as for the live run.
        places: The start of the daemon that the agent had; None if the journal has none.
    """

    def __init__(
        self,
        submitted: TaskSubmitted,
        reviewer: Reviewer | None,
        detectors: Sequence[Detector],
        places: DaemonStarted | None = None,
    ) -> None:
        self.places = places
        self.agent, self.task = submitted.agent, submitted.task
        self.result = Replay(session_id=submitted.session_id)
        self._reviewer = reviewer
        self._digest = ""
        witnessed = [_Witness(detector, self.result.issues) for detector in detectors]
        controller = Controller(InterventionSettings(), submitted.task)
        self._memory = Memory(submitted, witnessed, controller, CaptureRules())
        self._began = submitted.mono

    def take(self, seq: int, event: AnyEvent) -> None:
        """Fold one of the agent's events in."""
        self.result.events += 1
        self.result.lines += 1
        self.result.recorded_seconds = max(0.0, event.mono - self._began)
        if isinstance(event, ReviewMade):
            self._review(seq, event)
        if isinstance(event, IssueSeen) and event.issue.type in OF_THE_CORE and "rule" not in event.issue.details:
            self.result.issues.append(SeenIssue(seq, event.issue))
        self._memory.remember(seq, event)

    def renew(self, digest: str, reviewer: Reviewer | None) -> None:
        """Review by another policy from here on."""
        self._digest, self._reviewer = digest, reviewer

    def _review(self, seq: int, event: ReviewMade) -> None:
        review = event.review
        if self._reviewer is not None and not (review.allowance or review.rule in OF_THE_RUN):
            review = gate.review(self._reviewer, event.action, self._context())
            self.result.policies = tuple(dict.fromkeys((*self.result.policies, self._digest)))
        if review.stop:
            self.result.issues.append(SeenIssue(seq, gate.critical(event.action, review, seq)))
        self.result.reviewed(seq, review, event.review)

    def _context(self) -> ReviewContext:
        """Return the context that the gate had at this moment."""
        memory, places = self._memory, self.places
        if places is None or not places.home:
            self.result.lacks = tuple(dict.fromkeys((*self.result.lacks, PLACES)))
        return ReviewContext(
            task=self.task,
            history=memory.calls.steps,
            home=(places.home if places else "") or home_of(memory.submitted.workspace),
            protected=places.protected if places else (),
            origins=memory.origins.known,
            active_issues=tuple(sorted({type_ for type_, _ in memory.issues.open})),
        )


def rerun(
    events: Iterable[tuple[int, AnyEvent]],
    reviewer: Reviewer | None,
    make_detectors: MakeDetectors,
    reviewer_of: ReviewerOf | None = None,
) -> Iterator[Rerun]:
    """Run a journal, and return the findings of each agent that it has from the beginning, in the order of their tasks.

    Args:
        events: The journal's, with their numbers. A journal that lost its beginning only has agents that began after
            it.
        reviewer: Reviews each call again; None keeps the journal's reviews.
        make_detectors: Makes an agent's detectors.
        reviewer_of: Gives the reviewer of the policy that counted from a moment on; None reviews all by `reviewer`.
    """
    digest = ""
    runs: dict[str, Rerun] = {}
    places: DaemonStarted | None = None
    for seq, event in events:
        if isinstance(event, DaemonStarted):
            places = event
            for run in runs.values():  # the next daemon may protect other paths
                run.places = places
        if isinstance(event, DaemonStarted | PolicyChanged) and reviewer_of is not None:
            digest = event.policy if isinstance(event, DaemonStarted) else event.digest
            reviewer = reviewer_of(digest)
            for run in runs.values():
                run.renew(digest, reviewer)
        if isinstance(event, TaskSubmitted):
            runs[event.agent] = Rerun(event, reviewer, make_detectors(event), places)
            runs[event.agent].renew(digest, reviewer)
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
