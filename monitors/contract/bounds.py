"""The types of settings that a user may choose.

Each bears its bounds, and is declared once, beside the code that reads it.

A dataclass of settings gives such a type to each field that is a key of the configuration; a field with a plain type is
none. `supervisor.config.sections.embedded` makes the sections of the configuration from these dataclasses.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le


@dataclass(frozen=True, slots=True)
class Key:
    """Marks a field of settings as a key of the configuration."""

    check: Callable[[Any], Any] | None = None
    """Return the value to take; raises ValueError, with a sentence for the user, if there is none."""
    switches: bool = False
    """Whether the section may be written as `true` or `false` alone, which then stands for this key."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Marks a field that holds settings of another section; it makes no section here."""

    section: str
    """The key of that section. Example: `progress`."""


def is_expression(value: str) -> str:
    """Return a regular expression as it is; raises ValueError if it is none."""
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from None
    return value


def is_argument(value: str) -> str:
    """Return a program's argument as it is; raises ValueError if the kernel takes no such one."""
    if "\0" in value:
        raise ValueError("it has a NUL character, which no program can be given")
    return value


Flag = Annotated[bool, Key()]
"""True or false."""

Switch = Annotated[bool, Key(switches=True)]
"""True or false, and the short form of the whole section."""

Count = Annotated[int, Key(), Ge(1), Le(1_000_000_000)]
"""At least one."""

Share = Annotated[float, Key(), Ge(0), Le(1)]
"""A part of a whole, 0 to 1."""

Seconds = Annotated[float, Key(), Gt(0), Le(86_400)]
"""A wait: longer than nothing, at most a day, since a longer one is a slip of the unit."""

Pause = Annotated[float, Key(), Ge(0), Le(86_400)]
"""A wait that may be nothing."""

Days = Annotated[int, Key(), Ge(1), Le(36_500)]
"""How long something is kept."""

Text = Annotated[str, Key()]
"""One text."""

Argument = Annotated[str, Key(check=is_argument)]
"""A text that a program is given."""

Texts = Annotated[tuple[str, ...], Key()]
"""A list of texts."""
