"""A public class name means one thing."""

import ast
from collections import defaultdict

from tests.sources import ROOT, sources

TWICE: dict[str, str] = {}
"""Names that two classes have, each with the reason."""


def test_no_public_class_name_is_used_twice() -> None:
    found = defaultdict(list)
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(ROOT)))
    assert len(found) > 500
    assert {name: paths for name, paths in found.items() if len(paths) > 1 and name not in TWICE} == {}
