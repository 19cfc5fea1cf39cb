import ast
import re
from pathlib import Path

import pytest

from tests import docs
from tests.sources import sources

ROOT = Path(__file__).parent.parent

FOLDERS = sorted(str(path.parent.relative_to(ROOT)) for path in sources() if path.name == "__init__.py")
"""Each folder's docstring is its map: what the folder is, then a line for each module and folder in it."""

PAGES = [
    Path("README.md"),
    Path("AGENTS.md"),
    *sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")),
]
DRAWN = re.compile(r"^<!-- (\w+): drawn.*?^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

UNLISTED = {
    "supervisor/testing": "its docstring is for the authors of plugins, and lists the checks",
}


def test_every_drawn_part_is_current() -> None:
    assert sorted(docs.stale()) == [], "draw them with: make docs"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_prose_is_at_most_120_columns_wide(page: Path) -> None:
    prose = FENCE.sub("", DRAWN.sub("", (ROOT / page).read_text()))
    wide = [line for line in prose.splitlines() if len(line) > 120 and not line.startswith(("|", "    "))]
    assert wide == []


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


@pytest.mark.parametrize("package", sorted({*FOLDERS} - UNLISTED.keys()))
def test_the_map_of_a_folder_lists_all_that_is_in_it(package: str) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text())) or ""
    modules = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
    folders = {f"{path.parent.name}/" for path in (ROOT / package).glob("*/__init__.py")}
    listed = set(re.findall(r"^(\w+/?)  +\S", docstring, re.MULTILINE))
    assert listed - {"__main__"} == (modules | folders) - {"__main__"}


def test_each_place_that_the_architecture_names_for_a_new_part_is_there() -> None:
    text = " ".join((ROOT / "docs/explanation/architecture.md").read_text().split())
    named = re.findall(r"`(\w+)` in `([\w./]+\.py)`", text)
    assert len(named) > 15
    assert [each for each in named if not re.search(rf"\b{each[0]}\b", (ROOT / each[1]).read_text())] == []
    paths = set(re.findall(r"`((?:tests|supervisor|monitors|interventions|checkpoints|host)/[\w./]+)`", text))
    assert [path for path in sorted(paths) if "NAME" not in path and not (ROOT / path).exists()] == []
