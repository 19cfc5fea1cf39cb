import ast
import re
from pathlib import Path

import pytest

from tests import docs

ROOT = Path(__file__).parent.parent

LISTING = ("supervisor/protocol", "supervisor/config", "supervisor/rehearsal", "interventions/recovery")
"""Packages whose docstring lists their modules, each on a line of its own."""


def test_every_drawn_part_is_current() -> None:
    assert sorted(docs.stale()) == [], "draw them with: make docs"


def test_only_what_stands_between_the_markers_is_drawn_anew() -> None:
    section = docs.Section("f", "n", lambda: "new\n")
    text = "a\n<!-- n: by hand -->\nold\n<!-- /n -->\nb\n"
    drawn = docs.redrawn(text, section)
    assert drawn == "a\n<!-- n: by hand -->\n\nnew\n\n<!-- /n -->\nb\n"
    assert docs.redrawn(drawn, section) == drawn


@pytest.mark.parametrize("text", ["", "<!-- n: x -->", "<!-- /n --><!-- n: x -->", "<!-- n: --><!-- n: --><!-- /n -->"])
def test_a_file_without_its_markers_is_an_error(text: str) -> None:
    with pytest.raises(docs.MarkerError, match="needs one"):
        docs.redrawn(text, docs.Section("f", "n", lambda: ""))


@pytest.mark.parametrize("package", LISTING)
def test_a_package_that_lists_its_modules_lists_all_of_them(package: str) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text())) or ""
    modules = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
    assert set(re.findall(r"^(\w+)  +\S", docstring, re.MULTILINE)) == modules
