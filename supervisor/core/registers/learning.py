"""The learned state of patterns in this installation: a fold over the journal, kept with the snapshot.

Outcomes are events of people, or follow from interventions that were judged. An adjustment that they make due is an
event too, and holds for tasks that are submitted after it: a run keeps the thresholds that it began with.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from interventions.decisions import InterventionOutcome, Judgement
from interventions.effectiveness import HARMFUL_DISRUPTION
from monitors.contract.errors import UsageError
from monitors.contract.learning import Adjustment, IssueOutcome
from monitors.learning import Learned, LearningSettings, adjusted, counted, due, undoing
from supervisor.protocol.events import AnyEvent, InterventionJudged, OutcomeGiven, PatternAdjusted

_LEARNED = TypeAdapter(Learned)


class Lessons:
    """The outcomes so far, and what thresholds are multiplied with.

    Args:
        settings: Whether thresholds follow outcomes, and how.
    """

    def __init__(self, settings: LearningSettings | None = None) -> None:
        self._settings = settings or LearningSettings()
        self._last_seq = 0
        self.learned = Learned()

    @property
    def factors(self) -> Mapping[str, float]:
        """Factors of the thresholds that are not 1; empty while learning is off."""
        if not self._settings.enabled:
            return {}
        return {name: tally.factor for name, tally in self.learned.patterns.items() if tally.factor != 1.0}

    def remember(self, seq: int, event: AnyEvent) -> None:
        """Take in an event of the journal, once, however often the journal is read."""
        if seq <= self._last_seq:
            return
        match event:
            case OutcomeGiven():
                self.learned = counted(self.learned, event.pattern, event.outcome, event.instead_of)
            case InterventionJudged() if self._settings.infer and (found := inferred(event.judgement)):
                self.learned = counted(self.learned, event.judgement.issue_type, found)
            case PatternAdjusted():
                self.learned = adjusted(self.learned, event.adjustment)
            case _:
                return
        self._last_seq = seq

    def due(self, event: AnyEvent) -> PatternAdjusted | None:
        """The adjustment that is due after an event that was taken in."""
        match event:
            case OutcomeGiven():
                pattern = event.pattern
            case InterventionJudged():
                pattern = event.judgement.issue_type
            case _:
                return None
        adjustment = due(self.learned, pattern, self._settings)
        if adjustment is None:
            return None
        return PatternAdjusted(agent="", at=event.at, mono=event.mono, adjustment=adjustment)

    def undoing(self, pattern: str) -> Adjustment:
        """The adjustment that takes a pattern's last one back.

        Raises:
            UsageError: There is none to take back.
        """
        found = undoing(self.learned, pattern)
        if found is None:
            known = ", ".join(name for name, tally in self.learned.patterns.items() if tally.last) or "none"
            raise UsageError(
                f"No adjustment of {pattern!r} can be taken back; nothing was changed.",
                way_out=f"Patterns with one: {known}.",
            )
        return found

    def as_json(self) -> dict[str, Any]:
        """Plain data for the snapshot."""
        return {"last_seq": self._last_seq, "learned": _LEARNED.dump_python(self.learned, mode="json")}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in what a snapshot has, before the journal is read from where it ends."""
        self._last_seq = saved["last_seq"]
        self.learned = _LEARNED.validate_python(saved["learned"])


def inferred(judgement: Judgement) -> IssueOutcome | None:
    """Return the outcome that a judged intervention implies for its issue, or None.

    An intervention that helped answered a real issue. If the run went clearly worse after it, it either disturbed a
    healthy run or failed to help; the first is likelier, and learning is slow.
    """
    if judgement.outcome is InterventionOutcome.SUCCESS:
        return IssueOutcome.CONFIRMED
    return IssueOutcome.FALSE_ALARM if judgement.disruption >= HARMFUL_DISRUPTION else None
