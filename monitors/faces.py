"""Names of a package, each looked up in its module at its first use.

A command that needs one name of a package loads little of it.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, see PEP 562.

    Args:
        package: Its name.
        homes: The names that each module gives to it.
    """

    def find(name: str) -> Any:
        for home, names in homes.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
