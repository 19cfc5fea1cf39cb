"""From the configuration, which is what a user writes, to the settings that the pure parts take."""

from collections.abc import Mapping

from pydantic import TypeAdapter

from interventions.settings import InterventionSettings
from monitors.defaults import DetectorSettings
from monitors.review import ReviewSettings
from supervisor.config.model import Config
from supervisor.config.paths import Places, config_home, home
from supervisor.core.decide import SessionSettings
from supervisor.core.ladder import Ladder


def session_settings(config: Config, places: Places, environ: Mapping[str, str]) -> SessionSettings:
    """What a session needs to know."""
    stop = config.stop
    return SessionSettings(
        ladder=Ladder(
            interrupt_seconds=stop.interrupt_seconds,
            end_of_input_seconds=stop.end_of_input_seconds,
            terminate_seconds=stop.terminate_seconds,
        ),
        home=str(home(environ)),
        protected=protected_paths(config, places, environ),
    )


def protected_paths(config: Config, places: Places, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What no agent may touch: chaperon's own state, socket and configuration, and what the user named."""
    own = (places.state, places.runtime, config_home(environ) / "chaperon")
    return (*map(str, own), *config.protected_paths)


_INTERVENTIONS = TypeAdapter(InterventionSettings)


def controller_settings(config: Config) -> InterventionSettings:
    """What the controller of interventions needs to know: the section's keys are its fields."""
    return _INTERVENTIONS.validate_python(config.interventions.model_dump())


def review_settings(config: Config) -> ReviewSettings:
    """What the reviewer needs to know."""
    wanted = config.reviewer
    return ReviewSettings(
        threshold=wanted.risk_threshold, mode=wanted.review_mode, sensitivity=config.patterns.sensitivity
    )


def detector_settings(config: Config) -> DetectorSettings:  # noqa: ARG001 - those to come use it
    """What the detectors need to know."""
    return DetectorSettings()
