"""Loops of every shape are seen, and what only looks like one is not."""

from collections.abc import Callable
from itertools import cycle, islice

import pytest

from monitors.contract.observations import Observation
from monitors.contract.words import Sensitivity, Severity
from monitors.patterns.repetition import MAX_STEPS, Repetition, RepetitionSettings
from tests.monitors.steps import Run, opened, play


def kinds(*parts: list[Observation]) -> list[str]:
    return [str(issue.details["kind"]) for issue in opened(play(Repetition(), *parts))]


def test_the_third_identical_step_is_an_issue_from_the_first_on() -> None:
    run = Run()
    [issue] = play(Repetition(), *(run.bash("ls src", "a b") for _ in range(3)))
    assert (issue.type, issue.severity, issue.began, issue.evidence) == ("repetition", Severity.MEDIUM, 2, (2, 4, 6))
    assert issue.details["count"] == 3
    assert "ls src" in issue.sentence


def test_the_free_text_description_of_a_command_does_not_hide_a_loop() -> None:
    run = Run()
    steps = [
        run.step("Bash", {"command": "make", "description": f"try {n}", "timeout": n}, "no rule") for n in range(3)
    ]
    assert kinds(*steps) == ["identical"]


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6])
def test_cycles_of_two_to_six_are_seen_when_they_come_round_the_third_time(period: int) -> None:
    run = Run()
    commands = list(islice(cycle(f"cat file{n}" for n in range(period)), 3 * period))
    assert kinds(*(run.bash(command, f"out of {command}") for command in commands[:-1])) == []
    run = Run()
    assert kinds(*(run.bash(command, f"out of {command}") for command in commands)) == ["cycle"]


def test_steps_done_before_in_any_order_are_stale() -> None:
    run = Run()
    order = [0, 1, 2, 3, 0, 2, 1, 3, 3, 1, 0, 2, 1, 0, 3, 2, 0, 3, 1]
    assert kinds(*(run.bash(f"cat {n}", f"text {n}") for n in order)) == ["stale"]


def test_calls_that_differ_in_a_word_and_show_nothing_new_are_near_duplicates() -> None:
    run = Run()
    searches = [
        run.bash(f"grep -rn --include=*.py TokenError src lib tests -m {n}", "src/a.py:3: TokenError")
        for n in range(1, 8)
    ]
    assert kinds(*searches) == ["near_duplicate"]


def test_calls_that_differ_in_a_word_and_show_a_line_in_three_that_is_new_are_none() -> None:
    run = Run()
    searches = [
        run.bash(
            f"grep -rn --include=*.py TokenError src lib tests -m {n}", f"src/a.py:3: TokenError\nlib/b.py\nlib/c{n}.py"
        )
        for n in range(1, 12)
    ]
    assert kinds(*searches) == []


def test_it_is_raised_again_at_each_doubling_and_with_more_severity() -> None:
    run = Run()
    issues = play(Repetition(), *(run.bash("ls", "a") for _ in range(25)))
    assert [issue.details["count"] for issue in issues] == [3, 6, 12, 24]
    assert [issue.severity for issue in issues[:2]] == [Severity.MEDIUM, Severity.HIGH]


def test_it_closes_after_three_new_steps_and_can_open_again() -> None:
    run, detector = Run(), Repetition()
    steps = [*["loop"] * 3, "a", "b", "c", *["loop"] * 3]
    issues = play(detector, *(run.read(f"/w/{step}") for step in steps))
    assert [issue.closed for issue in issues] == [False, True, False]


@pytest.mark.parametrize(
    "healthy",
    [
        pytest.param(lambda run, _: run.bash("sleep 30 && gh pr checks 12", "pending"), id="waiting"),
        pytest.param(lambda run, _: run.step("BashOutput", {"bash_id": "1"}, "<status>running</status>"), id="background"),
        pytest.param(lambda run, n: run.bash("make test", f"{n} of 15 done"), id="another result each time"),
        pytest.param(lambda run, n: run.read("/w/big.py", f"line {n}", offset=n * 200, limit=200), id="paging"),
        pytest.param(lambda run, n: run.read(f"/w/src/part_{n}.py"), id="reading files in turn"),
        pytest.param(lambda run, n: run.edit(f"/w/src/part_{n}.py", "old", "new"), id="a batch of equal edits"),
        pytest.param(lambda run, n: run.edit("/w/a.py") if n % 2 else run.bash("pytest -q", "3 passed in 0.1s"), id="edit and test"),
        pytest.param(lambda run, n: run.bash(f"git mv a{n}.py b{n}.py", ""), id="renaming in turn"),
        pytest.param(lambda run, n: run.step("TodoWrite", {"todos": [{"id": n}]}, "Todos have been modified"), id="to-do list"),
        pytest.param(lambda run, n: run.bash(f"sed -n {n * 40},{n * 40 + 40}p big.py", "\n".join(f"{n} {i}" for i in range(40))), id="paging by sed"),
        pytest.param(lambda run, _: run.read("/w/REDACTED.ts", "x"), id="redacted values are distinct"),
        pytest.param(lambda run, n: run.bash(f"grep -rn word{n} src lib tests docs", f"src/{n}.py: word{n}"), id="searching for different words"),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_loop_is_none(healthy: Callable[[Run, int], list[Observation]]) -> None:
    run = Run()
    assert kinds(*(healthy(run, n) for n in range(15))) == []


def test_waiting_for_ever_is_a_loop_in_the_end() -> None:
    run = Run()
    assert kinds(*(run.bash("sleep 30 && gh pr checks 12", "pending") for _ in range(18))) == ["identical"]


def test_results_that_differ_in_times_and_durations_alone_are_the_same() -> None:
    run = Run()
    steps = [run.bash("make", f"2026-01-0{n} 10:00:0{n} no rule to make target (took {n}.2s)") for n in range(1, 4)]
    assert kinds(*steps) == ["identical"]


def test_sensitivity_scales_the_threshold() -> None:
    def count(sensitivity: Sensitivity) -> int:
        run = Run()
        detector = Repetition(RepetitionSettings(sensitivity=sensitivity))
        return int(play(detector, *(run.bash("ls", "a") for _ in range(9)))[0].details["count"])

    assert [count(sensitivity) for sensitivity in Sensitivity] == [4, 3, 2]


def test_memory_is_bounded() -> None:
    run, detector = Run(), Repetition()
    play(detector, *(run.bash(f"cat {n}", f"text {n}") for n in range(3 * MAX_STEPS)))
    assert len(detector._stale._known) == MAX_STEPS


def test_calls_that_do_nothing_are_one_call_whatever_their_words() -> None:
    run = Run()
    words = [": step 1", "true", "echo thinking about it"]
    assert kinds(*(run.bash(word, f"out {number}") for number, word in enumerate(words))) == ["identical"]
