from hypothesis import given, settings
from hypothesis import strategies as st

from monitors.contract.learning import Adjustment, IssueOutcome
from monitors.learning import Learned, LearningSettings, adjusted, counted, due, undoing

ON = LearningSettings(enabled=True)


def learn(outcomes: list[IssueOutcome], setup: LearningSettings = ON) -> tuple[Learned, list[Adjustment]]:
    learned, made = Learned(), []
    for outcome in outcomes:
        learned = counted(learned, "repetition", outcome)
        if adjustment := due(learned, "repetition", setup):
            learned = adjusted(learned, adjustment)
            made.append(adjustment)
    return learned, made


def test_it_is_off_by_default() -> None:
    learned, made = learn([IssueOutcome.FALSE_ALARM] * 50, LearningSettings())
    assert (learned.factor("repetition"), made) == (1.0, [])
    assert learned.tally("repetition").false_alarms == 50


def test_false_alarms_raise_the_thresholds_one_small_step_at_a_time() -> None:
    learned, made = learn([IssueOutcome.FALSE_ALARM] * 10)
    assert [(one.before, one.after) for one in made] == [(1.0, 1.1), (1.1, 1.21)]
    assert made[0].because == "5 of 5 alarms were false"
    assert learned.factor("repetition") == 1.21
    assert learned.factor("another") == 1.0


def test_missed_trouble_lowers_them_and_confirmed_alarms_leave_them() -> None:
    assert learn([IssueOutcome.MISSED] * 5)[0].factor("repetition") == 0.9091
    assert learn([IssueOutcome.CONFIRMED] * 50)[1] == []
    assert learn([IssueOutcome.CONFIRMED] * 4 + [IssueOutcome.FALSE_ALARM])[1] == []
    assert len(learn([IssueOutcome.CONFIRMED] * 3 + [IssueOutcome.FALSE_ALARM] * 2)[1]) == 1


@settings(max_examples=60)
@given(st.lists(st.sampled_from(IssueOutcome), max_size=300))
def test_the_factor_stays_within_its_bounds_and_every_change_is_told(outcomes: list[IssueOutcome]) -> None:
    learned, made = learn(outcomes)
    factor = 1.0
    for adjustment in made:
        assert adjustment.before == factor
        factor = adjustment.after
        assert ON.lowest <= factor <= ON.highest
    assert learned.factor("repetition") == factor


def test_an_adjustment_can_be_undone_once_and_that_is_an_adjustment_too() -> None:
    learned, _ = learn([IssueOutcome.FALSE_ALARM] * 5)
    back = undoing(learned, "repetition")
    assert back is not None
    assert (back.before, back.after, back.because) == (1.1, 1.0, "undone: 5 of 5 alarms were false")
    learned = adjusted(learned, back)
    assert learned.factor("repetition") == 1.0
    assert undoing(learned, "repetition") is None


def test_an_outcome_that_replaces_another_takes_its_place_and_one_that_was_used_up_is_not_taken_again() -> None:
    learned = counted(Learned(), "repetition", IssueOutcome.FALSE_ALARM)
    learned = counted(learned, "repetition", IssueOutcome.CONFIRMED, IssueOutcome.FALSE_ALARM)
    assert (learned.tally("repetition").confirmed, learned.tally("repetition").false_alarms) == (1, 0)
    used_up, _ = learn([IssueOutcome.FALSE_ALARM] * 5)
    learned = counted(used_up, "repetition", IssueOutcome.CONFIRMED, IssueOutcome.FALSE_ALARM)
    assert (learned.tally("repetition").confirmed, learned.tally("repetition").false_alarms) == (1, 0)
