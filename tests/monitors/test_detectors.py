from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import cycle

from monitors.contract.issues import Issue
from monitors.contract.observations import Observation
from monitors.contract.tasks import Task
from monitors.contract.words import MonitoringLevel, Sensitivity
from monitors.detectors import DetectorSettings, make_detectors
from monitors.patterns.repetition import Repetition, RepetitionSettings
from tests.monitors.steps import Run

TASK = Task("t", "mend it", "/w")


def seen(
    settings: DetectorSettings, *parts: list[Observation], factors: Mapping[str, float] | None = None, task: Task = TASK
) -> list[Issue]:
    detectors = make_detectors(settings, task, factors=factors)
    return [issue for part in parts for one in part for detector in detectors for issue in detector.see(one)]


def loop(times: int) -> list[list[Observation]]:
    run = Run()
    return [run.bash("ls", "a") for _ in range(times)]


def test_the_order_is_explicit_and_combinations_come_last() -> None:
    names = [detector.name for detector in make_detectors(DetectorSettings(), TASK, plugins=(Repetition(),))]
    assert names == [
        "repetitive_errors", "repetition", "text_loop", "no_progress", "scope_creep", "resource_spiral", "goal_drift",
        "exploration_wandering", "hallucination", "blocked_on_human", "test_tampering", "repetition", "combinations",
    ]  # fmt: skip


def test_each_pattern_that_has_settings_is_made() -> None:
    no_pattern = {"sensitivity", "custom", "learning", "judge"}
    patterns = {each.name for each in fields(DetectorSettings)} - no_pattern
    assert {detector.name for detector in make_detectors(DetectorSettings(), TASK)} == patterns


def test_a_pattern_that_is_switched_off_is_not_made() -> None:
    off = DetectorSettings(repetition=RepetitionSettings(enabled=False))
    assert "repetition" not in {detector.name for detector in make_detectors(off, TASK)}
    assert seen(off, *loop(8)) == []


def test_the_general_sensitivity_holds_where_a_pattern_sets_none() -> None:
    eager = DetectorSettings(sensitivity=Sensitivity.HIGH)
    assert [issue.type for issue in seen(eager, *loop(2))] == ["repetition"]
    own = replace(eager, repetition=RepetitionSettings(sensitivity=Sensitivity.LOW))
    assert seen(own, *loop(3)) == []


def test_an_agent_that_is_watched_strictly_is_spoken_of_earlier_whatever_is_configured() -> None:
    patient = DetectorSettings(sensitivity=Sensitivity.LOW, repetition=RepetitionSettings(sensitivity=Sensitivity.LOW))
    closely = replace(TASK, monitoring_level=MonitoringLevel.STRICT)
    assert [issue.type for issue in seen(patient, *loop(2), task=closely)] == ["repetition"]
    assert seen(patient, *loop(2)) == []


def test_what_was_learned_moves_the_thresholds() -> None:
    assert len(seen(DetectorSettings(), *loop(3))) == 1
    assert seen(DetectorSettings(), *loop(5), factors={"repetition": 2.0}) == []


def test_sessions_share_nothing() -> None:
    assert seen(DetectorSettings(), *loop(2)) == []
    assert seen(DetectorSettings(), *loop(2)) == []


def test_one_trouble_is_said_once_at_first() -> None:
    run = Run()
    types = [
        issue.type
        for issue in seen(DetectorSettings(), *(run.fails("make", "no rule to make target") for _ in range(5)))
    ]
    assert types == ["repetitive_errors"]


def test_the_workspace_is_where_paths_belong() -> None:
    run = Run()
    detectors = make_detectors(DetectorSettings(), TASK, workspace="/worktrees/a")
    inside = [run.write(f"/worktrees/a/{n}.py") for n in range(10)]
    outside = [run.write(f"/w/{n}.py") for n in range(10)]
    assert not [issue for part in inside for one in part for detector in detectors for issue in detector.see(one)]
    found = [issue for part in outside for one in part for detector in detectors for issue in detector.see(one)]
    assert {issue.type for issue in found} == {"scope_creep"}


def test_an_agent_of_which_most_calls_do_nothing_is_seen_to_repeat_itself() -> None:
    run, words = Run(), cycle((": thinking", "true", "echo still here", "echo 'a; b' && true"))
    steps = [run.read(f"/w/{step}.py") if step % 6 == 0 else run.bash(next(words), f"{step}") for step in range(60)]
    assert "repetition" in {issue.type for issue in seen(DetectorSettings(), *steps)}
