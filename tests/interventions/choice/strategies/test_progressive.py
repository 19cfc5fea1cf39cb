"""Up when in vain, down when it helped."""

from collections.abc import Sequence

import pytest

from interventions.choice.strategies.progressive import Progressive, rung_of
from interventions.contract import Past, Tried
from interventions.decisions import InterventionOutcome
from interventions.effectiveness import EffectRecord, EffectTally
from interventions.settings import StrategySettings
from interventions.words import InterventionKind
from monitors.contract.words import Severity
from supervisor.testing.samples import issue
from tests.interventions.runs import REINFORCE, ROLLBACK, SOFT, STOP, THROTTLE

LADDER = (SOFT, REINFORCE, ROLLBACK, STOP)


def index(
    *tried: Tried, base: float = 0.42, record: EffectRecord | None = None, ladder: Sequence[InterventionKind] = LADDER
) -> int:
    past = Past(issue(), base, 1_000.0, tried, record or EffectRecord())
    return Progressive(StrategySettings()).position(ladder, past).index


def before(
    kind: InterventionKind,
    seconds: float,
    outcome: InterventionOutcome | None = InterventionOutcome.FAILURE,
    sightings: int = 1,
) -> Tried:
    return Tried(kind, 1_000.0 - seconds, True, outcome, sightings)


def test_the_first_answer_is_the_first_rung_or_the_second_where_the_issue_alone_would_bear_a_rollback() -> None:
    assert index() == 0
    assert index(base=0.69) == 0
    assert index(base=0.7) == 1


def test_an_answer_in_vain_leads_one_up_once_the_delay_is_over() -> None:
    assert index(before(SOFT, 119)) == 0
    assert index(before(SOFT, 120)) == 1
    assert index(before(REINFORCE, 120)) == 2


def test_an_issue_seen_twice_leads_up_at_once() -> None:
    assert index(before(SOFT, 40, sightings=2)) == 1


def test_an_answer_that_helped_leads_one_down() -> None:
    assert index(before(ROLLBACK, 40, InterventionOutcome.SUCCESS)) == 1
    assert index(before(SOFT, 40, InterventionOutcome.SUCCESS)) == 0


def test_past_the_last_rung_there_is_nothing() -> None:
    assert index(before(STOP, 200)) == len(LADDER)


def test_a_critical_issue_goes_to_the_last_rung() -> None:
    past = Past(issue(severity=Severity.CRITICAL), 1.2, 0.0, (), EffectRecord())
    assert Progressive(StrategySettings()).position(LADDER, past).index == 3


def test_rungs_that_surely_help_too_seldom_are_skipped_but_never_the_last() -> None:
    bad = EffectTally(failure=20)
    record = EffectRecord({(kind, "repetitive_errors"): bad for kind in LADDER})
    assert index(record=record) == 3
    assert index(record=EffectRecord({(SOFT, "repetitive_errors"): EffectTally(failure=4)})) == 0


@pytest.mark.parametrize(("kind", "rung"), [(SOFT, 0), (THROTTLE, 2), (STOP, 3)])
def test_a_kind_that_is_not_on_the_ladder_stands_for_the_next_above_it(kind: InterventionKind, rung: int) -> None:
    assert rung_of(kind, LADDER) == rung
