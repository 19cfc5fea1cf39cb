"""The rules for every intervention and every strategy.

An intervention: it has a name and a kind; the same case gives the same plan; the case is not changed; the plan is plain
JSON, within the length, and has what its kind needs; no text of a case, however odd or long, makes it raise or takes it
long. That nothing is said twice is the controller's care.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from interventions.contract import MAX_MESSAGE, Answer, Case, Past, Plan, Situation, Strategy, Tried, Unfit
from interventions.decisions import InterventionOutcome
from interventions.effectiveness import EffectRecord
from interventions.ladders import LADDERS
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from supervisor.testing.samples import TASK, Moments, issue, step

ODD: tuple[dict[str, Any], ...] = (
    {},
    {"error": "{prompt} {0} {", "count": 0, "file_path": "\x00/\ud7ff\n../..", "growth": {"memory_mb": float("nan")}},
    {"error": "x" * 200_000, "outside": ["y" * 5_000] * 500, "growth": "fast", "resource": None},
    {"error": None, "count": [], "file_path": 7, "growth": {"": -1}, "tier": "three", "things": {"a": {"b": ["c"]}}},
    {"growth": {"memory_mb": 3.0, "tokens": 1.6, "calls": 1.3}, "error": "No such file", "file_path": "a.py"},
)
"""Details as a careless detector or a plugin might give them."""


def cases(types: tuple[str, ...] = ()) -> Iterator[Case]:
    """Cases of each type, some of them odd."""
    situation = Situation("a1", TASK, "i-1", 0.0, history=(step(failed=True),) * 50, checkpoints=Moments())
    for type_ in types or (*LADDERS, "of_a_plugin"):
        for details in ODD:
            for attempt in (1, 2, 7):
                others = (issue("goal_drift", sentence="{" * 1_000),) * attempt
                yield Case(issue(type_, details=details), situation, attempt, others=others)


def check_answer(answer: Answer) -> None:
    """Check one intervention.

    Raises:
        AssertionError: It does not keep to the contract.
    """
    assert answer.name.isidentifier(), "the name is not usable in the configuration and the journal"
    assert isinstance(answer.kind, InterventionKind)
    for case in cases(answer.types):
        check_plan(answer, case)


def check_plan(answer: Answer, case: Case) -> None:
    """Check what one case gives."""
    before = repr(case.issue), repr(case.situation.history)
    planned = answer.plan(case)
    assert (repr(case.issue), repr(case.situation.history)) == before, "it changed the case"
    assert planned == answer.plan(case), "the same case gave another plan"
    if isinstance(planned, Unfit):
        assert planned.why
        return
    assert isinstance(planned, Plan)
    assert len(planned.message) <= MAX_MESSAGE
    assert orjson.dumps(planned.details) is not None
    check_kind(answer.kind, planned)


def check_kind(kind: InterventionKind, planned: Plan) -> None:
    """Check that the plan has what its kind needs."""
    match kind:
        case InterventionKind.SOFT_CORRECTION | InterventionKind.CONTEXT_REINFORCEMENT:
            assert planned.message.strip(), "it says nothing"
        case InterventionKind.RESOURCE_THROTTLING:
            assert "limits" in planned.details
        case InterventionKind.CHECKPOINT_ROLLBACK:
            assert "checkpoint" in planned.details
        case InterventionKind.EMERGENCY_STOP:
            assert not planned.message, "an agent that is stopped hears nothing"


def check_strategy(strategy: Strategy) -> None:
    """Check one strategy: its ladders go up, and its position is never below the first rung.

    Raises:
        AssertionError: It does not keep to the contract.
    """
    for type_ in (*LADDERS, "of_a_plugin"):
        for severity in Severity:
            seen = issue(type_, severity)
            ladder = tuple(strategy.ladder(seen))
            assert ladder, "an empty ladder answers nothing"
            assert [kind.rank for kind in ladder] == sorted({kind.rank for kind in ladder}), "a ladder goes up"
            for tried in histories():
                check_position(strategy, ladder, seen, tried)


def check_position(
    strategy: Strategy, ladder: tuple[InterventionKind, ...], seen: Issue, tried: tuple[Tried, ...]
) -> None:
    """Check one position, on the whole ladder and on each that is left when kinds are barred."""
    for left in (ladder, ladder[:1], ladder[-1:]):
        past = Past(seen, 0.5, 1_000.0, tried, EffectRecord())
        position = strategy.position(left, past)
        assert position == strategy.position(left, past), "the same past gave another position"
        assert 0 <= position.index <= len(left) + len(tried)
        assert position.why


def histories() -> Iterator[tuple[Tried, ...]]:
    """Pasts: none, and one or three of each kind with each outcome."""
    yield ()
    for kind in InterventionKind:
        for outcome in (*InterventionOutcome, None):
            one = Tried(kind, 900.0, True, outcome, 1)
            yield (one,)
            yield (one, one, replace(one, mono=990.0, sightings=3))
