"""JSON without limits, for the few values that the fast library refuses.

orjson writes what it can, and refuses integers over 64 bits, half surrogate pairs, and nesting deeper than 254, though
it reads nesting of 1,024, the standard library reads the other two, and a model may write any of them into a tool call.
Such values take the slow way here: no recursion, integers of any size, half pairs as escapes. Both ways give JSON that
`jq` reads; NaN and infinities, which JSON has not, become null.
"""

import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import orjson

MAX_INTEGER_DIGITS = 4300
"""Longest integer kept as an integer, in digits: CPython's own limit for text to integer, which guards against input
that costs quadratic time. A longer one is read as a float, as orjson does with any over 64 bits."""


def dumps(value: Any) -> bytes:
    """Write any value made of JSON's types, dataclasses and enumerations as one line of JSON.

    Raises:
        TypeError: Some part of the value is of another type.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return _spell(value).encode("ascii")


def loads(data: bytes) -> Any:
    """Read JSON at any depth and with integers of any size, the slow way.

    Raises:
        ValueError: The data is not JSON; the message says at which character.
    """
    return _Reader(data.decode("utf-8")).read()


class _Verbatim(str):
    """Text that is JSON already."""

    __slots__ = ()


def _spell(value: Any) -> str:
    parts: list[str] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, _Verbatim):
            parts.append(item)
        elif (scalar := _scalar(item)) is not None:
            parts.append(scalar)
        else:
            todo.extend(reversed(list(_opened(item))))
    return "".join(parts)


def _scalar(item: Any) -> str | None:
    if isinstance(item, Enum):
        item = item.value
    match item:
        case None:
            return "null"
        case bool():
            return "true" if item else "false"
        case str():
            return json.dumps(item)
        case int():
            return _integer(item)
        case float():
            return float.__repr__(item) if math.isfinite(item) else "null"
    return None


def _integer(item: int) -> str:
    try:
        return int.__repr__(item)
    except ValueError:  # over CPython's limit for integer to text: nothing that came out of JSON is
        return hex(item).join('""')


def _opened(item: Any) -> Iterator[Any]:
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        item = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    if isinstance(item, Mapping):
        yield _Verbatim("{")
        for place, (key, value) in enumerate(item.items()):
            yield _Verbatim(f"{',' if place else ''}{json.dumps(str(key))}:")
            yield value
        yield _Verbatim("}")
    elif isinstance(item, list | tuple):
        yield _Verbatim("[")
        for place, value in enumerate(item):
            if place:
                yield _Verbatim(",")
            yield value
        yield _Verbatim("]")
    else:
        raise TypeError(f"Type is not JSON serializable: {type(item).__name__}")


_STRINGS = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = (("null", None), ("true", True), ("false", False))


class _Reader:
    """Reads one value; containers under construction are a list, so depth costs memory and no stack."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str] = []

    def read(self) -> Any:
        while True:
            done, value = self._begin()
            while done:
                if not self._open:
                    self._expect_end()
                    return value
                done, value = self._place(value)

    def _begin(self) -> tuple[bool, Any]:
        """Start a value: whole for scalars and empty containers, else an open container waits for its first part."""
        sign = self._next()
        if sign == "{":
            self._at += 1
            if self._next() == "}":
                self._at += 1
                return True, {}
            self._open.append({})
            self._key()
            return False, None
        if sign == "[":
            self._at += 1
            if self._next() == "]":
                self._at += 1
                return True, []
            self._open.append([])
            return False, None
        return True, self._scalar(sign)

    def _place(self, value: Any) -> tuple[bool, Any]:
        """Put a value into the innermost container; whole when that one is closed by it."""
        container = self._open[-1]
        if isinstance(container, dict):
            container[self._keys.pop()] = value
            closing = "}"
        else:
            container.append(value)
            closing = "]"
        sign = self._next()
        self._at += 1
        if sign == closing:
            return True, self._open.pop()
        if sign != ",":
            raise self._wrong(f"',' or '{closing}'", self._at - 1)
        if closing == "}":
            self._key()
        return False, None

    def _key(self) -> None:
        if self._next() != '"':
            raise self._wrong("a key", self._at)
        key, self._at = _STRINGS.raw_decode(self._text, self._at)
        if self._next() != ":":
            raise self._wrong("':'", self._at)
        self._at += 1
        self._keys.append(key)

    def _scalar(self, sign: str) -> Any:
        if sign == '"':
            value, self._at = _STRINGS.raw_decode(self._text, self._at)
            return value
        for word, meaning in _WORDS:
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return meaning
        return self._number()

    def _number(self) -> int | float:
        found = _NUMBER.match(self._text, self._at)
        if found is None:
            raise self._wrong("a value", self._at)
        self._at = found.end()
        whole, fraction, exponent = found.groups()
        if fraction is None and exponent is None and len(whole) <= MAX_INTEGER_DIGITS:
            return int(whole)
        return float(found[0])

    def _next(self) -> str:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def _expect_end(self) -> None:
        if self._next():
            raise self._wrong("the end", self._at)

    def _wrong(self, expected: str, at: int) -> ValueError:
        found = self._text[at : at + 20] or "the end"
        return ValueError(f"expected {expected} at character {at}, found {found!r}")
