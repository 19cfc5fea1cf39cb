import pytest

from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from monitors.guarded import OpenIssues
from monitors.patterns.combinations import COMBINATIONS, Combination, Combinations
from tests.monitors.steps import Run, play


def issue(type_: str, severity: Severity = Severity.MEDIUM, **more: object) -> Issue:
    return Issue(type_, severity, 0.7, 0.2, 5, "trouble", evidence=(5, 6), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("combination", COMBINATIONS, ids=lambda one: one.name)
def test_patterns_open_at_once_make_one_more_issue_and_its_end_is_that_of_the_first_to_close(
    combination: Combination,
) -> None:
    run, board = Run(), OpenIssues()
    detector = Combinations(board)
    first, second = (types[0] for types in combination.members)
    board.note([issue(first)])
    assert play(detector, run.bash("a")) == []
    board.note([issue(second)])
    [found] = play(detector, run.bash("b"))
    assert (found.type, found.details["multiplier"]) == (combination.name, combination.multiplier)
    assert found.evidence == (3, 5, 6)
    board.note([issue(second, closed=True)])
    assert [one.closed for one in play(detector, run.bash("c"))] == [True]


def test_the_multiplier_makes_it_that_many_times_as_bad_as_its_worst_member() -> None:
    board = OpenIssues()
    board.note([issue("repetitive_errors"), issue("exploration_wandering")])
    [loop] = play(Combinations(board), Run().bash("a"))
    assert (loop.severity, loop.impact_factor) == (Severity.MEDIUM, 0.8)
    board = OpenIssues()
    board.note([issue("resource_spiral", Severity.HIGH), issue("goal_drift")])
    [runaway] = play(Combinations(board), Run().bash("a"))
    assert (runaway.severity, runaway.impact_factor) == (Severity.CRITICAL, 1.0)
    assert {one.name: one.multiplier for one in COMBINATIONS} == {
        "error_exploration_loop": 1.5,
        "runaway_execution": 2.0,
        "confused_state": 1.8,
    }


def test_it_is_raised_again_only_when_a_member_worsens() -> None:
    run, board = Run(), OpenIssues()
    detector = Combinations(board)
    board.note([issue("repetitive_errors"), issue("exploration_wandering")])
    assert len(play(detector, run.bash("a"), run.bash("b"))) == 1
    board.note([issue("exploration_wandering", Severity.LOW)])
    assert play(detector, run.bash("c")) == []
    board.note([issue("repetitive_errors", Severity.HIGH)])
    assert [one.severity for one in play(detector, run.bash("d"))] == [Severity.HIGH]
