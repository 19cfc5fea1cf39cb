"""An evaluator of constants for Python: the values of expressions, as far as the text decides them.

It never runs anything: it knows texts, numbers, lists, paths of the file system, names of modules and functions, and a
few pure operations on them. Whatever else there is stays unknown.
"""

import ast
import base64
import binascii
import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from monitors.review.shell.secret_names import mark, secret_variable

MAX_TEXT = 4_000
"""Longest text worked with, in characters; a command or a path is shorter."""
MAX_ITEMS = 60
"""Most items of a list worked with."""
MAX_DEPTH = 40
"""Deepest nesting of an expression gone into."""


class _Unknown:
    """A value that the text does not decide."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
HOLE = "$UNKNOWN"
"""Stands for what is not known within a text."""


@dataclass(frozen=True, slots=True)
class Name:
    """A module, or what is in one. Example: `shutil.rmtree`."""

    path: str

    @property
    def owner(self) -> str:
        """The last part of what it is in."""
        return self.path.rpartition(".")[0].rpartition(".")[2]

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Local:
    """A function that the code itself defines."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a value."""

    of: "Value"
    name: str


@dataclass(frozen=True, slots=True)
class PartialFunction:
    """A function with its first operands filled in."""

    function: "Value"
    operands: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that is open for writing."""

    path: str


@dataclass(frozen=True, slots=True)
class OtherProcess:
    """A process by what it is to the code: `parent`, or `every`."""

    which: str


Value = str | bytes | int | bool | _Unknown | Name | Local | Method | PartialFunction | OpenFile | OtherProcess | tuple["Value", ...] | None  # fmt: skip
Names = Mapping[str, Value]


def text_of(value: Value) -> str | None:
    """The value as a text; None if it is none, or not known at all."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None


def partly(value: Value) -> str:
    """The value as a part of a longer text."""
    text = text_of(value)
    return HOLE if text is None else text


def secret_of(value: Value) -> str:
    """Return the name of the variable, named as a secret, whose value is in this one; empty if there is none."""
    if isinstance(value, tuple):
        return next((name for each in value[:MAX_ITEMS] if (name := secret_of(each))), "")
    text = text_of(value) if isinstance(value, (str, bytes)) else None
    return secret_variable(text) if text and "${" in text else ""


def cut(text: str) -> Value:
    """The text, if it is not too long to work with."""
    return text if len(text) <= MAX_TEXT else UNKNOWN


def binary(operator: ast.operator, left: Value, right: Value) -> Value:
    """The value of `left + right` and its like."""
    if isinstance(operator, ast.Div) and (isinstance(left, str) or isinstance(right, str)):
        return joined([left, right])
    if isinstance(operator, ast.Mod) and isinstance(left, str):
        return formatted(left, right if isinstance(right, tuple) else (right,))
    if isinstance(operator, ast.Add):
        return _added(left, right)
    if isinstance(operator, ast.Mult) and isinstance(left, str) and isinstance(right, int):
        return cut(left * max(0, min(right, MAX_TEXT)))
    if isinstance(operator, (ast.Sub, ast.Mult, ast.BitXor)) and isinstance(left, int) and isinstance(right, int):
        if max(abs(left), abs(right)) > 1 << 32:
            return UNKNOWN
        return left - right if isinstance(operator, ast.Sub) else left * right if isinstance(operator, ast.Mult) else left ^ right  # fmt: skip
    return UNKNOWN


def _added(left: Value, right: Value) -> Value:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return (left + right)[:MAX_ITEMS]
    if isinstance(left, bytes) and isinstance(right, bytes):
        return (left + right)[:MAX_TEXT]
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, str) or isinstance(right, str):
        return cut(partly(left) + partly(right))
    return UNKNOWN


def joined(parts: Sequence[Value]) -> Value:
    """The path that `os.path.join` and `/` make; `{}` stands for a part that is not known."""
    made = ""
    for index, part in enumerate(parts):
        text = text_of(part)
        if text is None and not index:
            return UNKNOWN
        text = "{}" if text is None else text
        made = (
            text
            if text[:1] in "/~" and text
            else f"{made.rstrip('/')}/{text}"
            if made not in ("", "/")
            else made + text
        )
    return cut(made)


def formatted(form: str, values: Sequence[Value]) -> Value:
    """The text of `form % values`, for texts and numbers."""
    pieces = form.replace("%%", "\0").split("%")
    rest = list(values)
    made = pieces[0]
    for piece in pieces[1:]:
        after = piece.lstrip("-+ 0123456789.")[1:]
        made += partly(rest.pop(0) if rest else UNKNOWN) + after
    return cut(made.replace("\0", "%"))


def placed(form: str, values: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """The text of `form.format(*values, **named)`."""
    made, at, number = "", 0, 0
    while at < len(form):
        start = form.find("{", at)
        end = form.find("}", start)
        if start < 0 or end < 0:
            break
        if form[start : start + 2] == "{{":
            made, at = made + form[at : start + 1], start + 2
            continue
        name = form[start + 1 : end].partition(":")[0].partition("!")[0]
        found: Value = named.get(name, UNKNOWN)
        if not name or name.isdecimal():
            index = int(name) if name and len(name) < 4 else number
            found = values[index] if index < len(values) else UNKNOWN
            number += 1
        made, at = made + form[at:start] + partly(found), end + 1
    return cut((made + form[at:]).replace("}}", "}"))


# ── methods of texts, and functions that are pure ─────────────────────────────────────────────────────────────────

_TEXT_METHODS: Mapping[str, Callable[[str], str]] = {
    "strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip, "lower": str.lower, "upper": str.upper,
    "title": str.title, "casefold": str.casefold, "swapcase": str.swapcase, "expanduser": str, "resolve": str,
    "absolute": str, "as_posix": str, "__str__": str,
}  # fmt: skip


def method(of: Value, name: str, values: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """The value of a call of a pure method; UNKNOWN for others."""
    if isinstance(of, bytes):
        known = name == "decode" or (name == "hex" and secret_of(of))
        return of.decode("utf-8", "replace")[:MAX_TEXT] if known else UNKNOWN
    if not isinstance(of, str):
        return UNKNOWN
    texts = [text_of(value) for value in values]
    if name in _TEXT_METHODS and not values:
        return _TEXT_METHODS[name](of)
    if name == "join" and len(values) == 1 and isinstance(values[0], tuple):
        return cut(of.join(partly(value) for value in values[0]))
    if name == "format":
        return placed(of, values, named)
    if name == "decode" and secret_of(of):
        return of
    if name == "encode":
        return of.encode("utf-8", "replace")
    if name == "replace" and len(texts) >= 2 and texts[0] and texts[1] is not None:
        return cut(of.replace(texts[0], texts[1]))
    if name in ("split", "splitlines"):
        pieces = of.split(texts[0] or None) if texts and name == "split" else of.split()
        return tuple(pieces[:MAX_ITEMS])
    if name in ("joinpath", "with_name", "relative_to"):
        return joined([of, *values]) if name == "joinpath" else UNKNOWN
    if name in ("removeprefix", "removesuffix") and texts and texts[0] is not None:
        return of.removeprefix(texts[0]) if name == "removeprefix" else of.removesuffix(texts[0])
    return UNKNOWN


LISTS = frozenset({"walk", "listdir", "scandir", "iterdir", "glob", "iglob", "rglob"})
"""Calls that give what is in a directory."""
SAME = frozenset({"expanduser", "Path", "PosixPath", "PurePath", "abspath", "realpath", "normpath", "str", "fspath", "expandvars", "quote", "int", "sorted", "list", "tuple", "set", "reversed", "iter", "next", "tqdm", "enumerate", "bytes", "frozenset", "fsdecode", "fsencode", "_Path", "getpgid", "getsid"})  # fmt: skip
"""Functions that give back what they are given, as far as it counts here."""
ENCODERS = frozenset({"b64encode", "urlsafe_b64encode", "standard_b64encode", "b32encode", "b16encode", "hexlify", "quote_plus", "urlencode", "dumps", "compress"})  # fmt: skip
"""Functions whose result has what they are given, spelled otherwise."""
_DECODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "b64decode": lambda raw: base64.b64decode(raw + b"==="),
    "standard_b64decode": lambda raw: base64.b64decode(raw + b"==="),
    "urlsafe_b64decode": lambda raw: base64.urlsafe_b64decode(raw + b"==="),
    "b32decode": base64.b32decode, "unhexlify": binascii.unhexlify,
    "fromhex": lambda raw: bytes.fromhex(raw.decode()),
}  # fmt: skip
TEMPORARY = frozenset({"mkdtemp", "mkstemp", "TemporaryDirectory", "gettempdir", "mktemp", "NamedTemporaryFile"})
SCRATCH = "/tmp/tempfile"  # noqa: S108 — a stand-in that is never opened
HERE = frozenset({"getcwd", "cwd", "curdir"})


def pure(function: Name, values: Sequence[Value]) -> Value:
    """The value of a call of a function that only computes; UNKNOWN for others."""
    owner, name = function.owner, function.name
    first = values[0] if values else UNKNOWN
    if name == "join" and values and owner in ("path", "os", "posixpath", ""):
        return joined(values)
    if name in SAME and len(values) >= 1:
        return joined(values) if len(values) > 1 and "ath" in name else first
    if name in ENCODERS and (secret := secret_of(tuple(values))):
        return mark(secret)
    if name in _DECODERS:
        raw = first.encode("utf-8", "replace") if isinstance(first, str) else first
        try:
            return _DECODERS[name](raw)[:MAX_TEXT] if isinstance(raw, bytes) else UNKNOWN
        except (ValueError, UnicodeError):
            return UNKNOWN
    if name == "decode" and owner == "codecs" and isinstance(first, str):
        return codecs.encode(first, "rot13") if len(values) > 1 and "rot" in partly(values[1]) else UNKNOWN
    if name == "chr" and isinstance(first, int) and 0 <= first < 0x110000:
        return chr(first)
    if name == "ord" and isinstance(first, str) and len(first) == 1:
        return ord(first)
    if name == "range" and all(isinstance(value, int) for value in values) and values:
        return tuple(range(*[value for value in values if isinstance(value, int)][:2])[:MAX_ITEMS])
    if name == "home" and not values:
        return "~"
    if name == "which" and isinstance(first, str):
        return f"/usr/bin/{first}"
    if name == "getusersitepackages":
        return "~/.local/lib/python3/site-packages"
    if name == "getsitepackages":
        return ("/usr/lib/python3/dist-packages",)
    if name in TEMPORARY:
        return (SCRATCH, SCRATCH) if name == "mkstemp" else SCRATCH
    if name in HERE:
        return "."
    if name == "dirname" and isinstance(first, str):
        return first.rpartition("/")[0] or "."
    if name == "basename" and isinstance(first, str):
        return first.rpartition("/")[2]
    if name == "getppid":
        return OtherProcess("parent")
    if name in LISTS and values and owner in ("os", "glob", ""):
        text = text_of(first)
        return UNKNOWN if text is None else text if owner == "glob" else f"{text.rstrip('/') or '/'}/{{}}".replace("//", "/")  # fmt: skip
    return UNKNOWN
