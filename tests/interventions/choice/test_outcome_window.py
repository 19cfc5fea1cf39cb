"""The window after an intervention: each fate, and what was lost."""

from interventions.choice.outcome_window import WINDOW_STEPS, Pace, Window
from interventions.decisions import Fate, Intervention, InterventionOutcome
from interventions.words import InterventionKind
from monitors.contract.words import Severity
from supervisor.testing.samples import issue
from tests.interventions.runs import SOFT, STOP


def window(kind: InterventionKind = SOFT, before: float | None = 1.0, **details: str) -> Window:
    chosen = Intervention("i-1", kind, issue(), 0.4, "because", "a word", details)
    return Window(chosen, 100.0, before, frozenset({"repetitive_errors"}))


def results(open_window: Window, text: str) -> Window:
    for letter in text:
        open_window.saw_result(letter == "+")
    return open_window


def outcome(open_window: Window, **more: bool) -> tuple[Fate, InterventionOutcome]:
    judged = open_window.judge(160.0, **more)
    return judged.fate, judged.outcome


def test_an_issue_that_closed_and_stays_away_is_a_success() -> None:
    seen = window()
    seen.saw_issue(issue(closed=True))
    assert not results(seen, "++").over(110.0)
    assert results(seen, "+").over(110.0)
    assert outcome(seen) == (Fate.ENDED, InterventionOutcome.SUCCESS)


def test_an_issue_that_is_raised_again_is_a_failure_at_once() -> None:
    seen = window()
    seen.saw_issue(issue())
    assert seen.over(100.0)
    assert outcome(seen) == (Fate.CAME_BACK, InterventionOutcome.FAILURE)


def test_one_that_closes_and_comes_back_within_the_window_is_a_failure() -> None:
    seen = window()
    seen.saw_issue(issue(closed=True))
    seen.saw_issue(issue(key="worded another way"))
    assert outcome(seen) == (Fate.CAME_BACK, InterventionOutcome.FAILURE)


def test_an_issue_that_turned_into_one_as_grave_is_a_failure_and_into_a_milder_one_unclear() -> None:
    graver, milder = window(), window()
    graver.saw_issue(issue("scope_creep", Severity.HIGH))
    milder.saw_issue(issue("scope_creep", Severity.LOW))
    assert outcome(results(graver, "+" * WINDOW_STEPS)) == (Fate.CHANGED, InterventionOutcome.FAILURE)
    assert outcome(results(milder, "+" * WINDOW_STEPS)) == (Fate.CHANGED, InterventionOutcome.UNCLEAR)


def test_an_issue_of_a_type_that_was_open_before_changes_nothing() -> None:
    seen = Window(window().intervention, 100.0, None, frozenset({"scope_creep"}))
    seen.saw_issue(issue("scope_creep", Severity.HIGH))
    assert outcome(seen) == (Fate.UNKNOWN, InterventionOutcome.UNCLEAR)


def test_a_window_that_is_used_up_without_a_sign_is_unclear() -> None:
    assert outcome(results(window(), "+" * WINDOW_STEPS)) == (Fate.UNKNOWN, InterventionOutcome.UNCLEAR)
    assert window().over(700.0)


def test_a_run_that_ends_well_is_a_success_and_one_that_dies_is_unclear() -> None:
    assert outcome(window(), ended=True, well=True) == (Fate.ENDED, InterventionOutcome.SUCCESS)
    assert outcome(window(), ended=True) == (Fate.UNKNOWN, InterventionOutcome.UNCLEAR)


def test_a_stop_succeeds_when_the_run_was_stopped() -> None:
    assert outcome(window(STOP), ended=True, well=True) == (Fate.ENDED, InterventionOutcome.SUCCESS)
    assert outcome(window(STOP), ended=True) == (Fate.UNKNOWN, InterventionOutcome.UNCLEAR)


def test_what_a_run_lost_is_the_fall_of_its_share_of_successes() -> None:
    assert results(window(before=0.9), "+---").judge(120.0).disruption == 0.65
    assert results(window(before=0.2), "++++").judge(120.0).disruption == 0.0
    assert results(window(before=0.9), "--").judge(120.0).disruption == 0.0


def test_the_pace_needs_three_results() -> None:
    pace = Pace()
    for ok in (True, False):
        pace.saw(ok)
    assert pace.share() is None
    pace.saw(True)
    assert pace.share() == 2 / 3
