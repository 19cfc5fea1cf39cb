"""Keys of the configuration whose values are programs or code, or say which code counts. Pure.

A change of one of them runs new code with the rights of the daemon or of its agents. So a daemon takes such
a change by a person's word alone: see `supervisor.runtime.assembly.trusted_programs`.
"""

import shlex
from collections.abc import Mapping
from typing import Any

from monitors.secret_patterns import names_secret
from supervisor.config.model import Config, Plugins
from supervisor.config.sections.hooks import HooksSection
from supervisor.config.settings_guard import is_guarded

FILE_KEYS: tuple[str, ...] = (
    *(f"hooks.{field.alias}" for field in HooksSection.model_fields.values() if field.alias is not None),
    *(f"plugins.{name}" for name in Plugins.model_fields),
    "workspaces.set_up",
    "agent.credential",
    "agent.credentials",
    "audit.key",
)
"""Keys that name what runs within the daemon or with its rights. The content of a file that they name counts too."""

VALUE_KEYS: tuple[str, ...] = (
    "agent.command", "agent.arguments", "agent.launcher", "agent.environment", "agent.settings_hooks",
    "agent.settings_servers", "agent.settings_environment", "hooks.repositories", "verify.command", "verify.projects",
)  # fmt: skip
"""Keys that name what runs as an agent, or say which code of others does. The CLI updates itself, so that its content
does not count; of `agent.environment` the variables count that steer programs."""

PROGRAM_KEYS = (*FILE_KEYS, *VALUE_KEYS)
"""All of them."""

TEXT_KEYS = ("interventions.soft_correction.custom_prompts_path", "protected_paths", "workspaces.folder")
"""Keys that name paths of which nothing is run."""

COMMAND_KEYS = ("agent.credential", "agent.credentials", "audit.key")
"""Keys whose values, or the sources in them, may be `command:PROGRAM ARGUMENTS`, which prints a secret."""

_COMMAND = "command:"


def program_values(config: Config) -> dict[str, Any]:
    """Return the value of each key, as JSON values."""
    dumped = config.model_dump(mode="json", by_alias=True)
    values = {key: _at(dumped, key) for key in PROGRAM_KEYS}
    values["agent.environment"] = {name: text for name, text in values["agent.environment"].items() if _steers(name)}
    return values


def with_values(config: Config, values: Mapping[str, Any]) -> Config:
    """Return a configuration with other values of these keys. Keys that it does not know are passed over."""
    dumped = config.model_dump(by_alias=True)
    for key, value in values.items():
        if key not in PROGRAM_KEYS or is_no_program(key, _at(dumped, key)):
            continue
        section, _, name = key.partition(".")
        if key == "agent.environment":
            value = {**{one: text for one, text in dumped[section][name].items() if not _steers(one)}, **value}
        dumped[section][name] = value
    return Config.model_validate(dumped)


def is_no_program(key: str, value: Any) -> bool:
    """Whether a key names a place of the key of records, and no program.

    Nothing is run by it, and another key opens nothing. A start with the recovery key, in the place of one that was
    lost, must not ask a daemon that cannot start for leave.
    """
    return key == "audit.key" and not str(value).startswith(_COMMAND)


def program_files(config: Config) -> tuple[str, ...]:
    """Return the files whose content counts, by their paths."""
    others = config.workspaces.set_up, *commands_of(config)
    wanted = (*config.hooks.programs().values(), *config.plugins.files(), *others)
    return tuple(dict.fromkeys(path for path in wanted if path))


def with_files(config: Config, copies: Mapping[str, str]) -> Config:
    """Return a configuration that loads plugins, and asks for secrets, by copies of these files."""
    if not copies:
        return config
    dumped = config.model_dump(by_alias=True)
    for kind, named in dumped["plugins"].items():
        several = isinstance(named, tuple | list)
        dumped["plugins"][kind] = tuple(copies.get(one, one) for one in named) if several else copies.get(named, named)
    for key in COMMAND_KEYS:
        section, _, name = key.partition(".")
        if isinstance(dumped[section][name], str):
            dumped[section][name] = _by_copy(dumped[section][name], copies)
        else:
            dumped[section][name] = [
                {**each, "source": _by_copy(each["source"], copies)} for each in dumped[section][name]
            ]
    return Config.model_validate(dumped)


def commands_of(config: Config) -> list[str]:
    """Return the paths of programs that print secrets; those that PATH has are left out."""
    dumped = config.model_dump(by_alias=True)
    values = [_at(dumped, key) for key in COMMAND_KEYS]
    wanted = [
        each for value in values for each in ([value] if isinstance(value, str) else [one["source"] for one in value])
    ]
    return [path for path in map(_program, wanted) if path]


def _by_copy(wanted: str, copies: Mapping[str, str]) -> str:
    program = _program(wanted)
    if program not in copies:
        return wanted
    return _COMMAND + shlex.join([copies[program], *shlex.split(wanted.removeprefix(_COMMAND))[1:]])


def _program(wanted: str) -> str:
    if not wanted.startswith(_COMMAND):
        return ""
    try:
        words = shlex.split(wanted.removeprefix(_COMMAND))
    except ValueError:  # a quotation without its end, which is refused where it is used
        return ""
    return words[0] if words and words[0].startswith("/") else ""


def _at(dumped: Mapping[str, Any], key: str) -> Any:
    section, _, name = key.partition(".")
    return dumped[section][name]


def _steers(name: str) -> bool:
    return is_guarded(name) and not names_secret(name)
