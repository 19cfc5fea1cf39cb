"""The tests of `make test-quick` are those of a loop: no real CLI, no browser, no daemon killed over and over."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

LEFT_OUT = ("slow", "real_cli")
"""The markers of what `make test-quick` leaves out."""

FOLDERS = re.findall(r"^LONG = (.*)$", (TESTS.parent / "Makefile").read_text(), re.MULTILINE)[0].split()
"""Folders that `make test-quick` does not even read."""

LONG = sorted(path for folder in FOLDERS for path in (TESTS / folder).rglob("test_*.py"))
"""Modules whose tests run whole programs."""


def marked(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in LEFT_OUT for part in ast.walk(node))


def quick(module: str) -> list[str]:
    """The tests of a module that have neither marker, and get none from it."""
    body = ast.parse(module).body
    if any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark" and marked(node) for node in body):  # fmt: skip
        return []
    tests = [node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")]  # fmt: skip
    return [test.name for test in tests if not any(marked(decorator) for decorator in test.decorator_list)]


@pytest.mark.parametrize("path", LONG, ids=lambda path: str(path.relative_to(TESTS)))
def test_nothing_that_runs_whole_programs_is_in_the_way_of_a_loop(path: Path) -> None:
    assert quick(path.read_text()) == []


def test_a_test_without_a_marker_is_seen() -> None:
    assert quick("@pytest.mark.slow\ndef test_a(): ...\nasync def test_b(): ...\n") == ["test_b"]
    assert quick("pytestmark = [pytest.mark.timeout(9), pytest.mark.real_cli]\ndef test_a(): ...\n") == []
