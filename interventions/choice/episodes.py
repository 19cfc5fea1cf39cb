"""The memory of a controller about a run: a bounded fold over issues, interventions and observations.

An episode is one streak of an issue with all its interventions. It stays when the issue closes, so that a recurrence is
recognised.
"""

from dataclasses import dataclass, field

from interventions.choice.scoring import ESCALATION_SECONDS
from interventions.contract import Tried
from interventions.decisions import Intervention, InterventionOutcome, Judgement
from interventions.words import InterventionKind
from monitors.contract.issues import Issue

MOST_EPISODES = 64
"""Streaks remembered at once; the longest untouched closed one is forgotten first. Detectors keep 16 open each."""


@dataclass(slots=True)
class _Done:
    intervention: Intervention
    mono: float
    outcome: InterventionOutcome | None = None
    sightings: int = 0


@dataclass(slots=True)
class Episode:
    """One streak."""

    issue: Issue
    """As it was raised last."""
    open: bool = True
    unanswered: bool = True
    """Whether nothing was done since it was raised last."""
    done: list[_Done] = field(default_factory=list)
    restore_error: str = ""
    """Why a rollback for it failed; empty if none did."""


class Episodes:
    """All streaks of a run."""

    def __init__(self) -> None:
        self._episodes: dict[tuple[str, str], Episode] = {}
        self._rollbacks = 0

    def saw(self, issue: Issue) -> None:
        """Take in an issue that was raised, raised again or closed."""
        at = (issue.type, issue.key)
        known = self._episodes.pop(at, None)
        if issue.closed:
            if known is not None:
                known.open = known.unanswered = False
                self._episodes[at] = known
            return
        if known is None:
            self._forget()
            known = Episode(issue)
        known.issue, known.open, known.unanswered = issue, True, True
        for done in known.done:
            done.sightings += 1
        self._episodes[at] = known

    def chose(self, intervention: Intervention, mono: float) -> None:
        """Take in an intervention: it answers all that is open, and belongs to its own issue."""
        at = (intervention.issue.type, intervention.issue.key)
        own = self._episodes.setdefault(at, Episode(intervention.issue))
        if not intervention.details.get("renewal_of"):
            own.done.append(_Done(intervention, mono))
        self._rollbacks += intervention.kind is InterventionKind.CHECKPOINT_ROLLBACK
        self.answer_all()

    def judged(self, judgement: Judgement) -> None:
        """Take in what came of an intervention."""
        for episode in self._episodes.values():
            for done in episode.done:
                if done.intervention.id == judgement.intervention:
                    done.outcome = judgement.outcome

    def answer_all(self) -> None:
        """Nothing more is to be done about what is open, until it is raised again."""
        for episode in self._episodes.values():
            episode.unanswered = False

    def due(self) -> list[Issue]:
        """Open issues about which nothing was done since they were raised last, oldest first."""
        return [episode.issue for episode in self._episodes.values() if episode.open and episode.unanswered]

    def open_types(self) -> frozenset[str]:
        """Types of the issues that are open."""
        return frozenset(episode.issue.type for episode in self._episodes.values() if episode.open)

    def types(self) -> frozenset[str]:
        """Types of all issues that are remembered."""
        return frozenset(episode.issue.type for episode in self._episodes.values())

    def is_open(self, issue: Issue) -> bool:
        """Whether the streak of this issue is open."""
        known = self._episodes.get((issue.type, issue.key))
        return known is not None and known.open

    def tried(self, issue: Issue, mono: float) -> tuple[Tried, ...]:
        """Return the interventions of this streak, and those of its type in the last five minutes, oldest first."""
        found = [
            (done, (episode.issue.type, episode.issue.key) == (issue.type, issue.key))
            for episode in self._episodes.values()
            if episode.issue.type == issue.type
            for done in episode.done
        ]
        found = [(done, own) for done, own in found if own or mono - done.mono < ESCALATION_SECONDS]
        found.sort(key=lambda pair: pair[0].mono)
        return tuple(
            Tried(done.intervention.kind, done.mono, own, done.outcome, _sightings(found, index))
            for index, (done, own) in enumerate(found)
        )

    def steps(self, issue: Issue, mono: float) -> int:
        """How many interventions of the last five minutes were for this type and did not help."""
        return sum(
            mono - tried.mono < ESCALATION_SECONDS and tried.outcome is not InterventionOutcome.SUCCESS
            for tried in self.tried(issue, mono)
        )

    def attempts(self, issue: Issue, kind: InterventionKind) -> int:
        """How often this streak got this kind."""
        known = self._episodes.get((issue.type, issue.key))
        return sum(done.intervention.kind is kind for done in known.done) if known else 0

    def was_spared(self, issue: Issue) -> bool:
        """Whether this streak got a milder answer before because a rollback was not to be had."""
        known = self._episodes.get((issue.type, issue.key))
        return known is not None and any(done.intervention.details.get("instead_of_rollback") for done in known.done)

    def rollbacks(self) -> int:
        """How many rollbacks there were in the run."""
        return self._rollbacks

    def restore_failed(self, intervention: str, error: str) -> None:
        """Take in that a rollback could not be done: its issue calls for another answer."""
        for episode in self._episodes.values():
            if any(done.intervention.id == intervention for done in episode.done):
                episode.restore_error = error
                episode.unanswered = episode.open

    def restore_error(self, issue: Issue) -> str:
        """Why the last rollback for this streak failed, or the empty string."""
        known = self._episodes.get((issue.type, issue.key))
        return known.restore_error if known else ""

    def _forget(self) -> None:
        if len(self._episodes) < MOST_EPISODES:
            return
        closed = next((at for at, episode in self._episodes.items() if not episode.open), None)
        del self._episodes[closed if closed is not None else next(iter(self._episodes))]


def _sightings(found: list[tuple[_Done, bool]], index: int) -> int:
    """How often the issue was raised since the first of this kind in a row."""
    kind = found[index][0].intervention.kind
    while index > 0 and found[index - 1][0].intervention.kind is kind:
        index -= 1
    return found[index][0].sightings
