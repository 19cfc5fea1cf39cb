from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.model import Reason
from supervisor.cli.output.words import MADE, clean, local, what, when
from tests.support import acting

DAY = 86_400.0


@given(st.text(st.characters(exclude_categories=())), st.integers(1, 50))
def test_text_of_others_is_one_bounded_line_that_no_terminal_obeys(text: str, width: int) -> None:
    shown = clean(text, width)
    assert len(shown) <= width
    assert acting(shown) == set()
    shown.encode()


def test_text_without_end_costs_no_more_than_what_is_shown() -> None:
    assert clean("x" * 10**7, 10) == "x" * 9 + "…"


@pytest.mark.parametrize("at", [1e300, float("nan"), float("inf"), -1e300])
def test_a_time_that_no_clock_can_show_is_shown_as_it_is(at: float) -> None:
    assert local(at) == str(at)


def test_a_time_has_its_date_unless_it_is_of_today() -> None:
    noon = datetime.fromisoformat("2026-11-22T12:00:30").timestamp()
    assert when(noon - 3_600, noon) == "11:00:30"
    assert when(noon - DAY, noon) == "11-21 12:00"
    assert when(noon - 365 * DAY, noon) == "2025-11-22"


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"command": "ls\n-l"}, "ls -l"),
        ({"file_path": "a.txt", "content": "x"}, "a.txt"),
        ({"odd": 1}, "{'odd': 1}"),
        ({}, ""),
        ("text", ""),
        (None, ""),
    ],
)
def test_what_an_input_is_about_is_told(given_: object, said: str) -> None:
    assert what(given_) == said


def test_each_reason_of_a_checkpoint_has_its_words() -> None:
    assert MADE.keys() == set(Reason)
