"""Parts from elsewhere: by entry point of an installed distribution, or by a Python file of the user's own.

The configuration's section `plugins` names them, kind by kind; nothing else is loaded. An entry point of
the group `chaperon.KIND` is a callable that makes the part; a file has a function of the kind's name for it, such as
`make_detector`. Both may take one argument, the task, if parts of the kind are made for each session. A part that
cannot be loaded keeps the daemon from starting; later exceptions are handled by the callers. `supervisor.testing` has
the checks that a plugin of each kind should pass.

| kind | is made for | function | what it makes |
| --- | --- | --- | --- |
| reviewers | the daemon | `make_reviewer` | a `Reviewer`, asked beside the built-in one; the strictest answer counts |
| rules | the daemon | `make_rules` | `Rule`s with their examples, tried before the built-in ones |
| risk | the daemon | `make_risk` | a `RiskCalculator` in place of the built-in one |
| detectors | each session | `make_detector` | a `Detector` beside the built-in ones |
| interventions | each session | `make_intervention` | an `Answer`, asked before the built-in ones of its kind |
| strategy | each session | `make_strategy` | a `Strategy`, for `interventions.strategy.type: custom` |
| exporters | the daemon | `make_exporter` | an `Exporter`, which sends the journal or its incidents to another system |
| recovery | the daemon | `make_recovery` | says what follows an agent's end, asked before the built-in plan |
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from monitors.contract.actions import Reviewer
from monitors.contract.errors import UsageError
from monitors.review.catalogue import failures
from monitors.review.rules.definitions import Knowledge
from monitors.review.rules.rules import Rule
from monitors.review.verdict.risk import RiskCalculator

if TYPE_CHECKING:  # a single review has no use for them
    from interventions.contract import Answer, Strategy
    from interventions.recovery.after_end import RecoveryAnswer
    from monitors.contract.issues import Detector
    from supervisor.protocol.export import Exporter

Part = TypeVar("Part")


class PluginError(UsageError):
    """A plugin could not be loaded or made; the sentence names it, what happened, and the way out."""

    def __init__(self, kind: str, origin: str, what: str) -> None:
        """Say which plugin, and what is the matter with it, as a clause."""
        way_out = f"Mend it, or take it out of plugins.{kind} in the configuration."
        super().__init__(f"The plugin {origin} {what}; nothing was started.", way_out=way_out)


@dataclass(frozen=True, slots=True)
class PluginKind(Generic[Part]):
    """A kind of part that plugins may bring."""

    name: str
    """As the configuration's section `plugins` calls it."""
    function: str
    """The function that a plugin's file must define."""
    wrong: Callable[[Any], str]
    """Returns the fault of a part that was made, as a clause; empty for none."""

    @property
    def group(self) -> str:
        """The entry point group."""
        return f"chaperon.{self.name}"


@dataclass(frozen=True, slots=True)
class Plugin(Generic[Part]):
    """Something that makes a part."""

    kind: PluginKind[Part]
    origin: str
    """The entry point's name, or the file's path."""
    function: Callable[..., Any]

    def make(self, *given: object) -> Part:
        """Make a fresh part; what is given, usually the task, is for a function that takes arguments.

        Raises:
            PluginError: It raised, or what it made is no part of this kind.
        """
        try:
            made = self.function(*given) if inspect.signature(self.function).parameters else self.function()
            wrong = self.kind.wrong(made)
        except Exception as error:
            raise PluginError(self.kind.name, self.origin, f"raised {type(error).__name__}: {error}") from error
        if wrong:
            raise PluginError(self.kind.name, self.origin, f"made {wrong}")
        part: Part = made
        return part


def load(kind: PluginKind[Part], wanted: Iterable[str]) -> list[Plugin[Part]]:
    """Load plugins of a kind, in the order in which the configuration names them.

    Args:
        kind: What they bring.
        wanted: Names of entry points, and paths of files, which end in `.py`.

    Raises:
        PluginError: One of them is not there, cannot be imported, or lacks the kind's function.
    """
    return [
        Plugin(kind, each, _of_file(kind, Path(each)) if each.endswith(".py") else _installed(kind, each))
        for each in wanted
    ]


def _installed(kind: PluginKind[Any], name: str) -> Callable[..., Any]:
    from importlib.metadata import entry_points  # 30 ms, which only plugins are worth

    known = {point.name: point for point in entry_points(group=kind.group)}
    if name not in known:
        there = ", ".join(sorted(known)) or "none"
        what = f"is no entry point of the group {kind.group}, and no path that ends in .py; installed are: {there}"
        raise PluginError(kind.name, name, what)
    try:
        loaded = known[name].load()
    except Exception as error:
        raise PluginError(kind.name, name, f"could not be imported, {type(error).__name__}: {error}") from error
    return _callable(kind, name, loaded, "is no callable")


class _FromSource(SourceFileLoader):
    """Compiles a file each time: the cache of byte code misses a second change within a second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _of_file(kind: PluginKind[Any], path: Path) -> Callable[..., Any]:
    name = f"chaperon_plugin_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, path, loader=_FromSource(name, str(path)))
    if spec is None or spec.loader is None:
        raise PluginError(kind.name, str(path), "is no Python file")
    module = sys.modules[name] = module_from_spec(spec)  # where dataclasses of the file look for their own module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PluginError(kind.name, str(path), f"could not be run, {type(error).__name__}: {error}") from error
    return _callable(kind, str(path), getattr(module, kind.function, None), f"defines no function `{kind.function}`")


def _callable(kind: PluginKind[Any], origin: str, found: object, lacks: str) -> Callable[..., Any]:
    if not callable(found):
        raise PluginError(kind.name, origin, lacks)
    return found


# ── the kinds ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _having(*methods: str, texts: Sequence[str] = ()) -> Callable[[object], str]:
    """Check that a part has these methods, and these attributes that are texts."""

    def wrong(made: object) -> str:
        lacking = [f"`{name}`" for name in texts if not isinstance(getattr(made, name, None), str)]
        lacking += [f"a method `{name}`" for name in methods if not callable(getattr(made, name, None))]
        return f"{type(made).__name__}, which lacks {' and '.join(lacking)}" if lacking else ""

    return wrong


def _wrong_rules(made: object) -> str:
    """Check that these are rules whose own examples hold."""
    if not isinstance(made, Sequence) or not all(isinstance(each, Rule) for each in made):
        return f"{type(made).__name__}, where a list of rules belongs"
    return "; ".join(f"rules, and {failure}" for failure in failures(Knowledge(rules=tuple(made)))[:3])


_EXPORTER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def _wrong_exporter(made: object) -> str:
    """Check that a part has what an exporter has, and a name that a position can be kept by."""
    lacks = _having("send", texts=("name",))(made)
    name = getattr(made, "name", "")
    if not lacks and not _EXPORTER_NAME.fullmatch(name):
        return f"{type(made).__name__} with the name {name!r}: lower case letters, digits, hyphens and underscores are"
    return lacks


REVIEWERS: PluginKind[Reviewer] = PluginKind("reviewers", "make_reviewer", _having("review"))
RULES: PluginKind[Sequence[Rule]] = PluginKind("rules", "make_rules", _wrong_rules)
RISK: PluginKind[RiskCalculator] = PluginKind("risk", "make_risk", _having("score"))
DETECTORS: "PluginKind[Detector]" = PluginKind("detectors", "make_detector", _having("see", texts=("name",)))
INTERVENTIONS: "PluginKind[Answer]" = PluginKind(
    "interventions", "make_intervention", _having("plan", texts=("name", "kind"))
)
STRATEGY: "PluginKind[Strategy]" = PluginKind(
    "strategy", "make_strategy", _having("ladder", "position", texts=("name",))
)
RECOVERY: "PluginKind[RecoveryAnswer]" = PluginKind("recovery", "make_recovery", _having("after_end", texts=("name",)))
EXPORTERS: "PluginKind[Exporter]" = PluginKind("exporters", "make_exporter", _wrong_exporter)
KINDS: tuple[PluginKind[Any], ...] = (REVIEWERS, RULES, RISK, DETECTORS, INTERVENTIONS, STRATEGY, RECOVERY, EXPORTERS)
