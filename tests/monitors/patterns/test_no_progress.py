"""The four scenarios of the mission, and what may not be taken for being stuck."""

from collections.abc import Callable, Iterable

import pytest

from monitors.contract.issues import Issue
from monitors.contract.observations import Observation, WorkChecked
from monitors.contract.words import Sensitivity, Severity
from monitors.patterns.no_progress import NoProgress, NoProgressSettings, ProgressSettings
from tests.monitors.steps import Run, opened, play

Steps = Callable[[Run, int], list[Observation]]


def checks(run: Run, passed: int, failed: int) -> list[Observation]:
    parts = ", ".join(f"{number} {word}" for number, word in ((failed, "failed"), (passed, "passed")) if number)
    return run.bash("pytest -q", f"{'Exit code 1' if failed else ''}\n{parts} in 0.2s", failed=failed > 0)


def tiers(steps: Steps, last: int, detector: NoProgress | None = None) -> list[tuple[int, int]]:
    """The (step, tier) of each issue raised in a run of so many steps."""
    run, detector = Run(), detector or NoProgress()
    found = []
    for step in range(1, last + 1):
        found += [(step, int(issue.details["tier"])) for issue in opened(play(detector, steps(run, step)))]
    return found


def stuck_with_edits(run: Run, step: int) -> list[Observation]:
    return run.edit("/w/a.py") if step % 2 == 0 else checks(run, 0, 1)


def test_stuck_from_the_first_step_is_tier_1_at_step_10_and_not_before_then_2_and_3_each_ten_later() -> None:
    assert tiers(stuck_with_edits, 19) == [(10, 1)]
    assert tiers(stuck_with_edits, 31) == [(10, 1), (20, 2), (30, 3)]


def test_stuck_is_seen_at_step_10_also_where_tests_are_run_only_at_every_fifth_step() -> None:
    assert tiers(lambda run, step: checks(run, 0, 1) if step % 5 == 0 else run.edit("/w/a.py"), 12) == [(10, 1)]


def test_stuck_in_one_command_from_the_first_step_is_seen_without_any_test() -> None:
    assert tiers(lambda run, _: run.bash("ls", "a"), 31) == [(10, 1), (20, 2), (30, 3)]


def test_slow_progress_gives_nothing() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        results = {10: (5, 4), 20: (7, 2), 30: (8, 1), 40: (9, 0)}
        return checks(run, *results[step]) if step in results else run.edit("/w/a.py")

    assert tiers(steps, 45) == []


def test_solved_at_step_8_gives_nothing() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        return run.edit("/w/a.py") if step < 8 else checks(run, 5, 0)

    assert tiers(steps, 30) == []


def test_spinning_on_after_all_is_green_is_seen_in_the_end() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        return run.edit("/w/a.py") if step < 8 else checks(run, 5, 0) if step == 8 else run.bash("ls", "a")

    assert tiers(steps, 45) == [(37, 1)]


def test_a_hard_problem_gets_the_tiers_at_15_25_and_35_and_nothing_after_the_fresh_attempt() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        if step <= 35:
            return checks(run, min(step, 7) // 7 + 1, 3) if step % 3 == 1 else run.edit("/w/a.py")
        return checks(run, 2 + (step - 35) // 8, 3 if step < 75 else 0) if step % 4 == 3 else run.edit("/w/b.py")

    assert tiers(steps, 90) == [(15, 1), (25, 2), (35, 3)]


def test_a_fresh_attempt_that_is_stuck_again_starts_again_with_tier_1() -> None:
    assert tiers(stuck_with_edits, 60) == [(10, 1), (20, 2), (30, 3), (40, 1), (50, 2), (60, 3)]


def test_progress_closes_the_issue_and_resets_the_tier() -> None:
    run, detector = Run(), NoProgress()
    steps = [stuck_with_edits(run, step) for step in range(1, 13)]
    issues = play(detector, *steps, checks(run, 3, 0))
    assert [(issue.closed, issue.details["tier"]) for issue in issues] == [(False, 1), (True, 1)]


def test_an_intervention_it_is_told_of_moves_the_next_tier_once() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        told = run.told("think again", by="chaperon") if step in {13, 17, 19} else []
        return [*told, *stuck_with_edits(run, step)]

    assert tiers(steps, 30) == [(10, 1), (22, 2)]


def test_the_word_that_follows_a_tier_is_that_tiers_own_intervention() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        told = run.told("nothing changed", by="chaperon") if step == 11 else []
        return [*told, *stuck_with_edits(run, step)]

    assert tiers(steps, 21) == [(10, 1), (20, 2)]


@pytest.mark.parametrize(
    "healthy",
    [
        pytest.param(lambda run, step: run.read(f"/w/{step}.py"), id="reading"),
        pytest.param(lambda run, step: run.bash(f"grep -rn word{step} src", f"src/{step}"), id="searching"),
        pytest.param(lambda run, step: run.edit(f"/w/{step}.py"), id="a batch of edits"),
        pytest.param(lambda run, _: run.bash("sleep 30; gh run view 1", "in progress"), id="waiting"),
        pytest.param(lambda run, step: checks(run, 12, 0) if step % 3 == 0 else run.edit("/w/a.py"), id="green all the time"),
        pytest.param(lambda run, step: checks(run, 12, 2) if step == 5 else run.edit(f"/w/{step}.py"), id="one look at failing tests"),
        pytest.param(lambda run, step: run.bash("git commit -am x", f"[main 1a2b3c{step:x}] x\n 1 file changed") if step % 6 == 0 else checks(run, 3, 1), id="commits"),
        pytest.param(lambda run, step: run.write(f"/w/src/new{step}.py") if step % 6 == 0 else checks(run, 3, 1), id="new files"),
    ],
)  # fmt: skip
def test_a_run_that_does_something_new_is_not_stuck(healthy: Steps) -> None:
    assert tiers(healthy, 60) == []


def test_scratch_files_are_no_progress() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        return run.write(f"/tmp/try{step}.py") if step % 2 else checks(run, 0, 1)

    assert tiers(steps, 11) == [(10, 1)]


def test_swinging_between_two_bad_states_is_no_progress() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        return run.edit("/w/a.py") if step % 2 == 0 else checks(run, 4 + step % 4 // 2, 2 - step % 4 // 2)

    assert tiers(steps, 30) == [(11, 1), (21, 2)]


def test_a_person_who_speaks_gives_a_new_direction() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        return [*(run.told("look at the docs instead") if step == 9 else []), *stuck_with_edits(run, step)]

    assert tiers(steps, 14) == []


def test_a_pattern_of_ones_own_measures_too() -> None:
    detector = NoProgress(
        NoProgressSettings(progress=ProgressSettings(test_patterns=(r"good=(?P<passed>\d+) bad=(?P<failed>\d+)",)))
    )
    steps: Steps = lambda run, step: run.edit("/w/a.py") if step % 2 else run.bash("./check", "good=1 bad=4")  # noqa: E731
    assert tiers(steps, 15, detector) == [(10, 1)]


def test_sensitivity_moves_the_tolerance_and_never_the_minimum() -> None:
    def first(sensitivity: Sensitivity) -> tuple[int, int]:
        return tiers(stuck_with_edits, 30, NoProgress(NoProgressSettings(sensitivity=sensitivity)))[0]

    assert [first(sensitivity) for sensitivity in Sensitivity] == [(12, 1), (10, 1), (10, 1)]


def test_the_sentence_and_the_details_tell_what_a_person_needs() -> None:
    run, detector = Run(), NoProgress()
    issues: list[Issue] = []
    parts: Iterable[list[Observation]] = (stuck_with_edits(run, step) for step in range(1, 21))
    issues = opened(play(detector, *parts))
    assert "No progress for 20 steps" in issues[1].sentence
    assert issues[1].details["strategy_change"] is True
    assert issues[0].details["last_progress"] == "none yet"
    assert all(issue.began == 2 and 0 < len(issue.evidence) <= 20 for issue in issues)


def test_writing_a_failing_test_first_is_no_attempt_in_vain() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        written = run.edit("/w/tests/test_a.py") if step % 4 else run.bash("cat > tests/test_b.py <<E\nE", f"{step}")
        return written if step % 2 == 0 else checks(run, 5, 1)

    assert tiers(steps, 9) == []
    assert tiers(lambda run, step: checks(run, 5, 1) if step == 9 else run.edit("/w/tests/test_a.py"), 40) == []


def test_reading_on_after_attempts_in_vain_is_not_held_against_it() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        if step <= 4:
            return run.edit("/w/a.py") if step % 2 else checks(run, 5, 1)
        return run.read(f"/w/{step}.py")

    assert tiers(steps, 60) == []


def test_the_run_in_which_something_is_seen_to_be_broken_is_no_attempt() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        results = {5: (9, 0), 10: (8, 1), 19: (8, 1)}
        return checks(run, *results[step]) if step in results else run.edit("/w/a.py")

    assert tiers(steps, 22) == []


def test_one_file_that_is_changed_over_and_over_and_never_tested_is_stuck() -> None:
    found = tiers(lambda run, _: run.edit("/w/a.py"), 80)
    assert [tier for _, tier in found] == [1, 2, 3]
    assert 40 <= found[0][0] <= 45


def test_changes_with_tests_between_them_are_no_such_thing() -> None:
    assert tiers(lambda run, step: checks(run, step, 0) if step % 30 == 0 else run.edit("/w/a.py"), 120) == []  # fmt: skip


@pytest.mark.parametrize(
    ("tolerance", "wait", "expected"),
    [
        pytest.param(8, 10, [(15, 1), (25, 2), (35, 3)], id="as it comes"),
        pytest.param(6, 8, [(13, 1), (21, 2), (29, 3)], id="more eager"),
        pytest.param(10, 15, [(17, 1), (32, 2), (47, 3)], id="more patient"),
    ],
)
def test_tuning_takes_effect_at_the_step_that_it_says(
    tolerance: int, wait: int, expected: list[tuple[int, int]]
) -> None:
    tuned = ProgressSettings(consecutive_stuck_tolerance=tolerance, tier_escalation_wait=wait)
    detector = NoProgress(NoProgressSettings(progress=tuned))
    found = tiers(
        lambda run, step: run.bash("git commit -m x", "[main 1a2b3cd] x") if step == 7 else run.bash("ls", "a"),
        expected[-1][0],
        detector,
    )
    assert found == expected


def test_an_approach_that_was_not_named_is_named_each_time_that_another_is_due() -> None:
    run, detector = Run(), NoProgress()
    issues = opened(play(detector, *(stuck_with_edits(run, step) for step in range(1, 31))))
    assert [issue.details["approach"] for issue in issues] == ["", "smallest_case", "last_good_state"]
    assert "Try another approach, smallest case: Write the smallest case" in issues[1].sentence


def test_another_approach_is_named_between_tiers_that_are_far_apart_and_moves_none_of_them() -> None:
    def steps(run: Run, step: int) -> list[Observation]:
        told = run.told("look elsewhere", by="chaperon") if step in {26, 41} else []
        return [*told, *run.bash("ls", "a")]

    run, detector = Run(), NoProgress(NoProgressSettings(progress=ProgressSettings(tier_escalation_wait=45)))
    issues = opened(play(detector, *(steps(run, step) for step in range(1, 60))))
    assert [(issue.details["step"], issue.details["tier"], issue.details["approach"]) for issue in issues] == [
        (10, 1, ""),
        (25, 1, "look_elsewhere"),
        (40, 1, "other_cause"),
        (55, 2, "measure"),
    ]


def test_a_severity_that_is_set_moves_every_tier_and_never_to_a_stop() -> None:
    settings = NoProgressSettings(severity=Severity.MEDIUM)
    run, detector = Run(), NoProgress(settings)
    issues = opened(play(detector, *(run.bash("ls", "a") for _ in range(31))))
    assert [issue.severity for issue in issues] == [Severity.MEDIUM, Severity.HIGH, Severity.HIGH]


def work_checked(run: Run, text: str = "", *, passed: bool, beside: bool = False) -> WorkChecked:
    """A check of the work that chaperon made."""
    return WorkChecked(**run.next(), command="make check", passed=passed, text=text, beside=beside)


def edits_beside_checks(every: Callable[[Run, int], list[Observation]]) -> Steps:
    return lambda run, step: [*run.edit(f"/w/{step}.py"), *(every(run, step) if step % 4 == 0 else [])]


def test_checks_in_quiet_moments_that_fail_after_each_change_are_attempts_in_vain() -> None:
    assert tiers(edits_beside_checks(lambda _run, _step: []), 20) == []
    fails = edits_beside_checks(lambda run, _: [work_checked(run, "2 failed, 1 passed in 0.1s", passed=False)])
    assert [tier for _, tier in tiers(fails, 20)] == [1]


def test_checks_of_files_that_changed_meanwhile_and_checks_that_get_better_are_not_held_against_a_run() -> None:
    beside = edits_beside_checks(lambda run, _: [work_checked(run, passed=False, beside=True)])
    assert tiers(beside, 20) == []
    better = edits_beside_checks(lambda run, step: [work_checked(run, f"{40 - step} failed in 1s", passed=False)])
    assert tiers(better, 20) == []


def test_a_check_that_passes_after_one_that_failed_is_progress_by_its_exit_code_alone() -> None:
    run, detector = Run(), NoProgress()
    for passed in (False, False, True):
        play(detector, [*run.edit("/w/a.py"), work_checked(run, passed=passed)])
    assert detector._last_what == "1 tests pass, 0 fail"
