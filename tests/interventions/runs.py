"""A run as its controller sees it: issues, steps and time by hand; what is due is taken and remembered."""

from collections.abc import Sequence
from typing import Any

from interventions.choice.controller import Controller, Due, Easing
from interventions.contract import Answer, Situation, Strategy
from interventions.decisions import Intervention, Judgement, PersonNeed
from interventions.effectiveness import EffectRecord
from interventions.settings import InterventionSettings
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.observations import ContextCompacted, ToolReturned
from supervisor.core.fold.controller_events import tell_controller
from supervisor.protocol import events
from supervisor.testing.samples import TASK, Moments

SOFT, REINFORCE, THROTTLE, ROLLBACK, STOP = InterventionKind


class Run:
    """One controller on a stage."""

    def __init__(
        self,
        settings: InterventionSettings | None = None,
        *,
        record: EffectRecord | None = None,
        plugins: Sequence[Answer] = (),
        strategy: Strategy | None = None,
        **situation: Any,
    ) -> None:
        self.settings = settings or InterventionSettings()
        self.more = (record, plugins, strategy)
        self.controller = self.fresh()
        self.now = 1_000.0
        self.seq = 10
        self.journal: list[tuple[int, Any]] = []
        self.situation = {"checkpoints": Moments(), **situation}

    def fresh(self) -> Controller:
        return Controller(self.settings, TASK, *self.more)

    def stamp(self) -> dict[str, Any]:
        return {"agent": "a1", "at": 1_700_000_000 + self.now, "mono": self.now}

    def happened(self, event: events.AnyEvent) -> None:
        self.seq += 1
        self.journal.append((self.seq, event))
        tell_controller(self.controller, self.seq, event)

    def saw(self, seen: Issue) -> None:
        self.happened(events.IssueSeen(**self.stamp(), issue=seen))

    def steps(self, ok: int = 0, failed: int = 0) -> None:
        for bad in [False] * ok + [True] * failed:
            self.seq += 1
            observed = ToolReturned(
                seq=self.seq, mono=self.now, id=f"u{self.seq}", tool="Bash", input={}, text="", failed=bad
            )
            self.journal.append((self.seq, observed))
            self.controller.observed(observed)

    def compacted(self) -> None:
        self.seq += 1
        observed = ContextCompacted(seq=self.seq, mono=self.now)
        self.journal.append((self.seq, observed))
        self.controller.observed(observed)

    def at(self, **more: Any) -> Situation:
        return Situation(agent="a1", task=TASK, id=f"a1-{self.seq}", mono=self.now, **{**self.situation, **more})

    def due(self, **more: Any) -> list[Due]:
        """All that is due now, remembered in turn."""
        found: list[Due] = []
        while (due := self.controller.next(self.at(**more))) is not None:
            found.append(due)
            self.happened(self.event(due))
            assert len(found) < 20, found
        return found

    def event(self, due: Due) -> events.AnyEvent:
        match due:
            case Judgement():
                return events.InterventionJudged(**self.stamp(), judgement=due)
            case Intervention():
                return events.InterventionChosen(**self.stamp(), intervention=due)
            case PersonNeed():
                return events.PersonNeeded(**self.stamp(), need=due)
            case Easing():
                return events.LimitsEased(**self.stamp(), intervention=due.intervention, limits=due.limits)

    def answer(self, seen: Issue, after: float = 0.0, **more: Any) -> Intervention | None:
        """What is done about an issue that is raised after some seconds."""
        self.now += after
        self.saw(seen)
        chosen = [due for due in self.due(**more) if isinstance(due, Intervention)]
        assert len(chosen) <= 1
        return chosen[0] if chosen else None

    def kind(self, seen: Issue, after: float = 0.0, **more: Any) -> InterventionKind | None:
        chosen = self.answer(seen, after, **more)
        return None if chosen is None else chosen.kind


def needs(found: Sequence[Due]) -> list[PersonNeed]:
    return [due for due in found if isinstance(due, PersonNeed)]


def judgements(run: Run) -> list[Judgement]:
    return [event.judgement for _, event in run.journal if isinstance(event, events.InterventionJudged)]
