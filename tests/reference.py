"""The list of all keys for readers, drawn from the model: its types, defaults, and the docstrings below its fields."""

import ast
import inspect
import json
import re
import textwrap
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal

from pydantic.fields import FieldInfo

from supervisor.config.model import Config
from supervisor.config.problems import section_in
from supervisor.config.sections.base import Section, Without
from supervisor.runtime.assembly.policy import AT_THE_START

TYPE_NAMES: Mapping[Any, str] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    dict: "mapping of texts",
    Any: "anything",
}


def reference_markdown(root: type[Section] = Config) -> str:
    """Return every key with its type, default and meaning, a table a section."""
    return "\n".join(_section("", root, {}))


def _section(path: str, section: type[Section], seen: dict[type[Section], str]) -> Iterator[str]:
    if section in seen:
        yield from (f"### `{path}`", "", f"As `{seen[section]}`, above.", "")
        return
    seen[section] = path
    plain = {key: field for key, field in _fields(section) if not _is_section(field)}
    if path:
        yield from (f"### `{path}`", "", " ".join((inspect.getdoc(section) or "").split()), "")
    if waits := _waits(path, plain):
        yield from (waits, "")
    if plain:
        yield from ("| key | type | default | meaning |", "| --- | --- | --- | --- |")
        for key, field in plain.items():
            cells = (f"`{key}`", _type(field), _default(field), _meaning(section, field, key))
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield ""
    for key, field in _fields(section):
        below = section_in(field.annotation)
        if below is not None:
            name = f"{path}.{key}".lstrip(".")
            yield from _section(f"{name}[]" if _is_list(field.annotation) else name, below, seen)


def _waits(path: str, keys: Collection[str]) -> str:
    """Say what of a section a daemon reads at its start alone; nothing if it takes all of it live."""
    name = path.removesuffix("[]")
    if _is_at_the_start(name):
        return "A change of it waits for the daemon's next start."
    late = [f"`{key}`" for key in keys if _is_at_the_start(f"{name}.{key}".lstrip("."))]
    return f"A change of {', '.join(late)} waits for the daemon's next start." if late else ""


def _is_at_the_start(name: str) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in AT_THE_START)


def _fields(section: type[Section]) -> Iterator[tuple[str, FieldInfo]]:
    return ((field.alias or name, field) for name, field in section.model_fields.items())


def _is_list(annotation: Any) -> bool:
    return typing.get_origin(annotation) is tuple or any(map(_is_list, typing.get_args(annotation)))


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, Section)


def _type(field: FieldInfo) -> str:
    limits = _limits(field.metadata) if not _inner_limits(field.annotation) else _inner_limits(field.annotation)
    without = {value for meta in field.metadata if isinstance(meta, Without) for value in meta.values}
    return _type_name(field.annotation, without) + limits


def _type_name(annotation: Any, without: Collection[str] = ()) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _type_name(arguments[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        below = section_in(annotation)
        return "list of mappings" if below else "list of texts"
    if origin is dict and arguments[1] is Any:
        return "mapping"
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return "mapping"
    if origin in (types.UnionType, typing.Union):
        return " or ".join("nothing" if part is type(None) else _type_name(part) for part in arguments)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(f"`{each.value}`" for each in annotation if each.value not in without)
    return TYPE_NAMES[origin or annotation]


def _inner_limits(annotation: Any) -> str:
    """Limits of what may be nothing: they stand on the part that is something."""
    for part in typing.get_args(annotation) if typing.get_origin(annotation) in (types.UnionType, typing.Union) else ():
        if typing.get_origin(part) is Annotated:
            return _limits([entry for meta in part.__metadata__ for entry in getattr(meta, "metadata", [meta])])
    return ""


def _limits(metadata: list[Any]) -> str:
    texts = {"ge": "{} or more", "gt": "more than {}", "le": "at most {}"}
    found = [
        text.format(f"{getattr(meta, name):,}")
        for name, text in texts.items()
        for meta in metadata
        if hasattr(meta, name)
    ]
    return f", {', '.join(found)}" if found else ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "nothing"
    if field.alias is None and field.annotation is int and any("mode" in str(meta).lower() for meta in field.metadata):
        return f"`{value:04o}`"
    if isinstance(value, float) and value.is_integer():
        return f"`{value:.0f}`"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _meaning(section: type[Section], field: FieldInfo, key: str) -> str:
    name = next(name for name, other in section.model_fields.items() if other is field)
    for owner in _declaring(section):
        if name in (texts := _docstrings(owner)):
            return texts[name]
    raise LookupError(f"{section.__name__}.{key} has no docstring below it")


def _declaring(section: type[Section]) -> Iterator[Any]:
    """The classes that declare keys of a section, nearest first: of sections and of the settings that they embed."""
    for owner in section.__mro__:
        settings = vars(owner).get("declared_by")
        if settings is not None:
            yield from (each for each in settings.__mro__ if is_dataclass(each))
        elif issubclass(owner, Section):
            yield owner


@cache
def _docstrings(section: type) -> dict[str, str]:
    """The text below each field, on one line."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(section))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = re.sub(r"\s+", " ", words)
    return found
