"""What the packages give to those who build on them: plugins import from these faces, and files behind them may move."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FACES = ("monitors", "interventions", "checkpoints")


@pytest.mark.parametrize("face", FACES)
def test_each_name_of_a_face_is_there_and_the_same_as_where_it_lives(face: str) -> None:
    package = importlib.import_module(face)
    tree = ast.parse((ROOT / face / "__init__.py").read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    homes = {alias.name: node.module for node in typed.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert sorted(homes) == sorted(package.__all__)
    for name, home in homes.items():
        assert getattr(package, name) is getattr(importlib.import_module(home or ""), name)


@pytest.mark.parametrize("face", FACES)
def test_a_name_that_a_face_has_not_is_an_attribute_error(face: str) -> None:
    with pytest.raises(AttributeError, match="NoSuchName"):
        getattr(importlib.import_module(face), "NoSuchName")  # noqa: B009 - mypy knows that it is not there
