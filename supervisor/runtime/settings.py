"""From the configuration, which is what a user writes, to the settings that the pure parts take."""

from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches

from pydantic import TypeAdapter

from interventions.approval import ApprovalSettings
from interventions.settings import InterventionSettings
from monitors.defaults import DetectorSettings
from monitors.no_progress import NoProgressSettings
from monitors.review import ReviewSettings
from monitors.sensitivity import PatternSettings, Sensitivity
from supervisor.config.model import Config
from supervisor.config.paths import Places, config_home, home
from supervisor.core.decide import SessionSettings
from supervisor.core.ladder import Ladder
from supervisor.core.limits import LimitSettings
from supervisor.protocol.errors import UsageError
from supervisor.protocol.words import Severity
from supervisor.runtime.notifications import ByApprise, ByJournal, ChannelSettings


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
        approval=ApprovalSettings(**config.approval.model_dump()),
        limits=LimitSettings(at_limit=config.resources.at_limit, stop_at=config.resources.stop_at),
    )


def protected_paths(config: Config, places: Places, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What no agent may touch: chaperon's own state, socket and configuration, and what the user named."""
    own = (places.state, places.runtime, config_home(environ) / "chaperon")
    return (*map(str, own), *config.protected_paths)


def channels(config: Config) -> list[ChannelSettings]:
    """The channels by which people are told; the stop's own are told of every stop."""
    told_of_stops = config.interventions.emergency_stop.notification_channels
    return [
        ChannelSettings(
            name=each.name,
            send=ByJournal() if each.url.startswith("journal:") else ByApprise(each.url),
            min_severity=Severity(each.min_severity),
            stops=each.name in told_of_stops,
            group_seconds=each.group_seconds,
        )
        for each in config.notify.channels
    ]


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


def detector_settings(config: Config) -> DetectorSettings:
    """What the detectors need to know.

    Raises:
        UsageError: A pattern is enabled that there is none of.
    """
    wanted, progress = config.patterns, config.progress
    no_progress = NoProgressSettings(**progress.model_dump())
    settings = DetectorSettings(sensitivity=Sensitivity(wanted.sensitivity), no_progress=no_progress)
    return settings if "all" in wanted.enabled_patterns else _only(settings, wanted.enabled_patterns)


def _only(settings: DetectorSettings, enabled: tuple[str, ...]) -> DetectorSettings:
    """The same with every other pattern switched off."""
    patterns = {
        each.name: value
        for each in fields(settings)
        if isinstance(value := getattr(settings, each.name), PatternSettings)
    }
    for name in enabled:
        if name not in patterns:
            near = get_close_matches(name, patterns, 1)
            raise UsageError(
                f"patterns.enabled_patterns names {name!r}, which there is none of; nothing was started.",
                way_out=f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(patterns)}.",
            )
    off = {name: replace(value, enabled=False) for name, value in patterns.items() if name not in enabled}
    return replace(settings, **off)  # type: ignore[arg-type]
