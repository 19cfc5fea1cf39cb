"""Budgets of refusal."""

from collections.abc import Sequence

from monitors.contract.actions import Review
from monitors.contract.issues import Issue
from monitors.contract.observations import ToolCalled, TurnEnded
from monitors.contract.words import Decision, Severity
from monitors.patterns.refusals import RefusalBudget, RefusedCalls


def play(decisions: str, budget: RefusalBudget | None = None) -> list[tuple[int, Issue]]:
    """`b` is a block, `a` an allow, `w` a warn, `m` a modify."""
    meant = {"b": Decision.BLOCK, "a": Decision.ALLOW, "w": Decision.WARN, "m": Decision.MODIFY}
    watch = RefusedCalls(budget)
    found: list[tuple[int, Issue]] = []
    for seq, letter in enumerate(decisions, 1):
        review = Review(meant[letter], 0.8, 0.7, Severity.HIGH, "why", "some.rule")
        issues: Sequence[Issue] = watch.see(
            ToolCalled(seq=seq, mono=float(seq), id=str(seq), tool="Bash", input={}, review=review)
        )
        found += [(seq, issue) for issue in issues]
    return found


def test_three_blocks_in_a_row_are_an_issue_once() -> None:
    ((seq, issue),) = play("bbbb")
    assert seq == 3
    assert (issue.type, issue.began, issue.evidence, issue.key) == ("refusals", 1, (1, 2, 3), "row")
    assert "some.rule" in issue.sentence


def test_anything_let_through_ends_the_row_and_closes_the_issue() -> None:
    assert play("bbabb") == []
    assert [(seq, issue.closed) for seq, issue in play("bbbwbbb")] == [(3, False), (4, True), (7, False)]


def test_twenty_blocks_in_a_session_are_an_issue_however_far_apart() -> None:
    ((seq, issue),) = play("ba" * 25)
    assert seq == 39
    assert (issue.key, issue.severity, issue.details["count"]) == ("session", Severity.HIGH, 20)


def test_the_budget_is_the_users() -> None:
    assert [seq for seq, _ in play("bb", RefusalBudget(in_a_row=2))] == [2]


def test_other_observations_count_for_nothing() -> None:
    assert RefusedCalls().see(TurnEnded(seq=1, mono=1.0, failed=True)) == ()
