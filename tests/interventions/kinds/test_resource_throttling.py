"""Throttling: factors by growth, and what is never set."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.contract import Case, Plan, ResourceUsage, Situation, Unfit
from interventions.decisions import LimitsInForce
from interventions.kinds.resource_throttling import ResourceThrottling, as_json, factor_of, from_json, growth_of
from interventions.settings import ReductionFactors, ResourceThrottlingSettings
from monitors.contract.tasks import Limits
from supervisor.testing.samples import TASK, issue

NOW = LimitsInForce(Limits(max_memory_mb=1_000, max_token_usage=100_000))


def plan(
    details: dict[str, Any], usage: ResourceUsage | None = None, attempt: int = 1, limits: LimitsInForce = NOW
) -> Plan:
    situation = Situation("a1", TASK, "i-1", 0.0, usage=usage or ResourceUsage())
    planned = ResourceThrottling().plan(
        Case(issue("resource_spiral", details=details), situation, attempt, limits=limits)
    )
    assert isinstance(planned, Plan)
    return planned


def after(planned: Plan) -> Limits:
    return from_json(planned.details["limits"], NOW).limits


@pytest.mark.parametrize(
    ("rate", "left"), [(2.01, 0.5), (2.0, 0.7), (1.51, 0.7), (1.5, 0.85), (1.21, 0.85), (1.2, 1.0), (0.3, 1.0)]
)
def test_the_factor_follows_the_growth(rate: float, left: float) -> None:
    assert factor_of(rate, ReductionFactors()) == left


def test_extreme_growth_that_went_on_is_answered_severely() -> None:
    assert factor_of(3.0, ReductionFactors(), attempt=2) == 0.25


def test_only_what_grows_is_tightened() -> None:
    planned = plan({"growth": {"memory_mb": 2.5, "tokens": 1.1}})
    assert after(planned).max_memory_mb == 500
    assert after(planned).max_token_usage == 100_000
    assert "MB of memory: at most 500" in planned.message


@pytest.mark.parametrize("details", [{"resource": "memory_mb", "growth": 1.6}, {"memory_growth": 1.6}])
def test_growth_is_read_in_each_form(details: dict[str, Any]) -> None:
    assert after(plan(details)).max_memory_mb == 700


def test_a_limit_is_never_set_below_what_is_in_use_and_a_tenth() -> None:
    assert after(plan({"memory_growth": 9.0}, ResourceUsage(memory_mb=800))).max_memory_mb == 880


def test_a_limit_that_there_is_not_begins_at_twice_what_is_used() -> None:
    free = LimitsInForce(Limits(max_memory_mb=None))
    planned = plan({"memory_growth": 3.0}, ResourceUsage(memory_mb=400), limits=free)
    assert from_json(planned.details["limits"], free).limits.max_memory_mb == 440


def test_pace_processor_time_batches_and_effort_are_lowered_where_calls_grow() -> None:
    limits = from_json(plan({"growth": {"calls": 2.5}}).details["limits"], NOW)
    assert (limits.cpu_share, limits.calls_per_minute, limits.batch_size, limits.effort) == (0.5, 15, 10, "medium")


@pytest.mark.parametrize(
    ("tokens", "effort", "model"), [(70_000, "medium", None), (85_000, "low", None), (95_000, "low", "small")]
)
def test_near_a_limit_there_is_less_thought_and_then_a_smaller_model(
    tokens: int, effort: str, model: str | None
) -> None:
    task = replace(TASK, limits=NOW.limits)
    situation = Situation("a1", task, "i-1", 0.0, usage=ResourceUsage(tokens=tokens))
    case = Case(issue("resource_spiral", details={}), situation, limits=NOW)
    planned = ResourceThrottling(ResourceThrottlingSettings(smaller_model="small")).plan(case)
    assert isinstance(planned, Plan)
    limits = from_json(planned.details["limits"], NOW)
    assert (limits.effort, limits.model) == (effort, model)
    assert ("the model: small" in planned.message) == (model is not None)


def test_where_nothing_is_said_to_grow_the_pace_is_lowered() -> None:
    planned = plan({})
    assert "tool calls: at most 21 in a minute" in planned.message
    assert after(planned) == NOW.limits


def test_what_cannot_be_lowered_further_does_not_fit() -> None:
    case = Case(
        issue(details={"memory_growth": 3.0}),
        Situation("a1", TASK, "i", 0.0, usage=ResourceUsage(memory_mb=1_000)),
        limits=NOW,
    )
    assert isinstance(ResourceThrottling().plan(case), Unfit)


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), "fast", None])
def test_growth_that_is_no_number_is_passed_over(rate: object) -> None:
    assert growth_of({"resource": "memory", "growth": rate}) == {}


@given(
    st.dictionaries(st.sampled_from(["memory_mb", "tokens", "file_operations", "cost_usd", "calls"]), st.floats(0, 50)),
    st.integers(1, 5),
    st.integers(0, 200_000),
)
def test_no_limit_ever_rises_and_none_falls_below_use(growth: dict[str, float], attempt: int, tokens: int) -> None:
    case = Case(
        issue("resource_spiral", details={"growth": growth}),
        Situation("a1", TASK, "i", 0.0, usage=ResourceUsage(tokens=tokens, memory_mb=float(tokens % 2_000))),
        attempt,
        limits=NOW,
    )
    planned = ResourceThrottling().plan(case)
    if isinstance(planned, Unfit):
        return
    limits = from_json(planned.details["limits"], NOW).limits
    assert limits.max_token_usage is not None
    assert limits.max_token_usage <= 100_000
    assert limits.max_token_usage >= min(tokens, 100_000)
    assert as_json(from_json(planned.details["limits"], NOW)) == planned.details["limits"]
