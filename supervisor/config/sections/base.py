"""The base of every section of the configuration."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from monitors.contract.bounds import is_argument, is_expression

TRUTH_VALUES: Mapping[str, bool] = {"yes": True, "on": True, "no": False, "off": False}
"""The words of YAML 1.1 for truth values, which a key that is true or false takes in any case of letters."""


def truth_value(value: Any) -> Any:
    """Return the truth value that a word stands for; anything else as it is."""
    return TRUTH_VALUES.get(value.lower(), value) if isinstance(value, str) else value


class Section(BaseModel):
    """One mapping of the configuration file: frozen, and closed to keys that it does not know."""

    declared_by: ClassVar[type | None] = None
    """The dataclass of settings that declares keys of this section; None if the section declares all itself."""

    # Strict, because a word where a number belongs is a slip that should be shown, not guessed at.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _empty(cls, value: Any) -> Any:
        """Take a section whose every line is commented out, which YAML reads as nothing, for one without keys."""
        return {} if value is None else value

    @model_validator(mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        """Take `yes`, `no`, `on` and `off` for the truth values that they are, at the keys that have one."""
        if not isinstance(value, Mapping):
            return value
        flags = {
            name for key, field in cls.model_fields.items() if field.annotation is bool for name in (key, field.alias)
        }
        return {key: truth_value(each) if key in flags else each for key, each in value.items()}


class Switchable(Section):
    """A section that can be written as `true` or `false` alone, which stands for its `enabled`."""

    enabled: bool = True
    """Whether this is used at all."""

    @model_validator(mode="before")
    @classmethod
    def _switch(cls, value: Any) -> Any:
        """Take `soft_correction: false`, or `off`, for `soft_correction: {enabled: false}`."""
        return {"enabled": truth} if isinstance(truth := truth_value(value), bool) else value


@dataclass(frozen=True, slots=True)
class Without:
    """Marks a field of an enumeration that does not take all of its values."""

    values: tuple[str, ...]


Texts = Annotated[tuple[str, ...], Field(strict=False)]
"""A list of texts; not strict, because YAML knows lists and no tuples."""

ForProgram = Annotated[str, AfterValidator(is_argument)]
"""A text that a program is given."""

Words = Annotated[tuple[ForProgram, ...], Field(strict=False)]
"""A command, or arguments, one word a list item."""


def _absolute(value: str, info: ValidationInfo) -> str:
    home = (info.context or {}).get("home", "")
    is_argument(value)
    if value.startswith("~/") and home:
        return posixpath.join(home, value[2:])
    if not value.startswith("/"):
        raise ValueError(f"{value!r} is no absolute path; begin it with / or ~/")
    return value


def _resolved(value: str, info: ValidationInfo) -> str:
    directory = (info.context or {}).get("directory", "")
    is_argument(value)
    if directory and not value.startswith(("/", "~/")):
        return posixpath.normpath(posixpath.join(directory, value))
    return _absolute(value, info)


AbsolutePath = Annotated[str, AfterValidator(_absolute)]
"""Begins with / or ~/. The validation context's `home` says what ~ is."""

FilePath = Annotated[str, AfterValidator(_resolved)]
"""The same, or relative to the validation context's `directory`, which is the configuration file's."""


Expression = Annotated[str, AfterValidator(is_expression)]
"""A regular expression of Python."""


def _plugin(value: str, info: ValidationInfo) -> str:
    if value.endswith(".py"):
        return _resolved(value, info)
    if not value or "/" in value:
        raise ValueError(f"{value!r} is neither the name of an entry point nor the path of a file that ends in .py")
    return value


PluginName = Annotated[str, AfterValidator(_plugin)]
"""An entry point's name, or the path of a Python file, which is read as a `FilePath`."""

PluginNames = Annotated[tuple[PluginName, ...], Field(strict=False)]
"""Several of them, in order."""
