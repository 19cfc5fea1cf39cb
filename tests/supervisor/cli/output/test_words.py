from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.model import Reason
from supervisor.cli.output.words import MADE, clean, first_of, local, rest_of_call, short_ids, what, when
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
        ({"command": "ls\n-l\n"}, "ls ⏎ -l"),
        ({"file_path": "a.txt", "content": "x"}, "a.txt"),
        ({"odd": 1}, "{'odd': 1}"),
        ({}, ""),
        ("text", ""),
        (None, ""),
    ],
)
def test_what_an_input_is_about_is_told(given_: object, said: str) -> None:
    assert what(given_) == said


@pytest.mark.parametrize(
    ("tool", "given_", "lines"),
    [
        ("Bash", {"command": "ls -l", "description": "List", "timeout": 9}, []),
        ("Bash", {"command": "ls -l", "run_in_background": True}, ["command: ls -l", "run_in_background: true"]),
        ("Bash", {"command": "echo a\nrm -r b"}, ["command: echo a", "  rm -r b"]),
        ("Bash", {"command": "ls #\x1b[2K\u202e"}, [r"command: ls #\x1b[2K\u202e"]),
        ("Read", {"file_path": "a"}, []),
        ("Write", {"file_path": "a", "content": "b\nfile_path: c"}, ["file_path: a", "content: b", "  file_path: c"]),
        ("mcp__s__t", {"q\ncommand": ["x"]}, ["q command: [", '    "x"', "  ]"]),
        ("odd", None, []),
    ],
)
def test_all_of_a_call_is_told_that_one_line_has_not(tool: str, given_: object, lines: list[str]) -> None:
    assert rest_of_call(tool, given_) == lines


def test_a_call_without_end_is_told_as_far_as_it_is_read_and_how_much_is_not() -> None:
    lines = rest_of_call("Bash", {"command": "x" * 20_000})
    assert sum(map(len, lines[:-1])) == 8_000
    assert lines[-1] == "… and 12,009 more characters, not shown here: chaperon approvals --json"


def test_each_reason_of_a_checkpoint_has_its_words() -> None:
    assert MADE.keys() == set(Reason)


@pytest.mark.parametrize(
    ("lines", "count", "shown"),
    [
        ("", 0, []),
        ("abc", 0, ["a", "b", "c"]),
        ("abcd", 0, ["a", "b", "c", "  … and 1 more"]),
        ("abcd", 2_000, ["a", "b", "c", "  … and 1,997 more"]),
    ],
)
def test_a_list_that_is_cut_says_how_much_is_left_out(lines: str, count: int, shown: list[str]) -> None:
    assert first_of(lines, 3, count) == shown


def test_an_id_is_shown_as_short_as_it_can_be_told_apart() -> None:
    assert short_ids(["0123456789ab", "0123456789cd", "fedcba9876"]) == ["0123456789a", "0123456789c", "fedcba98"]
    assert short_ids(["same", "same"]) == ["same", "same"]
