"""What the query of an address asks for."""

from urllib.parse import parse_qsl

import pytest

from supervisor.panel.asked import MOST_DIGITS, TaskQuery, number_in


@pytest.mark.parametrize("text", ["", "-1", "1.5", "²", "٣", "x", "9" * (MOST_DIGITS + 1), "9" * 5_000])
def test_what_is_no_number_or_a_too_long_one_is_as_if_it_were_not_given(text: str) -> None:
    assert number_in(text, 7) == 7


def test_a_number_is_read() -> None:
    assert number_in("0042", 7) == 42


def test_a_state_that_there_is_not_and_a_page_before_the_first_are_as_if_they_were_not_given() -> None:
    assert TaskQuery.of({"state": "<script>", "page": "0"}) == TaskQuery()
    assert TaskQuery.of({"state": "parked", "page": "3"}) == TaskQuery("parked", "", 3)


@pytest.mark.parametrize("query", [TaskQuery(), TaskQuery("parked", "/a b/&c=\u202e\"'", 3, "a=b&c")])
def test_an_address_asks_for_what_it_was_made_of(query: TaskQuery) -> None:
    assert TaskQuery.of(dict(parse_qsl(query.address().partition("?")[2]))) == query
    assert query.address().isprintable()


def test_a_repository_that_is_no_utf8_still_has_an_address() -> None:
    assert TaskQuery(repository="/a\udcff").address("/live/tasks") == "/live/tasks?repository=%2Fa%3F"
