"""What follows an end: the table of the module, row by row."""

from typing import Any

import pytest

from interventions.recovery.after_end import AgentEnd, Follow, RecoveryPlan, after_end, go_on
from interventions.recovery.crash_context import LastAttempt


def plan(**more: Any) -> RecoveryPlan:
    given: dict[str, Any] = {
        "prompt": "Mend the parser",
        "said": "",
        "began": True,
        "crashes": 1,
        "waits": 1,
        "last": LastAttempt(1, "signal 9"),
    }
    return after_end(AgentEnd(**{**given, **more}), now=1_000_000.0, offset=lambda _: 0, chance=1.0)


def test_a_usage_limit_is_waited_out_and_the_session_resumed() -> None:
    found = plan(said="Claude AI usage limit reached")
    assert found.follow is Follow.RESUME
    assert found.prompt == go_on("Mend the parser")
    assert "Mend the parser" in found.prompt, "the record of the session may lack its beginning"
    assert found.wait_seconds >= 60


def test_the_wait_is_until_the_stated_reset() -> None:
    until_two = 14 * 3_600 - 1_000_000 % 86_400  # it is 13:46:40
    assert plan(said="You've hit your session limit · resets 2pm (UTC)").wait_seconds == until_two + 60


def test_the_clis_own_notice_of_the_reset_comes_before_its_words_if_it_can_be_believed() -> None:
    words = "You've hit your 5-hour limit · resets 2pm (Mars/Base)"
    assert plan(said=words, resets_at=1_000_300.0).wait_seconds == 360
    assert plan(said="Claude AI usage limit reached", resets_at=9e9).wait_seconds == 3_600, "that is years away"


def test_a_refused_resume_begins_anew_at_the_first_time_unless_something_killed_it() -> None:
    found = plan(said="No conversation found with session ID: s-1\n", resume_refused=True)
    assert found.follow is Follow.FRESH
    assert "refused to resume its session (No conversation found with session ID: s-1)" in found.why
    assert "Mend the parser" in found.prompt
    assert plan(resume_refused=True, killed=True).follow is Follow.RESUME
    assert plan(resume_refused=True, crashes=4).follow is Follow.PERSON, "it is bounded like every other"


@pytest.mark.parametrize(("waits", "seconds"), [(1, 5.0), (4, 40.0)])
def test_an_overloaded_service_is_waited_for_longer_each_time(waits: int, seconds: float) -> None:
    found = plan(said="API Error: 529 overloaded_error", waits=waits)
    assert (found.follow, found.wait_seconds) == (Follow.RESUME, seconds)


def test_a_service_that_stays_away_is_a_persons() -> None:
    assert plan(said="API Error: Request timed out.", waits=9).follow is Follow.PERSON


def test_a_limit_before_the_first_turn_begins_with_the_prompt() -> None:
    found = plan(said="usage limit reached", began=False)
    assert (found.follow, found.prompt) == (Follow.FRESH, "Mend the parser")


def test_a_first_crash_resumes_the_session_with_what_is_known() -> None:
    found = plan()
    assert found.follow is Follow.RESUME
    assert "ended early (signal 9)" in found.prompt
    assert "Mend the parser" not in found.prompt


def test_a_second_crash_begins_anew_with_the_prompt() -> None:
    found = plan(crashes=2)
    assert found.follow is Follow.FRESH
    assert "What was asked: Mend the parser" in found.prompt


def test_one_that_is_killed_again_goes_on_in_its_session_as_long_as_retries_are_left() -> None:
    """A new session would do its steps twice."""
    for crashes in (2, 3):
        found = plan(crashes=crashes, killed=True)
        assert found.follow is Follow.RESUME
        assert "What was asked" not in found.prompt
        assert "goes on in the same session" in found.why
    assert plan(crashes=4, killed=True).follow is Follow.PERSON


@pytest.mark.parametrize("given", [{"crashes": 4}, {"began": False}])
def test_what_a_retry_would_not_change_is_a_persons(given: dict[str, Any]) -> None:
    found = plan(**given)
    assert found.follow is Follow.PERSON
    assert found.why
