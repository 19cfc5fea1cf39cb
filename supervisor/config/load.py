"""Files and environment variables to one checked configuration.

Later over earlier, key by key, lists as a whole: `/etc/chaperon/chaperon.yaml`,
`$XDG_CONFIG_HOME/chaperon/chaperon.yaml`, the file named by `--config`, then variables such as
`CHAPERON_REVIEWER__RISK_THRESHOLD=0.5`. Each layer is checked by itself, so that a wrong key or value is refused with
its own place. All faults are reported at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from monitors.contract.errors import UsageError
from supervisor.config import problems
from supervisor.config.model import Config
from supervisor.config.paths import home
from supervisor.config.sources import PREFIX, SYSTEM_FILE, possible_files, read_text, variables
from supervisor.config.yaml_tree import Document, YamlError, parse

Context = Mapping[str, str]
"""The base of relative paths: `home`, and for a file its `directory`."""


def reference_page() -> Path:
    """Return the path of the page that lists every key: within the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    page = Path("docs", "reference", "configuration.md")
    return next((found for found in (package / page, package.parent / page) if found.exists()), page)


class ConfigError(UsageError):
    """The configuration was refused."""

    def __init__(self, found: Sequence["ConfigProblem"]) -> None:
        """Say everything that is wrong, a line each."""
        many = "1 problem" if len(found) == 1 else f"{len(found)} problems"
        lines = "".join(f"\n  {problem.place}: {problem.says}" for problem in found)
        super().__init__(
            f"The configuration has {many}; nothing was started.{lines}\n",
            way_out=f"Correct these lines and try again; {reference_page()} lists every key.",
        )
        self.problems = tuple(found)


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing that is wrong."""

    place: str
    """`FILE:LINE:COLUMN`, `FILE`, or a variable's name."""
    says: str
    """The expected value, the value found, and the nearest right name."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A checked configuration."""

    config: Config
    sources: tuple[str, ...]
    """Files and variables that it was made of, earliest first."""
    secrets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The keys by which files hold what others should not read, by the file."""


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """The source of a configuration, to be read again."""

    environ: Mapping[str, str]
    explicit: Path | None = None
    system: Path = SYSTEM_FILE

    def load(self) -> Loaded:
        """Read it; raises like `load`. Blocks."""
        return load(self.environ, self.explicit, system=self.system)

    def files(self) -> tuple[Path, ...]:
        """The files that may be a part of it, whether they are there or not."""
        return possible_files(self.environ, self.explicit, self.system)


@dataclass(frozen=True, slots=True)
class _Layer:
    source: str
    values: Mapping[str, Any]
    is_file: bool = False


def load(environ: Mapping[str, str], explicit: Path | None = None, *, system: Path = SYSTEM_FILE) -> Loaded:
    """Read all layers.

    Args:
        environ: The process's environment.
        explicit: The file named by `--config`, which must exist.
        system: The machine's file; tests name another.

    Raises:
        ConfigError: With everything that is wrong in any layer.
    """
    layers: list[_Layer] = []
    found: list[ConfigProblem] = []
    here = {"home": str(home(environ))}
    for path in possible_files(environ, explicit, system):
        _read_layer(path, here, layers, found, required=explicit is not None and path == explicit.absolute())
    for name, value in variables(environ).items():
        _read_variable(name, value, here, layers, found)
    if found:
        raise ConfigError(found)
    values: dict[str, Any] = {}
    for layer in layers:
        values = merge(values, layer.values)
    sources = tuple(layer.source for layer in layers)
    secrets = {layer.source: held for layer in layers if layer.is_file and (held := _secrets(layer.values))}
    return Loaded(Config.model_validate(values), sources, secrets)


def _secrets(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a layer whose values others should not read.

    They are keys and tokens for agents, and addresses with passwords.
    """
    agent, notify, audit = (values.get(name) or {} for name in ("agent", "notify", "audit"))
    urls = [str(channel.get("url")) for channel in notify.get("channels") or ()]
    held = {
        "agent.environment": bool(agent.get("environment")),
        "notify.channels[].url": any(not url.startswith("journal:") for url in urls),
        "audit.exporters[].headers": any(each.get("headers") for each in audit.get("exporters") or ()),
    }
    return tuple(key for key, there in held.items() if there)


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one mapping over another, key by key; whatever is no mapping replaces what was there."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        both = isinstance(value, Mapping) and isinstance(under, Mapping)
        merged[key] = merge(under, value) if both else value  # type: ignore[arg-type]  # both says that it is one
    return merged


def _read_layer(
    path: Path, context: Context, layers: list[_Layer], found: list[ConfigProblem], *, required: bool
) -> None:
    try:
        text = read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        if required:
            found.append(ConfigProblem(str(path), "there is no such file"))
        return
    except OSError as error:
        found.append(ConfigProblem(str(path), f"cannot be read: {error.strerror}"))
        return
    except ValueError as error:
        found.append(ConfigProblem(str(path), str(error)))
        return
    try:
        document = parse(text)
    except YamlError as error:
        found += [ConfigProblem(f"{path}:{flaw.line}:{flaw.column}", flaw.says) for flaw in error.flaws]
        return
    values, errors = check(document, {**context, "directory": str(path.parent)})
    found += [ConfigProblem(f"{path}:{line}:{column}", says) for (line, column), says in errors]
    layers.append(_Layer(str(path), values, is_file=True))


def check(document: Document, context: Context) -> tuple[dict[str, Any], list[tuple[tuple[int, int], str]]]:
    """Validate one layer: what it sets, or what is wrong with it and where."""
    try:
        config = Config.model_validate(document.value, context=dict(context))
    except ValidationError as error:
        return {}, sorted(
            (
                document.place(details["loc"], of_key=details["type"] in ("extra_forbidden", "invalid_key")),
                problems.explain(details, Config),
            )
            for details in error.errors()
        )
    return config.model_dump(exclude_unset=True, by_alias=True), []


def _read_variable(name: str, text: str, context: Context, layers: list[_Layer], found: list[ConfigProblem]) -> None:
    path = variable_path(name)
    if path is None:
        return
    try:
        # A variable for agents is text whatever it looks like; everything else is read as YAML.
        value = text if path[:2] == ("agent", "environment") and len(path) > 2 else parse(text).value
    except YamlError as error:
        found.append(ConfigProblem(name, f"its value is no YAML: {error.flaws[0].says}"))
        return
    for step in reversed(path):
        value = {step: value}
    values, errors = check(Document(value, None), context)
    found += [ConfigProblem(name, says) for _, says in errors]
    layers.append(_Layer(name, values))


def variable_path(name: str) -> tuple[str, ...] | None:
    """Return the path of keys that a variable's name means, None if it is no configuration.

    `CHAPERON_HOOKS__PRE_START` is `hooks.pre-start`. An unknown key stays as it is, in lower case, for the check to
    refuse.
    """
    steps = name.removeprefix(PREFIX).split("__")
    if len(steps) == 1 and (not (key := _spelling(steps[0], Config)) or problems.section_at((key,), Config)):
        return None
    path: tuple[str, ...] = ()
    for step in steps:
        section = problems.section_at(path, Config)
        path += (_spelling(step, section) or step.lower() if section else step,)
    return path


def _spelling(step: str, section: type[BaseModel]) -> str | None:
    """Return how a key is written, from its name in capitals with underscores."""
    return next((key for key, name in problems.keys(section).items() if step.lower() in (name, key.lower())), None)
