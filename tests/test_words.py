"""Texts that a person or an agent reads have the field's terms, and none of the words that only our code knows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources import PACKAGES

ROOT = Path(__file__).parent.parent

INNER = {
    "the gate": "the review of tool calls",
    "tier": "what is due at this point, said itself",
    "aftermath": "what it left behind",
    "turnstile": "too many questions at once",
    "folded": "what is known of it",
    "session core": "the daemon",
    "hook_callback": "the CLI's question",
    "asks for a word": "asks a person",
    "foreseen": "predicted",
    "stood still": "was frozen",
}
"""Words of the code, each with what a reader understands in its place."""

PATTERN = re.compile("|".join(rf"\b{word}s?\b(?!-|\.md)" for word in INNER), re.IGNORECASE)

NOT_READ = ("supervisor/testing", "supervisor/runtime/shim/frames.py")
"""Sources whose texts nobody reads: made-up input of the checks for plugins."""

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
]
"""Pages for those who use chaperon; the others are for those who change it."""


def read_texts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each constant of a module that has a space in it, docstrings left out."""
    tree = ast.parse(text)
    bodies = (getattr(node, "body", None) for node in ast.walk(tree))
    lone = {id(one.value) for body in bodies if isinstance(body, list) for one in body if isinstance(one, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in lone
            and " " in node.value
        ):
            yield node.lineno, node.value


def inner_words(text: str) -> list[str]:
    return [found[0] for found in PATTERN.finditer(text)]


def sources(place: str) -> list[Path]:
    path = ROOT / place
    found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [one for one in found if not str(one.relative_to(ROOT)).startswith(NOT_READ)]


@pytest.mark.parametrize("place", PACKAGES)
def test_no_text_that_is_read_has_a_word_that_only_the_code_knows(place: str) -> None:
    seen = {
        f"{path.relative_to(ROOT)}:{line}": words
        for path in sources(place)
        for line, text in read_texts(path.read_text())
        if (words := inner_words(text))
    }
    assert seen == {}


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted((ROOT / "supervisor" / "panel" / "static").glob("*.js"))], ids=lambda path: path.name
)
def test_no_page_for_users_has_one(page: Path) -> None:
    lines = enumerate(page.read_text().splitlines(), start=1)
    assert [(number, words) for number, line in lines if (words := inner_words(line))] == []


@pytest.mark.parametrize("word", INNER)
def test_each_word_of_the_list_would_be_found(word: str) -> None:
    assert inner_words(f"Then {word} is asked.") == [word]
    assert list(read_texts(f'x = f"Then {word} {{y}}"')) != []


def test_a_docstring_is_no_text_that_is_read() -> None:
    assert list(read_texts('"""The gate."""\nx = "a b"')) == [(2, "a b")]
