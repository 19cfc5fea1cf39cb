"""Expressions that are compiled at their first use."""

import gc
import pickle
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import monitors
from monitors.contract.expressions import later, sought


def uses_it(path: Path) -> bool:
    return "expressions import " in path.read_text()


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
    gc.unfreeze()  # else what was imported as tests were collected is not among them
    there = [one for one in gc.get_objects() if type(one) is kind]
    assert len(there) >= len(LATE)
    for one in there:
        if one.__dict__["_text"] != "(":
            assert one.pattern == one.__dict__["_text"]


def test_an_expression_with_words_is_asked_only_of_texts_that_have_one() -> None:
    found = sought(r"\b(?:rm|unlink)\(\s?(\w+)", "rm unlink")
    for text in ("rm(a) unlink( b)", "rmdir", "nothing", ""):
        at_once = re.compile(r"\b(?:rm|unlink)\(\s?(\w+)")
        assert found.findall(text) == at_once.findall(text)
        assert [one.span() for one in found.finditer(text)] == [one.span() for one in at_once.finditer(text)]
        assert found.sub("x", text) == at_once.sub("x", text)
        assert (found.search(text) is None) == (at_once.search(text) is None)
    assert sought("(?:PUT|post)", "put post", re.IGNORECASE).search("a Post") is not None
    assert pickle.loads(pickle.dumps(found)).findall("rm(a)") == ["a"]


def has_one(parsed: Any, words: tuple[str, ...], *, folds: bool) -> bool:
    """Whether one of the words stands in whatever a parsed expression matches."""
    run = ""
    for code, value in [*parsed, (None, None)]:
        name = str(code)
        if name == "LITERAL":
            run += chr(value).lower() if folds else chr(value)
            continue
        if name == "ASSERT" and value[0] < 0 and all(str(kind) == "LITERAL" for kind, _ in value[1]):
            run = run or "".join(chr(letter) for _, letter in value[1])  # it stands right before what follows
            continue
        if any(word in run for word in words):
            return True
        run = ""
        if name == "SUBPATTERN" and has_one(value[3], words, folds=folds):
            return True
        if name == "BRANCH" and all(has_one(way, words, folds=folds) for way in value[1]):
            return True
        if name in ("MAX_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0 and has_one(value[2], words, folds=folds):
            return True
    return False


WITH_WORDS = [
    pytest.param(each, id=name)
    for module in LATE
    for name, each in vars(import_module(module)).items()
    if type(each).__name__ == "_Sought"
]


@pytest.mark.parametrize("each", WITH_WORDS)
def test_whatever_an_expression_with_words_matches_has_one_of_them(each: Any) -> None:
    parsed = import_module("re._parser").parse(each.pattern, each.flags)
    assert has_one(parsed, each.words, folds=bool(each.flags & re.IGNORECASE))
