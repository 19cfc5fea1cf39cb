from collections.abc import Iterable
from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from interventions.contract import Case, Plan, ResourceUsage, Situation
from interventions.decisions import LimitsInForce
from interventions.kinds.resource_throttling import ResourceThrottling, factor_of, from_json, growth_of
from interventions.settings import ReductionFactors
from monitors.contract.actions import Review, Touch
from monitors.contract.observations import (
    ContextCompacted,
    Observation,
    ResourcesSampled,
    TokensUsed,
    ToolCalled,
    TurnEnded,
)
from monitors.contract.tasks import Limits, Task
from monitors.contract.words import Decision, Severity
from monitors.patterns.resource_spiral import ResourceSpiral, ResourceSpiralSettings
from supervisor.testing.samples import TASK
from tests.monitors.steps import Run, opened, play


def task(**limits: Any) -> Task:
    return Task("t", "mend it", "/w", limits=Limits(**limits))


def samples(run: Run, memory: Iterable[float], **figures: Any) -> list[Observation]:
    rest = {"cpu_seconds": 1.0, "processes": 5, "open_files": 40, "io_bytes": 0, "disk_mb": 10.0, **figures}
    return [ResourcesSampled(**run.next(), memory_mb=one, **rest) for one in memory]


def tokens(run: Run, fresh: int, cached: int = 0) -> list[Observation]:
    return [TokensUsed(**run.next(), input_tokens=fresh, cached_tokens=cached, output_tokens=0)]


def test_memory_near_its_limit_is_an_issue_that_worsens_at_the_limit_and_closes_below() -> None:
    run, detector = Run(), ResourceSpiral(task=task(max_memory_mb=1000))
    issues = play(detector, samples(run, [500, 790, 810, 850, 1010, 1010, 300, 300, 300, 300]))
    assert [(issue.key, issue.severity, issue.closed) for issue in issues] == [
        ("memory", Severity.MEDIUM, False),
        ("memory", Severity.HIGH, False),
        ("memory", Severity.HIGH, True),
    ]
    assert "810 MiB of 1,000 MiB" in issues[0].sentence


def test_memory_that_grows_by_the_half_and_more_from_look_to_look_is_a_spiral_before_any_limit() -> None:
    run, detector = Run(), ResourceSpiral(task=task(max_memory_mb=None))
    issues = play(detector, samples(run, [value for value in (300, 540, 1000, 1900) for _ in range(5)]))
    assert [(issue.key, issue.severity) for issue in issues] == [("memory", Severity.HIGH)]
    assert "6.3 times" in issues[0].sentence


def test_growth_and_a_limit_that_is_near_together_are_critical() -> None:
    run, detector = Run(), ResourceSpiral(task=task(max_memory_mb=2000))
    issues = play(detector, samples(run, [value for value in (300, 540, 1000, 1900) for _ in range(5)]))
    assert issues[-1].severity is Severity.CRITICAL


def test_small_things_may_grow_and_steady_ones_may_be_large() -> None:
    run = Run()
    small = samples(run, [value for value in (10, 40, 160, 640) for _ in range(5)])
    large = samples(run, [3000.0] * 50, processes=200)
    assert play(ResourceSpiral(), small) == []
    assert play(ResourceSpiral(), large) == []


def test_tokens_are_counted_with_the_cached_ones_against_the_limit_and_the_steps_left_are_projected() -> None:
    run, detector = Run(), ResourceSpiral(task=task(max_token_usage=100_000))
    parts = [part for n in range(40) for part in (tokens(run, 200, 1_800), run.bash(f"echo {n}"))]
    [issue] = play(detector, *parts)
    assert issue.details["used"] == 80_000
    assert 9 <= issue.details["steps_left"] <= 12
    assert issue.evidence


def test_fresh_tokens_that_spiral_are_seen_and_a_context_that_grows_evenly_is_not() -> None:
    run = Run()
    spiral = [tokens(run, fresh) for fresh in (5_000, 12_000, 26_000, 60_000) for _ in range(10)]
    assert [issue.key for issue in play(ResourceSpiral(), *spiral)] == ["tokens"]
    even = [tokens(run, 1_500, n * 1_500) for n in range(100)]
    assert play(ResourceSpiral(), *even) == []


def test_file_operations_count_what_calls_would_write_and_not_what_was_blocked() -> None:
    run = Run()

    def writes(decision: Decision) -> list[Observation]:
        review = Review(decision, 0, 1, Severity.LOW, "", touches=tuple(Touch(f"/w/{n}", "write") for n in range(10)))
        return [ToolCalled(**run.next(), id="t", tool="Bash", input={"command": "gen"}, review=review)]

    limited = task(max_file_operations=100)
    assert play(ResourceSpiral(task=limited), *(writes(Decision.BLOCK) for _ in range(20))) == []
    assert [
        issue.details["used"]
        for issue in play(ResourceSpiral(task=limited), *(writes(Decision.ALLOW) for _ in range(10)))
    ] == [80, 100]


def test_run_time_leaves_out_the_time_in_which_a_person_has_the_word() -> None:
    run, parts, mono = Run(), [], 0.0
    for _ in range(20):
        call, result = run.bash("make")
        parts += [replace(one, mono=mono) for one in run.told("go on")]
        parts += [
            replace(call, mono=mono),
            replace(result, mono=mono + 5),
            TurnEnded(seq=1, mono=mono + 6, failed=False),
        ]
        mono += 1_000
    assert play(ResourceSpiral(task=task(max_execution_time_seconds=200)), parts) == []
    assert [issue.key for issue in play(ResourceSpiral(task=task(max_execution_time_seconds=130)), parts)] == [
        "run time"
    ]


def test_steps_that_take_longer_and_longer_are_a_spiral_and_waiting_is_not() -> None:
    def slow(command: str) -> list[str]:
        run, parts, mono = Run(), [], 0.0
        for duration in (10, 20, 45, 100):
            for n in range(10):
                call, result = run.bash(f"{command} {n}")
                parts.append([replace(call, mono=mono), replace(result, mono=mono + duration)])
                mono += duration
        return [issue.key for issue in play(ResourceSpiral(task=task(max_execution_time_seconds=None)), *parts)]

    assert slow("make part") == ["time per step"]
    assert slow("sleep 9; gh run view") == []


def test_file_operations_that_no_tool_call_names_are_counted_by_the_watcher() -> None:
    run = Run()
    (sample,) = samples(run, [200], file_operations=85)
    (issue,) = play(ResourceSpiral(task=task(max_file_operations=100)), [sample])
    assert (issue.key, issue.details["used"]) == ("file operations", 85)


def full(run: Run, steps: int) -> list[Observation]:
    """So many steps, and then the context is full."""
    return [*(one for _ in range(steps) for one in run.bash("ls")), ContextCompacted(**run.next())]


def test_a_context_that_fills_up_again_and_again_is_a_spiral_until_it_lasts() -> None:
    run = Run()
    issues = play(ResourceSpiral(), *(full(run, 10) for _ in range(3)), full(run, 30))
    assert [(issue.key, issue.closed) for issue in issues] == [("context", False), ("context", True)]
    assert issues[0].sentence == "Context: it was full and shortened 3 times within 20 steps."
    assert len(issues[0].evidence) == 3


def test_a_long_run_whose_context_is_shortened_now_and_then_is_none() -> None:
    run = Run()
    assert play(ResourceSpiral(), *(full(run, 40) for _ in range(6))) == []


@pytest.mark.parametrize(
    ("pace", "severity", "factor"),
    [(1.25, Severity.MEDIUM, 0.85), (1.75, Severity.HIGH, 0.7), (2.5, Severity.HIGH, 0.5)],
)
def test_each_pace_of_growth_is_seen_and_reaches_its_own_factor(pace: float, severity: Severity, factor: float) -> None:
    run, detector = Run(), ResourceSpiral(task=task(max_memory_mb=None))
    looks = [400 * pace**number for number in range(10)]
    (issue,) = opened(play(detector, samples(run, [value for value in looks for _ in range(5)])))[:1]
    assert issue.severity is severity
    (rate,) = growth_of(issue.details).values()
    assert factor_of(rate, ReductionFactors()) == factor
    used = issue.details["used"]
    situation = Situation("a1", TASK, "i-1", 0.0, usage=ResourceUsage(memory_mb=used))
    case = Case(issue, situation, limits=LimitsInForce(Limits(max_memory_mb=None)))
    planned = ResourceThrottling().plan(case)
    assert isinstance(planned, Plan)
    limits = from_json(planned.details["limits"], case.limits)
    assert limits.limits.max_memory_mb == ceil(round(max(2 * factor, 1.1) * used, 6))


def test_growth_that_pauses_begins_anew() -> None:
    run, detector = Run(), ResourceSpiral(task=task(max_memory_mb=None))
    looks = [500, 650, 850, 850, 1100, 1450, 1450, 1900, 2500, 2500]
    assert play(detector, samples(run, [value for value in looks for _ in range(5)])) == []


def test_a_severity_that_is_set_moves_the_whole_scale() -> None:
    run, detector = Run(), ResourceSpiral(ResourceSpiralSettings(severity=Severity.LOW), task(max_memory_mb=1000))
    issues = opened(play(detector, samples(run, [500, 810, 1010])))
    assert [issue.severity for issue in issues] == [Severity.LOW, Severity.MEDIUM]
