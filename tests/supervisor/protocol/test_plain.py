import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.plain import harmless
from tests.support import acting


@given(st.text(st.characters(exclude_categories=())))
def test_no_character_that_acts_comes_through_and_none_is_lost(text: str) -> None:
    shown = harmless(text)
    assert acting(shown) <= {"\n", "\t"}
    shown.encode()
    assert shown == text or len(shown) > len(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b2J", "\\x9b2J"),
        ("a\rb", "a\\x0db"),
        ("a\u202eb", "a\\u202eb"),
        ("bad\udcff", "bad\\xff"),
        ("half \ud83d", "half \\ud83d"),
        ("\U000e0041", "\\ue0041"),
        ("two\nlines\tand ä 🙂", "two\nlines\tand ä 🙂"),
    ],
)
def test_what_acts_is_spelled_out(text: str, shown: str) -> None:
    assert harmless(text) == shown
