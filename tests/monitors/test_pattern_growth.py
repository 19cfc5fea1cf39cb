"""No pattern of the monitors takes more than a time that grows as its text does, whatever text it is given.

The texts are made of each pattern itself: for each of its repeats a text that the repeat goes on through, and that the
pattern can begin in again and again, or that an earlier repeat can end in anywhere. What such a text takes is the
processor's time of this thread, at two lengths: a pattern that looks at each place from each other takes sixteen times
as long for four times the text.
"""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from re import _constants as words  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import monitors
from tests.monitors.test_pattern_work import LETTERS, letters

SHORT, LONG = 1_500, 6_000
"""Lengths of the texts, in characters."""
MOST_GROWTH = 8.0
"""How much longer the long text may take: four times if each place is looked at once, sixteen if from each other."""
PLAIN, PLAIN_TEXT = re.compile(r"\s{0,100}!"), "\n" * LONG
"""A repeat of 100 characters that is begun at each place: 0.17 us a character, measured beside each pattern."""
MOST = 12.0
"""How many times as long as that a pattern may take where the growth is hidden by a bound of its repeat. The dearest
takes six times as long, and `.{0,3000}` begun everywhere some hundred times."""
FLOOR = 0.0015
"""Seconds below which a text is too quickly gone through to tell its growth."""
LEAST = 40
"""Repeats of fewer characters are taken for none."""
LOOKS = 4
"""How often a pattern is looked at that seems to grow faster: a machine that did something else meanwhile does so too."""
REPEATS = (words.MAX_REPEAT, words.MIN_REPEAT, words.POSSESSIVE_REPEAT)
NO_WIDTH = (words.AT, words.ASSERT, words.ASSERT_NOT, words.GROUPREF, words.GROUPREF_EXISTS)
MOST_PATHS, MOST_TEXTS = 300, 40
EXCEPTIONS: dict[str, str] = {
    "monitors.patterns.tampering._TEST_FILE": "asked of 300 characters: 0.4 ms",
    "monitors.review.scene.agent_definitions._DEFINITION": "asked of a path, 4,096 characters at most: 0.5 ms",
    "monitors.review.languages.project.project_files._READERS": "asked of a path, 4,096 characters at most: 2 ms",
}
"""Patterns that grow faster all the same, with what they are given."""


class Found(NamedTuple):
    """A pattern, where it stands, and whether it is begun anew at each place of a text."""

    place: str
    pattern: "re.Pattern[str]"
    searched: bool


def uses() -> dict[str, set[str]]:
    """The methods that are called on each name, by module and by the modules that import it from there."""
    found: dict[str, set[str]] = {}
    for file in Path(monitors.__path__[0]).rglob("*.py"):
        module = ".".join(("monitors", *file.relative_to(monitors.__path__[0]).with_suffix("").parts))
        tree = ast.parse(file.read_text())
        imported = {
            one.asname or one.name: f"{node.module}.{one.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for one in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = node.value.id
                found.setdefault(imported.get(name, f"{module}.{name}"), set()).add(node.attr)
    return found


def patterns() -> Iterator[Found]:
    """Every pattern of a module of the monitors. Those of rules are asked of 2,048 characters at a time."""
    called, seen = uses(), set[str]()

    def within(value: object, deep: int = 0) -> Iterator["re.Pattern[str]"]:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            yield value
        elif hasattr(value, "_text") and hasattr(value, "_flags"):
            yield re.compile(value._text, value._flags)
        elif isinstance(value, dict):
            yield from (one for each in chain(value.keys(), value.values()) for one in within(each, deep + 1))
        elif isinstance(value, (tuple, list, frozenset)) and deep < 5:
            yield from (one for each in value for one in within(each, deep + 1))
        elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type) and deep < 5:
            yield from (
                one for name in value.__dataclass_fields__ for one in within(getattr(value, name, None), deep + 1)
            )

    for module in pkgutil.walk_packages(monitors.__path__, "monitors."):
        for name, value in vars(importlib.import_module(module.name)).items():
            for one in within(value):
                if one.pattern not in seen:
                    seen.add(one.pattern)
                    place = f"{module.name}.{name}"
                    methods = called.get(place, set())
                    yield Found(place, one, not methods or bool(methods - {"match", "fullmatch"}))


def paths(items: Iterable[Any]) -> list[list[Any]]:
    """The sequences of elements that a pattern stands for; one that goes on in what it looks ahead to, too."""
    made: list[list[Any]] = [[]]
    ended: list[list[Any]] = []
    for item in items:
        kind, value = item
        if kind is words.SUBPATTERN:
            inner = paths(value[3])
        elif kind is words.ATOMIC_GROUP:
            inner = paths(value)
        elif kind is words.BRANCH:
            inner = [path for branch in value[1] for path in paths(branch)]
        elif kind in REPEATS and value[1] == 1:
            inner = [[], *paths(value[2])] if value[0] == 0 else paths(value[2])
        elif kind is words.ASSERT and value[0] > 0:
            ended += [before + path for before in made for path in paths(value[1])][:MOST_PATHS]
            inner = [[]]
        else:
            inner = [[item]]
        made = [before + path for before in made for path in inner][:MOST_PATHS]
    return made + ended[:MOST_PATHS]


def of(item: Any, *, dotall: bool) -> frozenset[str]:
    """The characters that an element can match; all for one that takes none."""
    kind, value = item
    if kind is words.ANY:
        return LETTERS if dotall else LETTERS - {"\n"}
    if kind in REPEATS:
        return frozenset().union(*(of(one, dotall=dotall) for path in paths(value[2]) for one in path))
    return LETTERS if kind in NO_WIDTH else letters(item)


def chosen(allowed: frozenset[str], first: str = "a1 \n\t.-/") -> str:
    return next((letter for letter in first if letter in allowed), min(allowed, key=str.swapcase, default=""))


def matched(items: Iterable[Any], within: frozenset[str], *, dotall: bool) -> str:
    """A text that the elements match, of the characters within if they have any of these."""
    made = ""
    for item in items:
        least = item[1][0] if item[0] in REPEATS else 1
        if item[0] in NO_WIDTH or not least:
            continue
        if item[0] in REPEATS and len(item[1][2]) > 1:
            longest: list[Any] = max(paths(item[1][2]), key=len)
            made += matched(longest, within, dotall=dotall) * min(least, 30)
        elif item[0] is words.LITERAL and chr(item[1]) in within:
            made += chr(item[1])  # of which `letters` has either case
        else:
            can = of(item, dotall=dotall)
            made += chosen(can & within or can) * min(least, 50)
    return made


def texts(found: Found) -> Iterator[tuple[str, str]]:
    """Beginnings, and what is repeated behind each, that make the pattern look at the same characters many times."""
    tree = parser.parse(found.pattern.pattern, found.pattern.flags)
    dotall = bool(tree.state.flags & re.DOTALL)
    yield from (("", each) for each in ('\\"', "\\'", '"\\'))
    for path in paths(tree):
        earlier = [(-1, LETTERS)] if found.searched else []
        for at, item in enumerate(path):
            if item[0] not in REPEATS or item[1][1] < LEAST:
                continue
            mine = of(item, dotall=dotall)
            for number, others in earlier:
                both, between = mine & others, path[number + 1 : at]
                must = (one for one in between if one[0] not in NO_WIDTH and not (one[0] in REPEATS and not one[1][0]))
                if not both or any(of(one, dotall=dotall).isdisjoint(both) for one in must):
                    continue
                before = matched(path[: max(number, 0)], LETTERS, dotall=dotall)
                unit = matched(between, both, dotall=dotall)
                for first in ("a1 ", " \t\n.;-", "\n\t ", "-_/:."):
                    yield before, unit + chosen(both, first)
                    yield before + unit, chosen(both, first)
            earlier.append((at, mine))


def spent(run: Callable[[str], object], text: str) -> float:
    """Seconds of the processor that this thread takes."""
    began = time.thread_time()
    run(text)
    return time.thread_time() - began


def plainly(text: str) -> None:
    for _ in PLAIN.finditer(text):
        pass


def grows(found: Found) -> str:
    """The text for which the pattern takes too long; empty if there is none."""
    run: Callable[[str], object] = (lambda text: sum(1 for _ in found.pattern.finditer(text))) if found.searched else found.pattern.match  # fmt: skip
    for before, unit in islice(dict.fromkeys(texts(found)), MOST_TEXTS):
        if not unit:
            continue
        for end in ("\0", "\n!"):
            small, large = (before + unit * (size // len(unit)) + end for size in (SHORT, LONG))
            least = spent(run, small)
            if least * 4 < FLOOR / 4 and (least := spent(run, large) / 4) * 4 < FLOOR:
                continue
            if least * 2 > MOST * spent(plainly, PLAIN_TEXT):  # the long text would take seconds
                return before + unit
            each = [(spent(run, small), spent(run, large), spent(plainly, PLAIN_TEXT)) for _ in range(3)]
            least, most, plain = (min(times) for times in zip(*each, strict=True))
            if most > FLOOR and (most > MOST_GROWTH * least or most > MOST * plain):
                return before + unit
    return ""


def test_what_a_pattern_takes_grows_as_its_text_does() -> None:
    found = [one for one in patterns() if one.place not in EXCEPTIONS]
    assert len(found) > 600
    suspected = [one for one in found if grows(one)]
    assert {f"{one.place}: {grows(one)!r}" for one in suspected if all(grows(one) for _ in range(LOOKS))} == set()


def test_the_check_knows_patterns_that_grow_faster() -> None:
    for bad in (
        r"\s*\n!",
        r".*x",
        r"a.*b",
        r"\w+:",
        r"(?:exec|eval)\([^;]{0,3000}?!",
        r"\A\d*\d*x",
        r"\Aa(?=.*b.*c)",
        r'"(?:[^"\\]|\\.)*"!',
    ):
        assert grows(Found("", re.compile(bad), searched=True)), bad
    for fine in (r"\s++", r"\A.*x", r"\bexec\(.{0,40}?x", r"(?<!\w)\w+:", r"a[^a]*b", r'(?<!\\)"(?:[^"\\]|\\.)*"'):
        assert not grows(Found("", re.compile(fine), searched=True)), fine


def test_a_pattern_that_is_matched_alone_is_begun_at_one_place() -> None:
    assert not grows(Found("", re.compile(r"\w+:"), searched=False))
    assert grows(Found("", re.compile(r"\s*\w*\s*\w*!"), searched=False))
