import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol import anyjson

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**60), max_value=10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=()))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner, max_size=5)
    ),
    max_leaves=20,
)


def nested(depth: int, kind: str) -> Any:
    value: Any = None
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


@given(VALUES)
def test_what_is_written_is_read_back_equal(value: Any) -> None:
    assert anyjson.loads(anyjson.dumps(value)) == value


@given(VALUES)
def test_what_is_written_is_one_line_that_the_standard_library_reads_as_the_same(value: Any) -> None:
    written = anyjson.dumps(value)
    assert b"\n" not in written
    assert json.loads(written) == value


@given(st.text(alphabet='{}[],:"\\ 0123456789.eE-+truefalsnu\n', max_size=30))
def test_it_accepts_exactly_what_the_standard_library_accepts(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            anyjson.loads(text.encode())
    else:
        assert anyjson.loads(text.encode()) == expected


@pytest.mark.parametrize("depth", [254, 255, 1024, 100_000])
@pytest.mark.parametrize("kind", ["list", "dict"])
def test_depth_costs_no_stack(depth: int, kind: str) -> None:
    written = anyjson.dumps(nested(depth, kind))
    read = anyjson.loads(written)
    for _ in range(depth):
        read = read[0] if kind == "list" else read["a"]
    assert read is None


def test_whatever_orjson_reads_can_be_written() -> None:
    deepest = orjson.loads(b"[" * 1024 + b"]" * 1024)
    assert anyjson.dumps(deepest) == b"[" * 1024 + b"]" * 1024


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_become_null_on_both_ways(value: float) -> None:
    assert anyjson.dumps([value]) == b"[null]"
    assert anyjson.dumps([value, 10**30]) == b"[null,1" + b"0" * 30 + b"]"


def test_another_type_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="set"):
        anyjson.dumps({"a": {1}})
