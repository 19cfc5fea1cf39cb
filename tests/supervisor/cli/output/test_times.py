from datetime import datetime

import click
import pytest

from supervisor.cli.output.times import Duration, FutureMoment, PastMoment
from supervisor.runtime.clock import Clock


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1.5h", 5_400.0), ("1d", 86_400.0)])
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "10", "0m", "-1m", "1w", "tomorrow", "1e9d"])
def test_what_is_no_duration_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(click.BadParameter, match="as in 10m"):
        Duration().convert(text, None, None)


def test_a_moment_is_so_long_ago() -> None:
    before = Clock().wall()
    assert before - 600 <= PastMoment().convert("10m", None, None) <= Clock().wall() - 600


def test_a_moment_is_a_time_of_today_a_date_or_both() -> None:
    for text, form in [("00:00", "%H:%M"), ("2026-11-21", "%Y-%m-%d"), ("2026-11-21T08:15:30", "%Y-%m-%dT%H:%M:%S")]:
        found = datetime.fromtimestamp(PastMoment().convert(text, None, None)).astimezone()
        assert found.strftime(form) == text
    assert PastMoment().convert("2026-11-21T08:15:30+01:00", None, None) == 1795245330.0
    assert PastMoment().convert(12.5, None, None) == 12.5


def test_a_moment_ahead_is_a_time_of_today_or_of_tomorrow_or_a_date() -> None:
    now = Clock().wall()
    for text in ("00:00", "12:00", "23:59:59.999999"):
        assert now < FutureMoment().convert(text, None, None) <= now + 90_000, text
    assert FutureMoment().convert("2999-01-01T08:15+00:00", None, None) == 32472173700.0


@pytest.mark.parametrize("text", ["", "2020-01-01", "2020-01-01T00:00", "25:00", "soon"])
def test_what_is_no_moment_ahead_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="07:00"):
        FutureMoment().convert(text, None, None)


@pytest.mark.parametrize("text", ["2999-01-01", "2999-01-01T08:15"])
def test_a_moment_that_lies_ahead_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="lies ahead"):
        PastMoment().convert(text, None, None)


@pytest.mark.parametrize("text", ["", "never", "25:00", "2026-13-01", "0001-01-01T00:00+23:00x"])
def test_what_is_no_moment_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(click.BadParameter, match="08:15"):
        PastMoment().convert(text, None, None)
