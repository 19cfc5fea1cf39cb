"""What is advised after a stop: valid in a configuration, with values, and true of the run."""

from typing import Any

import pytest

from interventions.advice import COMBINED, PATTERNS, Suggestion, suggestions
from interventions.contract import ASKED_A_PERSON, ResourceUsage
from interventions.decisions import Intervention
from interventions.ladders import LADDERS
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.tasks import Limits
from monitors.contract.words import Severity
from supervisor.config.model import Config

USED = ResourceUsage(tokens=5_000_000, seconds=3_456.0, cost_usd=12.34, memory_mb=5_000.0, file_operations=1_234)


def stop(type_: str, *, key: str = "", waited: bool = False, **details: Any) -> Intervention:
    issue = Issue(type_, Severity.HIGH, 0.9, 0.9, 1, "It went wrong.", (1,), details, key=key)
    explain = {"not": {"checkpoint_rollback": ASKED_A_PERSON if waited else "a stronger answer is due"}}
    return Intervention("i-9", InterventionKind.EMERGENCY_STOP, issue, 1.2, "the sum", explain=explain)


def advised(chosen: Intervention, limits: Limits | None = None, usage: ResourceUsage = USED) -> dict[str, Any]:
    return {each.key: each.value for each in suggestions(chosen, limits or Limits(), usage)}


def as_configuration(each: Suggestion) -> dict[str, Any]:
    whole: Any = each.value
    for name in reversed(each.key.split(".")):
        whole = {name: whole}
    assert isinstance(whole, dict)
    return whole


@pytest.mark.parametrize("type_", [*LADDERS, "pattern_of_a_plugin"])
@pytest.mark.parametrize("waited", [True, False])
def test_every_key_and_value_is_one_that_a_configuration_takes(type_: str, waited: bool) -> None:
    resources = ("memory", "tokens", "file operations", "run time", "cost", "processes", "")
    keys = ("max_memory_mb", "max_cost_usd", "max_execution_time_seconds", "max_token_usage", "max_file_operations", "")
    for resource in resources:
        for key in keys:
            for each in suggestions(stop(type_, key=key, waited=waited, resource=resource), Limits(), USED):
                Config.model_validate(as_configuration(each))
                assert each.because


def test_the_issue_types_are_those_of_the_ladders_and_their_keys_are_patterns() -> None:
    assert set(LADDERS) >= PATTERNS - {"combinations"} | COMBINED
    assert set(Config().patterns.model_dump()) >= PATTERNS


@pytest.mark.parametrize("type_", ["critical_action", "gate_bypassed"])
def test_where_the_only_answer_is_a_stop_no_setting_is_advised(type_: str) -> None:
    assert advised(stop(type_, waited=True)) == {}


def test_a_rollback_by_itself_is_advised_where_one_waited_for_a_person_and_only_there() -> None:
    assert advised(stop("hallucination", waited=True))["interventions.auto_rollback"] is True
    assert "interventions.auto_rollback" not in advised(stop("hallucination"))
    assert "interventions.auto_rollback" not in advised(stop("scope_creep", waited=True)), "it is not on its ladder"


def test_a_limit_that_was_passed_by_far_is_advised_above_what_was_used() -> None:
    assert advised(stop("critical_action", key="max_cost_usd")) == {"resources.max_cost_usd": 25}
    assert advised(stop("critical_action", key="max_cost_usd"), usage=ResourceUsage(cost_usd=0.0123)) == {
        "resources.max_cost_usd": 0.025
    }


def test_where_growth_led_to_the_stop_a_limit_is_advised_that_lies_below_what_was_used() -> None:
    assert advised(stop("resource_spiral", resource="memory"))["resources.max_memory_mb"] == 4_000
    assert advised(stop("resource_spiral", resource="tokens"))["resources.max_token_usage"] == 4_000_000
    lower = Limits(max_memory_mb=3_000)
    assert "resources.max_memory_mb" not in advised(stop("resource_spiral", resource="memory"), lower)
    assert "resources.max_memory_mb" not in advised(stop("resource_spiral", resource="memory"), usage=ResourceUsage())


def test_a_pattern_that_spoke_too_soon_is_made_less_sensitive() -> None:
    assert advised(stop("goal_drift")) == {"patterns.goal_drift.sensitivity": "low"}
    assert advised(stop("no_progress")) == {"progress.consecutive_stuck_tolerance": 10}
    assert advised(stop("confused_state")) == {"patterns.combinations.enabled": False}
    assert advised(stop("pattern_of_a_plugin")) == {}
