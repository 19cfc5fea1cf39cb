"""What waits and what is denied under throttled limits."""

from typing import Any

import pytest

from interventions.choice.limit_guard import LimitGuard
from interventions.contract import ResourceUsage
from interventions.decisions import LimitsInForce
from monitors.contract.actions import Review
from monitors.contract.observations import ToolCalled
from monitors.contract.tasks import Limits
from monitors.contract.words import Decision, Severity

REVIEW = Review(Decision.ALLOW, 0.0, 1.0, Severity.LOW, "")


def guard(*times: float) -> LimitGuard:
    made = LimitGuard()
    for mono in times:
        made.saw(ToolCalled(seq=1, mono=mono, id="u", tool="Bash", input={}, review=REVIEW))
    return made


def limits(calls: int | None = None, **more: Any) -> LimitsInForce:
    return LimitsInForce(Limits(**more), calls_per_minute=calls)


def test_a_call_over_the_rate_waits_until_the_oldest_is_a_minute_old() -> None:
    assert guard(10, 20, 30).wait(limits(3), 40.0) == 30.0
    assert guard(10, 20, 30).wait(limits(3), 71.0) == 0.0
    assert guard(10, 20, 30).wait(limits(4), 40.0) == 0.0
    assert guard(10, 20, 30).wait(limits(None), 40.0) == 0.0


@pytest.mark.parametrize(
    ("tool", "used", "says"),
    [
        ("Write", ResourceUsage(file_operations=5), "All 5 file operations"),
        ("Read", ResourceUsage(file_operations=5), ""),
        ("Read", ResourceUsage(tokens=100), "All 100 tokens"),
        ("Read", ResourceUsage(tokens=99), ""),
        ("Bash", ResourceUsage(seconds=60.5), "All 60 seconds"),
        ("Bash", ResourceUsage(cost_usd=2.0), "All 1.5 US dollars"),
        ("Write", ResourceUsage(), ""),
    ],
)
def test_what_is_used_up_is_denied_with_what_is_still_possible(tool: str, used: ResourceUsage, says: str) -> None:
    given = limits(max_file_operations=5, max_token_usage=100, max_execution_time_seconds=60, max_cost_usd=1.5)
    why = guard().refuses(tool, given, used)
    assert why.startswith(says)
    assert bool(why) == bool(says)
    assert not why or "End your turn" in why
