"""Detectors from elsewhere: by entry point of an installed distribution, or by a file of the user's own.

An entry point of the group `chaperon.detectors` is a callable that returns a fresh detector; a file has a function
`make_detector`. Both may take one argument, the task. They are loaded once and called for each session; what they
make is put behind `monitors.guarded.Guarded`, so that one that raises later is switched off and the run goes on.
`tests/conformance/detectors.py` has the checks that a plugin should pass.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from supervisor.protocol.issues import Detector
from supervisor.protocol.tasks import Task

GROUP = "chaperon.detectors"
"""The entry point group."""

FUNCTION = "make_detector"
"""What a plugin's file must define."""


class PluginError(Exception):
    """A plugin could not be loaded or made; the sentence names it, what happened, and the way out."""


@dataclass(frozen=True, slots=True)
class DetectorPlugin:
    """Something that makes a detector for a session."""

    origin: str
    """The entry point's name, or the file's path."""
    make: Callable[..., Any]

    def detector(self, task: Task) -> Detector:
        """Make a fresh one.

        Raises:
            PluginError: It raised, or what it made is no detector.
        """
        try:
            made = self.make(task) if inspect.signature(self.make).parameters else self.make()
        except Exception as error:
            raise PluginError(_sentence(self.origin, f"raised {type(error).__name__}: {error}")) from error
        if not isinstance(getattr(made, "name", None), str) or not callable(getattr(made, "see", None)):
            raise PluginError(
                _sentence(self.origin, f"made {type(made).__name__}, which lacks a `name` or a method `see`")
            )
        detector: Detector = made
        return detector


def installed_plugins(names: Iterable[str]) -> list[DetectorPlugin]:
    """Load the entry points that are asked for by name, in that order; nothing is loaded that nobody named.

    Raises:
        PluginError: There is none of that name, or it cannot be imported.
    """
    known = {point.name: point for point in entry_points(group=GROUP)}
    plugins = []
    for name in names:
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise PluginError(_sentence(name, f"is no entry point of the group {GROUP}; installed are: {there}"))
        try:
            plugins.append(DetectorPlugin(name, known[name].load()))
        except Exception as error:
            raise PluginError(_sentence(name, f"could not be imported, {type(error).__name__}: {error}")) from error
    return plugins


def plugin_file(path: Path) -> DetectorPlugin:
    """Load a plugin from a Python file.

    Raises:
        PluginError: It is not there, cannot be run, or defines no `make_detector`.
    """
    spec = spec_from_file_location(f"chaperon_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise PluginError(_sentence(str(path), "is no Python file; its name must end in .py"))
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PluginError(_sentence(str(path), f"could not be run, {type(error).__name__}: {error}")) from error
    make = getattr(module, FUNCTION, None)
    if not callable(make):
        raise PluginError(_sentence(str(path), f"defines no function `{FUNCTION}`"))
    return DetectorPlugin(str(path), make)


def _sentence(origin: str, what: str) -> str:
    return f"The detector plugin {origin} {what}. It is not used; mend it or take it out of the configuration."
