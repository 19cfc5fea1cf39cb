"""The product's sources, for tests that read all of them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

_WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]

PACKAGES: tuple[str, ...] = tuple(_WHEEL["packages"])
"""The top packages, as the wheel has them."""


def sources() -> list[Path]:
    """Return every module of the product."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
