"""Keys whose values become programs or code."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import AfterValidator

from supervisor.config.model import Config
from supervisor.config.programs import (
    COMMAND_KEYS,
    PROGRAM_KEYS,
    TEXT_KEYS,
    commands_of,
    program_files,
    program_values,
    with_files,
    with_values,
)
from supervisor.config.sections.base import Section, _absolute, _plugin, _resolved


def keys_with_paths(section: type[Section], path: str = "") -> Iterator[str]:
    """The keys whose type says that they name a path or a plugin."""
    for name, field in section.model_fields.items():
        key = f"{path}.{field.alias or name}".lstrip(".")
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from keys_with_paths(kind, key)
        elif names_path([kind, *field.metadata]):
            yield key


def names_path(parts: list[Any]) -> bool:
    return any(
        (isinstance(part, AfterValidator) and part.func in (_absolute, _plugin, _resolved))
        or names_path([*get_args(part), *getattr(part, "__metadata__", ())])
        for part in parts
    )


def test_each_key_that_names_a_path_is_a_program_or_said_to_be_none() -> None:
    found = set(keys_with_paths(Config))
    assert "hooks.on-error" in found
    assert "plugins.detectors" in found
    known = {*PROGRAM_KEYS, *TEXT_KEYS, "sandbox.read", "sandbox.write"}
    assert found <= known


def test_each_key_that_is_called_after_programs_is_one_or_said_to_be_none() -> None:
    words = ("command", "program", "script", "launcher", "argument", "hook", "plugin", "credential", "set_up")
    none = {
        # They describe programs that agents call, and name none that is run here.
        "reviewer.programs", "reviewer.launchers",
        # Seconds, and one that closes more.
        "hooks.timeout", "workspaces.set_up_seconds", "sandbox.commands_apart",
    }  # fmt: skip
    sections = Config().model_dump(by_alias=True).items()
    keys = {f"{name}.{key}" for name, section in sections if isinstance(section, dict) for key in section}
    assert {key for key in keys if any(word in key for word in words)} - set(PROGRAM_KEYS) == none


def in_list(key: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The keys of the sections in a list."""
    name = str(key.get("items", {}).get("$ref", "")).rpartition("/")[2]
    found: Mapping[str, Mapping[str, Any]] = schema["$defs"].get(name, {}).get("properties", {})
    return found.values()


def test_each_key_that_takes_a_command_is_one() -> None:
    schema = Config.model_json_schema()
    found = {
        f"{section}.{name}"
        for section, field in Config.model_fields.items()
        if isinstance(kind := field.annotation, type) and issubclass(kind, Section)
        for name, key in schema["$defs"][kind.__name__].get("properties", {}).items()
        for each in (key, *in_list(key, schema))
        if "command:" in str(each.get("pattern", ""))
    }
    assert found == set(COMMAND_KEYS)


def config(**about: object) -> Config:
    return Config.model_validate(about)


def test_values_come_back_as_they_were_beside_other_keys() -> None:
    environment = {"LD_PRELOAD": "/x.so", "LANG": "C", "ANTHROPIC_API_KEY": "secret"}
    then = config(agent={"launcher": ["nice"], "environment": environment}, hooks={"on-error": "/bin/e"})
    values = program_values(then)
    assert values["agent.environment"] == {"LD_PRELOAD": "/x.so"}, "variables that steer programs, and no secrets"
    now = config(
        agent={"environment": {"NODE_OPTIONS": "--require /evil.js", "LANG": "de"}},
        plugins={"detectors": ["/evil.py"]},
        reviewer={"risk_threshold": 0.5},
    )
    assert program_values(with_values(now, values)) == values
    assert with_values(now, values).reviewer.risk_threshold == 0.5
    assert with_values(now, values).agent.environment == {"LANG": "de", "LD_PRELOAD": "/x.so"}
    assert with_values(now, {**values, "rules": []}).rules == now.rules, "other keys are not touched"


def test_files_are_those_of_hooks_plugins_set_up_and_the_program_that_prints_the_credential() -> None:
    made = config(
        agent={"credential": "command:/opt/ask 'a b'"},
        hooks={"pre-start": "/h"},
        plugins={"detectors": ["/p.py", "installed"], "risk": "/r.py"},
        workspaces={"set_up": "/s"},
    )
    assert set(program_files(made)) == {"/h", "/p.py", "/r.py", "/s", "/opt/ask"}
    copied = with_files(made, {"/p.py": "/copy/p.py", "/opt/ask": "/copy/a k", "/r.py": "/copy/r.py"})
    assert copied.plugins.detectors == ("/copy/p.py", "installed")
    assert copied.plugins.risk == "/copy/r.py"
    assert commands_of(copied) == ["/copy/a k"]
    assert copied.agent.credential.endswith("'a b'")
    assert with_files(made, {}) is made


def test_programs_of_several_credentials_count_each() -> None:
    several = [{"source": "command:/opt/one x"}, {"source": "file:/key"}, {"source": "command:/opt/two"}]
    made = config(agent={"credentials": several})
    assert set(program_files(made)) == {"/opt/one", "/opt/two"}
    copied = with_files(made, {"/opt/two": "/copy/2"})
    assert [each.source for each in copied.agent.credentials] == ["command:/opt/one x", "file:/key", "command:/copy/2"]
    assert with_values(config(), program_values(made)).agent.credentials == made.agent.credentials


def test_a_credential_from_elsewhere_is_no_program() -> None:
    for wanted in ("", "environment", "file:/key", "command:pass show key", "command:/x 'unfinished"):
        assert commands_of(config(agent={"credential": wanted})) == []


def test_another_place_of_the_key_of_records_counts_and_a_command_in_its_place_does_not() -> None:
    kept = program_values(config(audit={"key": "file:/kept"}))
    assert with_values(config(audit={"key": "file:/recovery"}), kept).audit.key == "file:/recovery"
    assert with_values(config(audit={"key": "command:/evil"}), kept).audit.key == "file:/kept"
