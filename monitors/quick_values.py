"""Frozen values that are made by the thousand, made faster.

A frozen dataclass sets each field by `object.__setattr__`, which looks the field up by its name; the slot's own setter
takes less than half as long. Here the setters are called instead; everything else about the class stays as it is.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import MemberDescriptorType
from typing import Any


def make_quickly(*classes: type) -> None:
    """Set the fields of frozen dataclasses with slots by the setters of these.

    Worth it for what is made for each line or call. A class without slots of its own, as mypyc makes them, or with more
    to do at its making stays as it is.

    Args:
        classes: The dataclasses; their subclasses are not meant.
    """
    for cls in classes:
        setters = {field.name: getattr(cls, field.name, None) for field in fields(cls)}
        plain = not hasattr(cls, "__post_init__") and all(field.init for field in fields(cls))
        if plain and all(isinstance(one, MemberDescriptorType) for one in setters.values()):
            cls.__init__ = _initialiser(cls, setters)  # type: ignore[misc]


def _initialiser(cls: type, setters: Mapping[str, Any]) -> Any:
    """Return an `__init__` of the same parameters as the class has."""
    before: Any = cls.__init__  # type: ignore[misc]
    names = {f"_set_{name}": setter.__set__ for name, setter in setters.items()}
    lines = []
    for field in fields(cls):
        value = field.name
        if field.default_factory is not MISSING:
            names[f"_make_{value}"] = field.default_factory
            value = f"_make_{value}() if {value} is _unset else {value}"
        lines.append(f"    _set_{field.name}(self, {value})")
    positional = [field.name for field in fields(cls) if not field.kw_only]
    named = [field.name for field in fields(cls) if field.kw_only]
    defaults = dict(zip(reversed(positional), reversed(before.__defaults__ or ()), strict=False))
    defaults |= before.__kwdefaults__ or {}
    names["_unset"] = next((defaults[field.name] for field in fields(cls) if f"_make_{field.name}" in names), None)
    parameters = ", ".join(("self", *positional, *(("*", *named) if named else ())))
    exec("\n".join((f"def __init__({parameters}):", *lines)), names)  # noqa: S102 - of the class's own fields
    made: Any = names["__init__"]
    made.__defaults__, made.__kwdefaults__ = before.__defaults__, before.__kwdefaults__
    made.__annotations__, made.__qualname__ = before.__annotations__, before.__qualname__
    return made
