"""The command `chaperon`: sees that the package `supervisor` is ours before anything is imported from it.

A well-known distribution, also called `supervisor`, installs a package of the same name. Three cases:

* Its package comes first on `sys.path` (ours is an editable install, or below PYTHONPATH or another site directory):
  an import of ours fails with "No module named supervisor.cli", before any code of ours could explain.
* Both were installed into one directory: the files are mixed, `supervisor/__init__.py` is whose came last, and removing
  either breaks the other.
* Ours comes first: theirs is never seen by us, and nothing is wrong.

So this module stands beside the package and not in it, and uses the standard library alone.
"""

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

OTHER = "supervisor"
"""Name of the other distribution."""

OURS = ("protocol/words.py", "cli/__main__.py")
"""Files that only our package has."""


def main() -> int:
    """Run the command line; exit 1, with what to do, where the package is not ours."""
    if trouble := foreign():
        sys.stderr.write(f"chaperon: {trouble}\n")
        return 1
    command: Callable[[], int | None] = importlib.import_module("supervisor.cli.__main__").main
    return command() or 0


def foreign() -> str:
    """Say what is wrong with the package `supervisor`, and what to do; nothing if it is ours alone."""
    spec = importlib.util.find_spec("supervisor")
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    if not places:
        return (
            f"The package 'supervisor', chaperon's own, is not installed for {sys.executable}. Install chaperon again."
        )
    if not any((place / name).is_file() for place in places for name in OURS):
        return (
            f"The package 'supervisor' in {places[0]} belongs to another distribution and hides chaperon's. "
            f"Nothing was started. {_way_out()}"
        )
    if (version := _installed_into(places[0].parent)) is not None:
        return (
            f"The distribution '{OTHER}' {version} is installed into {places[0]} too, where chaperon's package of that name is; "
            f"their files are mixed. Nothing was started. {_way_out()}"
        )
    return ""


def _installed_into(directory: Path) -> str | None:
    """Version of the other distribution if it has its package in this directory, else None."""
    for other in importlib.metadata.distributions(name=OTHER, path=[str(directory)]):
        if (other.metadata["Name"] or "").lower() == OTHER:
            return other.version
    return None


def _way_out() -> str:
    return (
        "Install chaperon into an environment of its own, for example with `pipx install .` or "
        "`uv tool install .` in its clone; the other one can stay where it is."
    )
