"""Faults of values, as sentences: the expected value, the value found, and the nearest right name."""

import difflib
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from supervisor.config.sections.base import Section

SECRET_NAMES = re.compile(
    r"key|token|secret|passw|passphrase|credential|cookie|auth|environment|headers", re.IGNORECASE
)
"""A value at or below a key with such a name is never shown. `environment` is among them because its values may be
anything."""

LONGEST_SHOWN = 60
"""Characters of a wrong value that are shown; enough to find it again."""

EXPECTED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "bool_type": lambda _: "true or false",
    "int_type": lambda _: "a whole number",
    "int_from_float": lambda _: "a whole number",
    "int_parsing": lambda _: "a whole number",
    "float_parsing": lambda _: "a number",
    "float_type": lambda _: "a number",
    "finite_number": lambda _: "a finite number",
    "string_type": lambda _: "text (in quotes, where it looks like a number or a yes or no)",
    "string_too_short": lambda _: "some text",
    "string_pattern_mismatch": lambda ctx: f"text like {ctx['pattern']}",
    "tuple_type": lambda _: "a list",
    "dict_type": lambda _: "a mapping",
    "model_type": lambda _: "a section (a mapping of keys)",
    "literal_error": lambda ctx: f"one of {ctx['expected']}",
    "enum": lambda ctx: f"one of {ctx['expected']}",
    "greater_than": lambda ctx: f"more than {ctx['gt']}",
    "greater_than_equal": lambda ctx: f"{ctx['ge']} or more",
    "less_than": lambda ctx: f"less than {ctx['lt']}",
    "less_than_equal": lambda ctx: f"{ctx['le']} or less",
}
"""The expected value, by pydantic's name of the error. Names that are not here keep pydantic's own sentence."""


def explain(error: ErrorDetails, root: type[BaseModel]) -> str:
    """Return one sentence about an error of validation, without its place."""
    path = error["loc"]
    name = dotted(path)
    match error["type"]:
        case "extra_forbidden" | "invalid_key":
            return unknown(path, root)
        case "missing":
            return f"the key {str(path[-1])!r} is missing" + (f" in {dotted(path[:-1])}" if path[:-1] else "")
        case "value_error":
            return f"{name}: {error['msg'].removeprefix('Value error, ')}"
        case kind if kind in EXPECTED:
            context = error.get("ctx", {})
            near = nearest(error["input"], re.findall(r"'([^']*)'", str(context.get("expected", ""))))
            return f"{name}: expected {EXPECTED[kind](context)}, found {found(error['input'], path)}{near}"
    return f"{name}: {error['msg']}, found {found(error['input'], path)}"


def unknown(path: Sequence[str | int], root: type[BaseModel]) -> str:
    """Say that there is no such key, and which one is nearest or which there are."""
    section = section_at(path[:-1], root)
    known = sorted(keys(section)) if section else []
    where = f" in {dotted(path[:-1])}" if len(path) > 1 else ""
    near = nearest(path[-1], known) or (f"; known here: {', '.join(known)}" if known else "")
    return f"unknown key {str(path[-1])!r}{where}{near}"


def nearest(word: object, known: Sequence[str]) -> str:
    """Return `; did you mean …?`, or nothing if no known name is near."""
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(word).lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def found(value: object, path: Sequence[str | int]) -> str:
    """Show a wrong value in short, unless its key looks like that of a secret."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if any(SECRET_NAMES.search(str(step)) for step in path):
        return "a value that is not shown, because it may be a secret"
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    text = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
    return f"the text {text}" if isinstance(value, str) else text


def dotted(path: Sequence[str | int]) -> str:
    """Write a path as people do. Example: `rules[2].decision`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "the file"


def keys(section: type[BaseModel]) -> dict[str, str]:
    """Return the keys of a section as they are written, each with its field's name."""
    return {field.alias or name: name for name, field in section.model_fields.items()}


def section_at(path: Sequence[str | int], root: type[BaseModel]) -> type[BaseModel] | None:
    """Return the section that a path leads to, None if it leads elsewhere; list positions are passed over."""
    section: type[BaseModel] | None = root
    for step in path:
        if section is None or isinstance(step, int):
            continue
        name = keys(section).get(step)
        section = _model_in(section.model_fields[name].annotation) if name else None
    return section


def section_in(annotation: Any) -> type[Section] | None:
    """Return the section that an annotation is or holds, None if there is none."""
    found = _model_in(annotation)
    return found if found is not None and issubclass(found, Section) else None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((inner for part in typing.get_args(annotation) if (inner := _model_in(part))), None)
