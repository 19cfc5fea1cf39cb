"""Choosing where to go back to."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from checkpoints.choose import Choice, SafeCriteria, choose, why_unsafe
from checkpoints.model import CaptureContext, Checkpoint, Reason, RunHealth
from monitors.contract.issues import Issue
from monitors.contract.words import Severity

ISSUE = Issue("repetitive_errors", Severity.HIGH, 0.9, 0.5, began=100, sentence="The same error came five times.")


def checkpoint(
    number: int, seq: int, rate: float | None = 1.0, quiet: float | None = 600.0, reason: Reason = Reason.TURN
) -> Checkpoint:
    facts = CaptureContext(reason, at=float(number), seq=seq, health=RunHealth(rate, quiet))
    return Checkpoint(f"c{number}", number, "/w", "", "", facts)


def test_the_newest_before_the_issue_began_is_chosen() -> None:
    made = [checkpoint(1, 10), checkpoint(2, 50), checkpoint(3, 99), checkpoint(4, 100), checkpoint(5, 120)]
    choice = choose(made, ISSUE)
    assert choice.checkpoint == made[2]
    assert [one.name for one in choice.passed_over] == ["c5", "c4"]


def test_evidence_from_before_the_streak_counts_too() -> None:
    made = [checkpoint(1, 10), checkpoint(2, 50), checkpoint(3, 99)]
    assert choose(made, replace(ISSUE, evidence=(40, 100))).checkpoint == made[0]


def test_one_that_was_unwell_is_passed_over_with_the_reason() -> None:
    made = [checkpoint(1, 10), checkpoint(2, 20, rate=0.79), checkpoint(3, 30, quiet=59.0)]
    choice = choose(made, ISSUE)
    assert choice.checkpoint == made[0]
    assert [one.why for one in choice.passed_over] == [
        "it had been without errors for 59 s, less than 60 s",
        "79% of actions had succeeded, less than 80%",
    ]


def test_the_criteria_are_met_at_their_very_edge() -> None:
    assert why_unsafe(checkpoint(1, 1, rate=0.8, quiet=60.0), SafeCriteria()) == ""


def test_what_was_never_measured_speaks_against_nothing() -> None:
    assert choose([checkpoint(1, 0, None, None, Reason.START)], ISSUE).checkpoint is not None


def test_no_further_back_than_the_depth() -> None:
    made = [checkpoint(1, 10), *(checkpoint(number, 10 + number, rate=0.0) for number in (2, 3, 4))]
    choice = choose(made, ISSUE)
    assert choice.checkpoint is None
    assert choice.passed_over[-1].why == "it is more than 3 checkpoints back"
    assert choose(made, ISSUE, SafeCriteria(max_rollback_depth=4)).checkpoint == made[0]


def test_of_none_none_is_chosen() -> None:
    assert choose([], ISSUE) == Choice(None, ())


def test_what_a_rollback_turned_away_from_is_never_chosen() -> None:
    made = [checkpoint(1, 10), checkpoint(2, 20, reason=Reason.UNDO)]
    assert choose(made, ISSUE).checkpoint == made[0]


CHECKPOINTS = st.builds(
    checkpoint,
    number=st.integers(1, 50),
    seq=st.integers(0, 200),
    rate=st.one_of(st.none(), st.floats(0, 1)),
    quiet=st.one_of(st.none(), st.floats(0, 200)),
    reason=st.sampled_from(Reason),
)


@given(st.lists(CHECKPOINTS, max_size=12, unique_by=lambda one: one.number))
def test_a_choice_is_always_safe_old_enough_and_the_newest_such(made: list[Checkpoint]) -> None:
    choice = choose(made, ISSUE)
    chosen = choice.checkpoint
    if chosen is None:
        assert all(one.why for one in choice.passed_over)
        assert bool(choice.passed_over) == bool(made)
        return
    assert chosen.facts.seq < ISSUE.began
    assert why_unsafe(chosen, SafeCriteria()) == ""
    newer = {one.name for one in made if one.number > chosen.number}
    assert {one.name for one in choice.passed_over} == newer
