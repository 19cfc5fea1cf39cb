"""Docstrings of the product begin with a verb or a noun of the field, and fit the page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources import PACKAGES

ROOT = Path(__file__).parent.parent

WIDTH = 120
RELATIVE = re.compile(r"(?:What|Who|Whoever|Whom|Whose|Where|Wherever|Whatever|Which)\b")
"""A relative clause as a subject: the reader learns what is spoken of only when the sentence ends."""
RIDDLE = re.compile(r"\b(?:nobody|somebody|anybody|whoever|keeper|foretold|foreseen|stands? still|standing still)\b")
"""Words for which the field has terms: no process, a person, any user, the caller, manager, predicted, frozen."""


def docstrings(text: str) -> Iterator[ast.Expr]:
    """Docstrings, those below fields and constants among them."""
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str())):
                    yield statement


def faults(text: str) -> list[str]:
    """The faults of a module's docstrings, each with its line."""
    lines, seen = text.split("\n"), []
    for docstring in docstrings(text):
        assert isinstance(docstring.value, ast.Constant)
        if RELATIVE.match(str(docstring.value.value).strip()):
            seen.append(f"{docstring.lineno}: begins with a relative clause: {lines[docstring.lineno - 1].strip()}")
        if riddle := RIDDLE.search(str(docstring.value.value)):
            seen.append(f"{docstring.lineno}: says {riddle[0]!r}")
        numbers = range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1)
        seen += [f"{number}: {len(lines[number - 1])} columns" for number in numbers if len(lines[number - 1]) > WIDTH]
    return seen


def modules(place: str) -> list[Path]:
    path = ROOT / place
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


@pytest.mark.parametrize("place", PACKAGES)
def test_docstrings_begin_with_a_verb_or_noun_and_fit_the_page(place: str) -> None:
    assert modules(place)
    seen = {str(path.relative_to(ROOT)): faults(path.read_text()) for path in modules(place)}
    assert {path: wrong for path, wrong in seen.items() if wrong} == {}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('"""What a run costs."""', True),
        ('"""Cost of a run."""', False),
        ('x = 1\n"""Who asks."""', True),
        ('def f():\n    """Return it.\n\n    ' + "a" * 117 + '\n    """', True),
        ('def f():\n    """Whether it is so."""', False),
        ('"""A run that nobody watches."""', True),
    ],
)
def test_a_fault_of_a_docstring_is_seen(text: str, wrong: bool) -> None:
    assert bool(faults(text)) is wrong
