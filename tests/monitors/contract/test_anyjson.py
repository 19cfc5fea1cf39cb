import json
import math
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from monitors.contract import anyjson
from tests.support import acting

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


def strings(value: Any) -> Iterator[str]:
    """Every text in a value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *strings(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def has_half_characters(value: Any) -> bool:
    return any(
        unicodedata.category(character) == "Cs" or "\ufffd\\" in text for text in strings(value) for character in text
    )


def escaped(value: Any) -> bool:
    return any("\ufffd\\" in text for text in strings(value))


def approximately(found: Any, value: Any) -> bool:
    """Equal but for integers over 64 bits, which fast readers take as floats."""
    if isinstance(value, int) and not isinstance(value, bool):
        return bool(found == pytest.approx(value))
    if isinstance(value, dict):
        return found.keys() == value.keys() and all(approximately(found[key], value[key]) for key in value)
    if isinstance(value, list):
        return len(found) == len(value) and all(map(approximately, found, value))
    return bool(found == value)


def nested(depth: int, kind: str) -> Any:
    value: Any = None
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


@given(VALUES)
def test_what_is_written_is_read_back_equal(value: Any) -> None:
    assert anyjson.loads(anyjson.dumps(value)) == value


@given(VALUES)
def test_what_is_written_is_one_line_that_every_reader_of_json_reads_as_the_same(value: Any) -> None:
    written = anyjson.dumps(value)
    assert b"\n" not in written
    for read in (json.loads, orjson.loads, from_json):
        found = read(written)
        assert escaped(found) if has_half_characters(value) else approximately(found, value)


@given(VALUES)
def test_what_is_written_holds_nothing_that_a_terminal_acts_upon(value: Any) -> None:
    for written in (anyjson.dumps(value), anyjson.pretty(value)):
        assert acting(written.decode()) <= {"\n"}


@given(VALUES)
def test_what_is_written_over_several_lines_is_read_back_equal(value: Any) -> None:
    assert anyjson.loads(anyjson.pretty(value)) == value


@given(st.text(alphabet="\ufffd\\xu0d8fc\udcff\ud800\U0001f600"))
def test_half_characters_and_what_looks_like_their_escapes_are_told_apart(text: str) -> None:
    written = anyjson.dumps({text: [text]})
    assert anyjson.loads(written) == {text: [text]}
    assert anyjson.has_escapes(written) == escaped(orjson.loads(written))


def test_a_byte_of_a_file_name_that_is_no_character_is_shown_as_that_byte() -> None:
    assert orjson.loads(anyjson.dumps("bad\udcff")) == "bad\ufffd\\xff"
    assert orjson.loads(anyjson.dumps("half \ud83d")) == "half \ufffd\\ud83d"


def test_the_characters_that_are_escaped_are_those_of_unicode_that_act_instead_of_being_shown() -> None:
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]))
    # Those below the space are escaped by every writer of JSON.
    assert acting(anyjson.legible(everything.encode()).decode()) <= set(map(chr, range(0x20)))


@given(st.binary(max_size=40))
def test_bytes_that_are_no_text_are_made_legible_too(data: bytes) -> None:
    anyjson.legible(data).decode()


@pytest.mark.parametrize("line", [b'{"a":"\\udcff"}', b'{"a":"\\ud83d","b":1}'])
def test_a_line_of_an_older_version_that_few_can_read_is_made_one_that_all_can(line: bytes) -> None:
    with pytest.raises(ValueError):
        orjson.loads(line)
    made = anyjson.readable(line)
    assert anyjson.loads(made) == anyjson.loads(line)
    assert escaped(orjson.loads(made))
    assert anyjson.readable(line + b"\n") == made + b"\n"


@pytest.mark.parametrize(
    "line", [b'{"a":"b"}', b'{"a":"\\ud83d\\ude00"}', b"no JSON", b'{"a":"\\udcff"', b"\xff\xfe", b""]
)
def test_a_line_that_is_fine_or_no_json_at_all_stays_what_it_is(line: bytes) -> None:
    assert anyjson.readable(line) == line


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
