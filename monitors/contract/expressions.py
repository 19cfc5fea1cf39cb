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


class _Sought(_Later):
    """The same, asked only of texts that have one of its words."""

    def __init__(self, text: str, flags: int, words: tuple[str, ...]) -> None:
        super().__init__(text, flags)
        self.words = words

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        if name not in ("search", "finditer", "findall", "sub"):
            return getattr(compiled, name)
        words, folds = self.words, bool(self._flags & re.IGNORECASE)

        def has(text: str) -> bool:
            text = text.lower() if folds else text
            for word in words:  # noqa: SIM110 — a loop, for this is asked of most words of a command
                if word in text:
                    return True
            return False

        self.search = lambda text: compiled.search(text) if has(text) else None
        self.finditer = lambda text: compiled.finditer(text) if has(text) else iter(())
        self.findall = lambda text: compiled.findall(text) if has(text) else []
        self.sub = lambda by, text: compiled.sub(by, text) if has(text) else text
        return getattr(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Sought, (self._text, self._flags, self.words)


def sought(text: str, words: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled at its first use, and asked of no text without one of its words.

    An expression of many alternatives tries each of them at each character: 7 ms for 20,000 characters. To look for the
    words that these begin with takes a hundredth of that.

    Args:
        text: The expression.
        words: One of them stands in whatever it matches; between blanks. In lower case if case does not count.
        flags: As of `re.compile`.
    """
    return cast("re.Pattern[str]", _Sought(text, flags, tuple(words.split())))


def up_to_next(head: str, character: str, most: int) -> str:
    """Return an expression for a head with what may follow it, but for another head.

    What lies behind that is found from there, so each character is gone over once. Without it, a text of nothing but
    heads is gone over from each of them: `exec(` 12,000 times took 70 ms.

    Args:
        head: An expression without groups that are asked for.
        character: An expression for one character that may follow.
        most: The number of those that are gone over.
    """
    return f"(?:{head})(?:(?!{head}){character}){{0,{most}}}?"


def later(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled at its first use; one that is wrong raises re.error there."""
    return cast("re.Pattern[str]", _Later(text, flags))
