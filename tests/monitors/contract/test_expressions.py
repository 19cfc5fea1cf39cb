"""Expressions that are compiled at their first use."""

import gc
import pickle
import re
from importlib import import_module
from pathlib import Path

import pytest

import monitors
from monitors.contract.expressions import later


def uses_it(path: Path) -> bool:
    return "import later" in path.read_text()


LATE = [
    ".".join(path.relative_to(Path(monitors.__path__[0]).parent).with_suffix("").parts)
    for path in sorted(Path(monitors.__path__[0]).rglob("*.py"))
    if uses_it(path)
]


def test_an_expression_is_what_it_would_be_if_it_were_compiled_at_once() -> None:
    late, at_once = later(r"a(?P<n>b+)", re.IGNORECASE), re.compile(r"a(?P<n>b+)", re.IGNORECASE)
    text = "xABBy ab"
    assert late.findall(text) == at_once.findall(text)
    assert [found.span() for found in late.finditer(text)] == [found.span() for found in at_once.finditer(text)]
    assert late.sub(r"<\g<n>>", text) == at_once.sub(r"<\g<n>>", text)
    assert late.split(text) == at_once.split(text)
    assert (late.pattern, late.flags, late.groups) == (at_once.pattern, at_once.flags, at_once.groups)
    assert late.fullmatch("abb") is not None
    assert late.match("b") is None


def test_nothing_is_compiled_before_the_first_use() -> None:
    wrong = later("(")
    with pytest.raises(re.error):
        wrong.search("x")


def test_an_expression_that_was_used_can_be_sent_to_another_process() -> None:
    late = later("a+")
    assert late.search("caat") is not None
    found = pickle.loads(pickle.dumps(late)).search("caat")
    assert found.group() == "aa"


def test_every_expression_that_is_compiled_late_can_be_compiled() -> None:
    assert LATE
    for name in LATE:
        import_module(name)
    kind = type(later(""))
    there = [one for one in gc.get_objects() if type(one) is kind]
    assert len(there) > 20 * len(LATE) / 2
    for one in there:
        if one.__dict__["_text"] != "(":
            assert one.pattern == one.__dict__["_text"]
