"""Effectiveness: counts, intervals, and what the record forbids."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.decisions import Fate, InterventionOutcome, Judgement
from interventions.effectiveness import EffectRecord, EffectTally, wilson
from tests.interventions.runs import REINFORCE, SOFT


def judgement(
    outcome: InterventionOutcome = InterventionOutcome.SUCCESS, disruption: float = 0.0, kind: object = SOFT
) -> Judgement:
    return Judgement("i-1", kind, "goal_drift", Fate.ENDED, outcome, 5, 30.0, disruption, "so")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(0, 317, 0.0, 0.012), (26, 317, 0.057, 0.117), (1, 317, 0.001, 0.018), (5, 5, 0.566, 1.0)],
)
def test_the_interval_is_wilsons(hits: int, total: int, low: float, high: float) -> None:
    """The first three are published intervals of the same formula; the last is its closed form, n/(n+z²)."""
    interval = wilson(hits, total)
    assert interval.low == pytest.approx(low, abs=6e-4)
    assert interval.high == pytest.approx(high, abs=6e-4)


def test_nothing_counted_says_nothing() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)


@given(st.integers(0, 500), st.integers(0, 500))
def test_the_interval_holds_its_share(hits: int, misses: int) -> None:
    interval = wilson(hits, hits + misses)
    assert 0 <= interval.low <= interval.share + 1e-9
    assert interval.share - 1e-9 <= interval.high <= 1


def test_unclear_outcomes_are_counted_and_do_not_bear_on_effectiveness() -> None:
    tally = EffectTally()
    for outcome in (InterventionOutcome.SUCCESS, InterventionOutcome.FAILURE, InterventionOutcome.UNCLEAR):
        tally.add(judgement(outcome))
    assert tally.total == 3
    assert tally.effectiveness.share == 0.5


def test_harm_is_a_run_that_goes_clearly_worse_without_success() -> None:
    tally = EffectTally()
    tally.add(judgement(InterventionOutcome.FAILURE, 0.3))
    tally.add(judgement(InterventionOutcome.FAILURE, 0.1))
    tally.add(judgement(InterventionOutcome.SUCCESS, 0.9))
    assert tally.harmed == 1
    assert tally.disruption == pytest.approx(1.3)


@pytest.mark.parametrize(("success", "harmed", "harms"), [(0, 3, False), (0, 4, True), (3, 5, False), (5, 40, True)])
def test_a_kind_harms_only_where_the_record_is_sure(success: int, harmed: int, harms: bool) -> None:
    assert EffectTally(success=success, failure=harmed, harmed=harmed).harms is harms


def test_a_kind_is_ineffective_only_with_enough_outcomes() -> None:
    record = EffectRecord(
        {(SOFT, "goal_drift"): EffectTally(failure=4), (REINFORCE, "goal_drift"): EffectTally(success=1, failure=9)}
    )
    assert not record.ineffective(SOFT, "goal_drift", 0.6)
    assert record.ineffective(REINFORCE, "goal_drift", 0.6)
    assert not record.ineffective(SOFT, "never_seen", 0.6)


def test_a_record_outlives_a_restart() -> None:
    record = EffectRecord()
    record.remember(7, judgement())
    record.remember(9, judgement(InterventionOutcome.FAILURE, 0.5))
    again = EffectRecord()
    again.restore(orjson.loads(orjson.dumps(record.as_json())))
    assert again == record


@pytest.mark.parametrize("data", [{}, {"last_seq": 1}, {"last_seq": 1, "tallies": [{"kind": "x"}]}, {"last_seq": "?"}])
def test_what_is_no_record_is_refused_and_changes_nothing(data: dict[str, object]) -> None:
    record = EffectRecord(last_seq=3)
    with pytest.raises((KeyError, TypeError, ValueError)):
        record.restore(data)
    assert record.last_seq == 3


def test_the_journal_read_twice_counts_once() -> None:
    record = EffectRecord()
    for _ in range(2):
        record.remember(7, judgement())
        record.remember(8, judgement(kind=REINFORCE))
    assert record.of(SOFT, "goal_drift").success == 1
    assert record.of(REINFORCE, "goal_drift").success == 1
