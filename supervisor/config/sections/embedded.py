"""Sections of the configuration from dataclasses of settings, where keys, bounds, defaults and meanings are declared.

A pure part declares its settings as a frozen dataclass, beside the code that reads them. Each of its fields whose type
has the mark of `monitors.contract.bounds` becomes a key; a field that is such a dataclass itself becomes a section
below. Keys that only the edge knows, a path or a plugin, are declared in the section. The way back, from a section to
its dataclass, is `settings_from`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import GenericAlias, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, create_model

from monitors.contract.bounds import Key
from supervisor.config.sections.base import Section, Switchable

Own = TypeVar("Own", bound=Section)
Settings = TypeVar("Settings")


class EmbeddedSection(Section):
    """A section that is made at run time; it is pickled as the dataclass that it is made of and its values."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Name the class by what makes it, since no module has it under its name."""
        settings = vars(type(self)).get("declared_by")
        makes: tuple[Any, ...] = (_blank, (type(self),)) if settings is None else (_blank_of, (settings,))
        return *makes, self.__getstate__()


def embeds(settings: type, *, own_first: bool = False) -> Callable[[type[Own]], type[Own]]:
    """Give a section the keys of a dataclass of settings.

    Args:
        settings: The dataclass.
        own_first: Whether the section's own keys stand before these. Otherwise they stand behind, and one that the
            section declares itself replaces that of the dataclass.
    """

    def make(section: type[Own]) -> type[Own]:
        embedded = section_of(settings)
        bases: Any = (embedded, section) if own_first else (section, embedded)
        made: type[Own] = _model(section.__name__, bases, section.__module__, section.__doc__, {})
        return made

    return make


@cache
def section_of(settings: type) -> type[Section]:
    """Return the section whose keys are the marked fields of a dataclass.

    Raises:
        TypeError: A field of the dataclass that is a key has no default that a section can take.
    """
    hints = get_type_hints(settings, include_extras=True)
    given: dict[str, Any] = {}
    switches = False
    for field in fields(settings):
        hint = hints[field.name]
        if is_dataclass(hint):
            below = section_of(hint)  # type: ignore[arg-type]  # a hint that is a dataclass is its class
            if below.model_fields:
                given[field.name] = (below, Field(default_factory=below))
        elif keys := tuple(_keys(hint)):
            switches = switches or any(key.switches for key in keys)
            if field.default is MISSING:
                raise TypeError(
                    f"{settings.__name__}.{field.name} is a key of the configuration and has no plain default"
                )
            given[field.name] = (_for_files(hint), field.default)
    bases: Any = (EmbeddedSection, Switchable) if switches else EmbeddedSection
    name = settings.__name__.removesuffix("Settings") + "Section"
    made: type[Section] = _model(name, bases, __name__, settings.__doc__, given)
    made.declared_by = settings
    return made


def _blank(section: type[Section]) -> Section:
    return section.__new__(section)


def _blank_of(settings: type) -> Section:
    return _blank(section_of(settings))


def _model(name: str, bases: Any, module: str, meaning: str | None, keys: Mapping[str, Any]) -> Any:
    return create_model(name, __base__=bases, __module__=module, __doc__=meaning, **keys)


def _keys(hint: Any) -> Iterator[Key]:
    """The marks of a type, and of the parts of a union."""
    if get_origin(hint) is Annotated:
        yield from (meta for meta in hint.__metadata__ if isinstance(meta, Key))
    if get_origin(hint) in (Union, UnionType, Annotated):
        for part in get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint):
            yield from _keys(part)


def _for_files(hint: Any) -> Any:
    """The type as a file gives it: with its checks, lists for tuples, and words for the members of an enumeration."""
    if get_origin(hint) is Annotated:
        rest = (_as_pydantic_takes(meta) for meta in hint.__metadata__)
        return Annotated[(_for_files(get_args(hint)[0]), *rest)]
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(map(_for_files, get_args(hint)))]  # noqa: UP007  # the parts are known at run time alone
    if get_origin(hint) is tuple:
        return Annotated[
            GenericAlias(tuple, (_for_files(get_args(hint)[0]), ...)), Field(strict=False)
        ]  # YAML has lists and no tuples
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Annotated[hint, Field(strict=False)]
    return hint


def _as_pydantic_takes(meta: Any) -> Any:
    """A mark as pydantic takes it; one that says nothing to it is passed over there."""
    return AfterValidator(meta.check) if isinstance(meta, Key) and meta.check else meta


def settings_from(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Return the dataclass of settings for the values of a section; keys that it does not have are passed over."""
    wanted: Any = kind
    made: Settings = _adapter(wanted).validate_python(dict(values))
    return made


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
