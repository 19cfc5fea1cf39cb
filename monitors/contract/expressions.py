"""Regular expressions that are compiled when they are first used.

The reviewer has 460, of which one review uses some sixteen. To compile all takes 70 ms of processor time, which
`chaperon explain` pays each time; modules whose expressions take most of that have them compiled late.
"""

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")


class _Later:
    """Stands for a compiled expression, and becomes it at the first use.

    Its methods are then attributes of the instance, so that a call costs what one of the compiled expression costs.
    """

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Later, (self._text, self._flags)


def later(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled at its first use; one that is wrong raises re.error there."""
    return cast("re.Pattern[str]", _Later(text, flags))
