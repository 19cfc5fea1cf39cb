"""The detectors of a session as the configuration wants them: the built-in ones, the reviewer's own, and plugins.

A plugin is loaded once, which may keep the daemon from starting, and makes a detector for each session. One that cannot
make its own is switched off for that session like one that raises later, or takes too long: with an incident, and the
run goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import Observation
from monitors.contract.tasks import Task
from monitors.detectors import DetectorSettings, make_detectors
from monitors.guarded import EVERYTHING, Guarded
from monitors.patterns.outputs import Outputs
from monitors.patterns.refusals import RefusedCalls
from supervisor.config.model import Config
from supervisor.runtime.assembly.interventions import Patience
from supervisor.runtime.assembly.plugins import DETECTORS, Plugin, PluginError, load
from supervisor.runtime.assembly.settings import detector_settings


@dataclass(frozen=True, slots=True)
class MakeDetectors:
    """Makes a session's detectors."""

    settings: DetectorSettings
    plugins: tuple[Plugin[Detector], ...]
    patience: Patience = field(default_factory=Patience)

    @classmethod
    def of(cls, config: Config) -> "MakeDetectors":
        """Load what the configuration names. Blocks.

        Raises:
            UsageError: A pattern is enabled that there is none of, or a plugin cannot be loaded.
        """
        return cls(detector_settings(config), tuple(load(DETECTORS, config.plugins.detectors)))

    def __call__(
        self, task: Task, workspace: str = "", factors: Mapping[str, float] | None = None
    ) -> tuple[Guarded, ...]:
        """Fresh detectors for one session; see `monitors.detectors.make_detectors`."""
        made = [_made(plugin, task, self.patience) for plugin in self.plugins]
        more: tuple[Detector, ...] = (RefusedCalls(), Outputs(), *made)
        return make_detectors(self.settings, task, workspace=workspace, plugins=more, factors=factors)


def _made(plugin: Plugin[Detector], task: Task, patience: Patience) -> Detector:
    try:
        return _Watched(plugin.make(task), patience)
    except PluginError as error:
        return _Unmade(plugin.origin, error)


class _Watched:
    """A plugin's detector, which may not hold up all agents."""

    def __init__(self, detector: Detector, patience: Patience) -> None:
        self.name = detector.name
        self.watches: frozenset[type] = getattr(detector, "watches", EVERYTHING)
        self._detector = detector
        self._patience = patience

    def see(self, observation: Observation) -> Sequence[Issue]:
        return self._patience.of(self.name, partial(self._detector.see, observation))


class _Unmade:
    """Stands where a plugin made none, and says why at the first observation, so that it is switched off there."""

    def __init__(self, name: str, error: PluginError) -> None:
        self.name = name
        self._error = error

    def see(self, observation: Observation) -> Sequence[Issue]:  # noqa: ARG002 - the protocol's
        raise self._error
