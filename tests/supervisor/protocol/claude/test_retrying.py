from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.claude.messages import parse
from supervisor.protocol.claude.retrying import Retrying
from tests.support import recorded

ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=200) | st.lists(st.none(), max_size=2)
)


def test_what_the_real_cli_says_is_read() -> None:
    found = [message for line in recorded("overloaded") if isinstance(message := parse(line), Retrying)]
    assert [one.sentence for one in found] == [
        "the API is overloaded (529): retry 1 of 10 in 0.0 s",
        "the API limits the rate (429): retry 2 of 10 in 0.0 s",
        "the API cannot be reached: retry 3 of 10 in 0.0 s",
    ]


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"error_status": None, "retry_delay_ms": 4418}, "the API cannot be reached: retry 4 of 10 in 4.4 s"),
        ({"error_status": 500}, "the API answers with an error (500): retry 4 of 10 in 0.0 s"),
        ({"error_status": 503, "max_retries": None}, "the API is overloaded (503): retry 4 in 0.0 s"),
    ],
)
def test_the_cause_the_try_and_the_delay_are_told(facts: dict[str, Any], sentence: str) -> None:
    frame = {"type": "system", "subtype": "api_retry", "attempt": 4, "max_retries": 10, **facts}
    assert Retrying.of(frame).sentence == sentence


@given(
    st.dictionaries(st.sampled_from(["attempt", "max_retries", "retry_delay_ms", "error_status", "error"]), ANYTHING)
)
def test_a_frame_of_another_shape_is_a_retry_all_the_same(facts: dict[str, Any]) -> None:
    assert Retrying.of({"type": "system", "subtype": "api_retry", **facts}).sentence
    assert isinstance(parse(orjson.dumps({"type": "system", "subtype": "api_retry", "attempt": []})), Retrying)
