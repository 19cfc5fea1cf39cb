r"""JSON that every reader can read and no terminal obeys, whatever text went into it.

orjson writes most values. It refuses integers over 64 bits, half surrogate pairs, and nesting deeper than 254, though
it reads nesting of 1,024, the standard library reads the other two, and a model may write any of them into a tool call.
Such values take the slow way here: no recursion, and integers of any size. NaN and infinities, which JSON has not,
become null.

Half surrogate pairs stand for the bytes of a file's name that are no UTF-8 (PEP 383), or are broken text. JSON can only
write them as escapes that orjson, Rust and others refuse. So they are written as text behind a replacement character,
as in `bad\ufffd\xff`, and `loads` gives them back. Where a text has those characters by itself, its backslash is
doubled.

Characters that act instead of being shown (controls, direction marks, line separators) are written as JSON's own
escapes. So a record can be printed as it is, and every reader gets the character back.
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

_HALF = re.compile("[\ud800-\udfff]|\ufffd(?=\\\\)")
"""Characters that are escaped in a text: halves, and a replacement character before a backslash, which begins an
escape."""

_ESCAPED = re.compile(r"\ufffd\\(x[89a-f][0-9a-f]|ud[89a-f][0-9a-f]{2}|\\)")

_ESCAPES = b"\xef\xbf\xbd\\\\", b"\\ufffd\\\\"
"""How an escape begins in JSON: a replacement character, itself or escaped, and an escaped backslash."""

ACTING = (
    r"\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
"""Characters above the space that act instead of being shown, as ranges of a regular expression: Unicode's categories
Cc, Cf, Zl and Zp. A test compares them with what Python knows of Unicode."""

_ACTING = re.compile(f"[{ACTING}]")


def dumps(value: Any) -> bytes:
    """Write any value made of JSON's types, dataclasses and enumerations as one line of JSON.

    Raises:
        TypeError: Some part of the value is of another type.
    """
    return legible(_written(value, 0))


def pretty(value: Any) -> bytes:
    """Write a value over several lines, for people, with a newline at the end; raises like `dumps`.

    One that the fast library refuses is written in one line.
    """
    written = legible(_written(value, orjson.OPT_INDENT_2))
    return written + b"\n"


def loads(data: bytes) -> Any:
    """Read JSON at any depth and with integers of any size, the slow way.

    Half characters that `dumps` escaped are restored.

    Raises:
        ValueError: The data is not JSON; the message says at which character.
    """
    return _Reader(data.decode("utf-8")).read()


def decode(data: bytes) -> Any:
    """Read JSON fast, as other programs do: half characters stay escaped. Values that orjson refuses take the slow way.

    Raises:
        ValueError: The data is not JSON.
    """
    try:
        return orjson.loads(data)
    except ValueError:
        value = loads(data)
    try:
        return orjson.loads(dumps(value))
    except ValueError:  # nested deeper than it reads
        return value


def has_escapes(data: bytes) -> bool:
    """Whether JSON has half characters as `dumps` escapes them, which no other reader but `loads` gives back."""
    raw, escaped = _ESCAPES
    return (b"\xef" in data and raw in data) or escaped in data  # a fifth of the time of a pattern


def legible(data: bytes) -> bytes:
    """JSON with all characters escaped that act instead of being shown; what is no UTF-8 is replaced.

    No newline is added or removed, and every reader reads the same value as before.
    """
    if data.isascii() and b"\x7f" not in data:
        return data
    return _ACTING.sub(_as_json_escape, data.decode(errors="replace")).encode()


def readable(line: bytes) -> bytes:
    """Rewrite a line that an older version wrote with half characters, as `dumps` writes it.

    Others, and newlines, stay.
    """
    if b"\\ud" not in line:
        return line
    try:
        orjson.loads(line)
    except ValueError:
        try:
            return dumps(loads(line)) + (b"\n" if line.endswith(b"\n") else b"")
        except ValueError:
            return line
    return line


def _written(value: Any, option: int) -> bytes:
    try:
        written = orjson.dumps(value, option=option)
    except TypeError:
        return _spell(value).encode("ascii")
    return _spell(value).encode("ascii") if has_escapes(written) else written


def _as_json_escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"


def _escaped(text: str) -> str:
    """The text with what only `loads` must take for half characters in escapes."""
    return _HALF.sub(_as_escape, text)


def _as_escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == ord("\ufffd"):
        return "\ufffd\\"
    byte = code - 0xDC00
    return f"\ufffd\\x{byte:02x}" if 0x80 <= byte <= 0xFF else f"\ufffd\\u{code:04x}"


def _whole(text: str) -> str:
    """The text that `_escaped` was given."""
    return _ESCAPED.sub(_as_half, text) if "\ufffd\\" in text else text


def _as_half(found: re.Match[str]) -> str:
    escape = found[1]
    if escape == "\\":
        return "\ufffd\\"
    return chr(int(escape[1:], 16) + (0xDC00 if escape[0] == "x" else 0))


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
            return json.dumps(_escaped(item))
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
            yield _Verbatim(f"{',' if place else ''}{json.dumps(_escaped(str(key)))}:")
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
_SCALAR = re.compile(
    r"(?P<word>null|true|false)|(?P<whole>-?(?:0|[1-9][0-9]*))(?P<part>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
)
_CLOSING = {"{": "}", "[": "]"}
_WORDS = {"null": None, "true": True, "false": False}


class _Reader:
    """Reads one value; containers under construction are a list, so depth costs memory and no stack."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> Any:
        opened: list[dict[str, Any] | list[Any]] = []
        keys: list[str] = []
        while True:
            sign = self._next()
            if sign in ("{", "["):
                self._at += 1
                opened.append({} if sign == "{" else [])
                if self._next() != _CLOSING[sign]:
                    if sign == "{":
                        keys.append(self._key())
                    continue
                self._at += 1
                value: Any = opened.pop()
            else:
                value = self._scalar(sign)
            while opened:  # the value has a place, and may be the last in its container
                container = opened[-1]
                if isinstance(container, dict):
                    container[keys.pop()] = value
                else:
                    container.append(value)
                closing = "}" if isinstance(container, dict) else "]"
                if (sign := self._next()) not in (",", closing):
                    raise self._wrong(f"',' or '{closing}'")
                self._at += 1
                if sign == ",":
                    if closing == "}":
                        keys.append(self._key())
                    break
                value = opened.pop()
            else:
                if self._next():
                    raise self._wrong("the end")
                return value

    def _key(self) -> str:
        if self._next() != '"':
            raise self._wrong("a key")
        key = self._string()
        if self._next() != ":":
            raise self._wrong("':'")
        self._at += 1
        return key

    def _string(self) -> str:
        value, self._at = _STRINGS.raw_decode(self._text, self._at)
        return _whole(value)

    def _scalar(self, sign: str) -> Any:
        if sign == '"':
            return self._string()
        found = _SCALAR.match(self._text, self._at)
        if found is None:
            raise self._wrong("a value")
        self._at = found.end()
        if found["word"]:
            return _WORDS[found["word"]]
        return int(found[0]) if not found["part"] and len(found[0]) <= MAX_INTEGER_DIGITS else float(found[0])

    def _next(self) -> str:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def _wrong(self, expected: str) -> ValueError:
        found = self._text[self._at : self._at + 20] or "the end"
        return ValueError(f"expected {expected} at character {self._at}, found {found!r}")
