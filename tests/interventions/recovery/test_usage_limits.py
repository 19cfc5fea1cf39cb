"""Until when a usage limit holds."""

from calendar import timegm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.recovery.usage_limits import DEFAULT_SECONDS, MARGIN_SECONDS, resets_at, wait_seconds

NOW = float(timegm((2026, 3, 10, 12, 0, 0)))  # a Tuesday, noon in UTC
ZONES = {"Europe/Berlin": 3_600, "America/Los_Angeles": -7 * 3_600, "": 0}


def offset(zone: str) -> int:
    return ZONES.get(zone, 0)


def utc(month: int, day: int, hour: int, minute: int = 0, year: int = 2026) -> float:
    return float(timegm((year, month, day, hour, minute, 0)))


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (f"Claude AI usage limit reached|{int(NOW) + 7_200}", NOW + 7_200),
        ("You've hit your session limit · resets 3pm (Europe/Berlin)", utc(3, 10, 14)),
        ("5-hour limit reached ∙ resets 3:30am", utc(3, 11, 3, 30)),
        ("5-hour limit reached ∙ resets 12pm (Europe/Berlin)", utc(3, 11, 11)),
        ("resets 12am", utc(3, 11, 0)),
        ("You've hit your weekly limit · resets Mar 14, 5pm (America/Los_Angeles)", utc(3, 15, 0)),
        ("Your limit will reset at 7pm (America/Los_Angeles).", utc(3, 11, 2)),
        ("resets 15:45", utc(3, 10, 15, 45)),
        ("resets at 4pm (Nowhere/Atall)", utc(3, 10, 16)),
    ],
)
def test_the_stated_time_is_read(text: str, at: float) -> None:
    assert resets_at(text, NOW, offset) == at


def test_a_date_after_the_turn_of_the_year_is_next_year() -> None:
    late = float(timegm((2026, 12, 30, 12, 0, 0)))
    assert resets_at("resets Jan 2, 9am", late, offset) == utc(1, 2, 9, year=2027)


@pytest.mark.parametrize(
    "text",
    [
        "usage limit reached",
        "resets 25pm",
        "resets soon",
        "resets 7",
        "limit reached|1000000000",
        "resets Dec 24, 5pm",
        "resets Foo 3, 5pm",
    ],
)
def test_what_cannot_be_is_not_believed(text: str) -> None:
    assert resets_at(text, NOW, offset) is None
    assert wait_seconds(text, NOW, offset) == DEFAULT_SECONDS


def test_a_minute_more_than_stated_is_waited() -> None:
    assert wait_seconds("resets 12:10", NOW, offset) == 600 + MARGIN_SECONDS


@given(st.text(max_size=80), st.floats(0, 4e9))
def test_no_text_makes_it_raise_or_wait_beyond_a_week(text: str, now: float) -> None:
    assert 0 < wait_seconds("resets " + text, now, offset) <= 8 * 86_400 + MARGIN_SECONDS
