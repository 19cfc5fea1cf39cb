"""The memory of an object, followed through containers, slots and attributes."""

import sys
from collections import deque
from types import FunctionType, ModuleType

_SHARED = (type, ModuleType, FunctionType)


def held_by(*roots: object) -> int:
    """Return the bytes of all objects that can be reached from here.

    Shared ones (types, functions, modules) are left out.
    """
    seen: set[int] = set()
    waiting: list[object] = list(roots)
    total = 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _SHARED):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        waiting += _parts(one)
    return total


def _parts(one: object) -> list[object]:
    if isinstance(one, str | bytes | int | float | None):
        return []
    if isinstance(one, dict):
        return [*one.keys(), *one.values()]
    parts: list[object] = list(one) if isinstance(one, list | tuple | set | frozenset | deque) else []
    slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
    parts += [getattr(one, name) for name in slots if hasattr(one, name)]
    parts += list(getattr(one, "__dict__", {}).values())
    closure = getattr(one, "__closure__", None) or ()
    return [*parts, *(cell.cell_contents for cell in closure)]
