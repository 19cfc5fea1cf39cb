"""The reviewer's knowledge from YAML to the module that is loaded: `python -m tests.knowledge --write`; a test sees that it is current.

Nothing of the reviewer is imported here: it could not start with tables that it cannot read, and these are built anew by this.
"""

import json
import sys
from pathlib import Path
from typing import Any

from supervisor.config.yaml_tree import parse

FOLDER = Path(__file__).parent.parent / "monitors/review/knowledge"
ORDER = FOLDER / "families.yaml"
TABLES = FOLDER / "tables.py"

HEAD = '''"""The knowledge as JSON, built of the YAML files beside this module by `make docs`, and never edited.

It is a module so that it is loaded as code is: this package reads no files, and YAML would take 50 times as long.
"""

TABLES = r"""'''


def families() -> dict[str, Any]:
    """Read each family, in the order in which their rules are tried.

    Raises:
        SystemExit: The list of families is not that of the files.
    """
    order = parse(ORDER.read_text()).value
    files = {path.stem for path in FOLDER.glob("*.yaml")} - {ORDER.stem}
    if sorted(order) != sorted(files):
        raise SystemExit(f"{ORDER} and the files beside it differ: {', '.join(sorted(files ^ {*order}))}")
    return {family: parse((FOLDER / f"{family}.yaml").read_text()).value for family in order}


def built() -> str:
    """Return the module's text, an entry a line."""
    parts = ",\n".join(f"{_json(family)}:{_lines(given, 2)}" for family, given in families().items())
    return f'{HEAD}{{\n{parts}\n}}\n"""\n'


def _lines(value: Any, depth: int) -> str:
    """Write JSON with a line for each entry down to a depth."""
    if depth and isinstance(value, dict):
        return "{\n" + ",\n".join(f"{_json(key)}:{_lines(each, depth - 1)}" for key, each in value.items()) + "\n}"
    if depth and isinstance(value, list):
        return "[\n" + ",\n".join(map(_json, value)) + "\n]"
    return _json(value)


def _json(value: Any) -> str:
    """Write JSON on one line. No three quotes stand in a row in it, and each backslash is the text's own."""
    return json.dumps(value, separators=(",", ":"))


def main() -> int:
    """Write the module, or only say whether it is stale; exit 1 if it was and was not written."""
    text, write = built(), sys.argv[1:] == ["--write"]
    stale = not TABLES.is_file() or TABLES.read_text() != text
    if stale and write:
        TABLES.write_text(text)
    if stale:
        sys.stdout.write(f"{'built' if write else 'stale'}: {TABLES}\n")
    return 1 if stale and not write else 0


if __name__ == "__main__":
    sys.exit(main())
