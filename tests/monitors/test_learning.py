from hypothesis import given, settings
from hypothesis import strategies as st

from monitors.learning import Adjustment, Learned, LearningSettings, Outcome, outcome_of_what_followed, take_in, undo

ON = LearningSettings(enabled=True)


def learn(outcomes: list[Outcome], setup: LearningSettings = ON) -> tuple[Learned, list[Adjustment]]:
    learned, made = Learned(), []
    for outcome in outcomes:
        learned, adjustment = take_in(learned, "repetition", outcome, setup)
        made += [adjustment] if adjustment else []
    return learned, made


def test_it_is_off_by_default() -> None:
    assert learn([Outcome.FALSE_ALARM] * 50, LearningSettings()) == (Learned(), [])


def test_false_alarms_raise_the_thresholds_one_small_step_at_a_time() -> None:
    learned, made = learn([Outcome.FALSE_ALARM] * 10)
    assert [(one.before, one.after) for one in made] == [(1.0, 1.1), (1.1, 1.21)]
    assert made[0].because == "5 of 5 alarms were false"
    assert learned.factor("repetition") == 1.21
    assert learned.factor("another") == 1.0


def test_missed_trouble_lowers_them_and_confirmed_alarms_leave_them() -> None:
    assert learn([Outcome.MISSED] * 5)[0].factor("repetition") == 0.9091
    assert learn([Outcome.CONFIRMED] * 50)[1] == []
    assert learn([Outcome.CONFIRMED] * 4 + [Outcome.FALSE_ALARM])[1] == []


@settings(max_examples=60)
@given(st.lists(st.sampled_from(Outcome), max_size=300))
def test_the_factor_stays_within_its_bounds_and_every_change_is_told(outcomes: list[Outcome]) -> None:
    learned, made = learn(outcomes)
    factor = 1.0
    for adjustment in made:
        assert adjustment.before == factor
        factor = adjustment.after
        assert ON.lowest <= factor <= ON.highest
    assert learned.factor("repetition") == factor


def test_an_adjustment_can_be_undone_and_that_is_an_adjustment_too() -> None:
    learned, made = learn([Outcome.FALSE_ALARM] * 5)
    learned, back = undo(learned, made[0])
    assert learned.factor("repetition") == 1.0
    assert (back.before, back.after, back.because) == (1.1, 1.0, "undone: 5 of 5 alarms were false")


def test_what_followed_says_something_only_where_it_is_clear() -> None:
    well = outcome_of_what_followed(closed=True, progressed=True, steps_until_progress=2, interventions=0)
    helped = outcome_of_what_followed(closed=True, progressed=True, steps_until_progress=2, interventions=1)
    stuck = outcome_of_what_followed(closed=False, progressed=False, steps_until_progress=0, interventions=1)
    assert (well, helped, stuck) == (Outcome.FALSE_ALARM, None, Outcome.CONFIRMED)
