"""A trial of the whole configuration before anything is started.

It finds faults that prevent the start, and parts that will fail.

`chaperon doctor` shows all of it. `chaperon serve` logs the parts that will fail, and refuses the rest by itself at its
start.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from host.identity import may, which
from interventions.choice.strategies import strategy_of
from monitors.contract.errors import ChaperonError
from monitors.contract.tasks import Task
from supervisor.config.environment import agent_environment
from supervisor.config.load import ConfigSource, Loaded
from supervisor.config.model import Config
from supervisor.config.paths import places
from supervisor.runtime.assembly import plugins
from supervisor.runtime.assembly.interventions import PluginInterventions
from supervisor.runtime.assembly.review_settings import review_settings
from supervisor.runtime.assembly.settings import controller_settings, detector_settings, sandboxes
from supervisor.runtime.exporters import make_exporters
from supervisor.runtime.incidents.notifications import INSTALL_APPRISE, JOURNAL_SOCKET, ByApprise, SendError

MISTAKEN = ("chaperon.yml", "config.yaml", "config.yml", "chaperon.json", "chaperon.toml")
"""Names that a configuration file is given by mistake: those of other programs, and other endings. A policy in such a
file holds for nothing."""


@dataclass(frozen=True, slots=True)
class PreflightProblem:
    """Something that is wrong."""

    says: str
    """The problem, with the key of the configuration and its value, as a sentence."""
    mend: str = ""
    """The remedy for the reader."""
    fatal: bool = False
    """Whether the daemon does not start with it."""
    harmless: bool = False
    """Whether all works and the reader should know nevertheless."""

    def __str__(self) -> str:
        """Say both in a line."""
        return f"{self.says} {self.mend}".rstrip()


def try_out(loaded: Loaded, environ: Mapping[str, str]) -> list[PreflightProblem]:
    """Try all of the configuration, and return its problems, the gravest first.

    Blocks: it reads files, and runs plugins.

    Args:
        loaded: The configuration and its sources.
        environ: The daemon's environment.
    """
    made = [*_settings(loaded.config), *_plugins(loaded.config)]
    made += [] if made else [*_refused(_strategy, loaded.config), *_refused(make_exporters, loaded.config)]
    found = [*made, *what_will_not_work(loaded, environ)]
    return sorted(found, key=lambda flaw: (not flaw.fatal, flaw.harmless))


def what_will_not_work(loaded: Loaded, environ: Mapping[str, str]) -> list[PreflightProblem]:
    """Return the problems that prevent no start: parts that will fail, or facts to know.

    Blocks; arguments as for `try_out`.
    """
    config = loaded.config
    named = (*_programs(config), *_launcher(config, environ), *_sandbox(config, environ), *_channels(config))
    return [*named, *_passed_by(config), *_read_by_others(loaded), *_not_read(loaded, environ)]


# ── what is made of the configuration ─────────────────────────────────────────────────────────────────────────────────


def _settings(config: Config) -> Iterator[PreflightProblem]:
    """Yield the refusals of the reviewer, the detectors and the controller."""
    for make in (review_settings, detector_settings, controller_settings):
        yield from _refused(make, config)


def _plugins(config: Config) -> Iterator[PreflightProblem]:
    """Each plugin that cannot be loaded, or does not make what it should."""
    for kind in plugins.KINDS:
        for name in config.plugins.wanted(kind.name):
            yield from _refused(_made, kind, name)


def _made(kind: plugins.PluginKind[Any], name: str) -> object:
    (plugin,) = plugins.load(kind, [name])
    return plugin.make(Task("", "", "/"))


def _strategy(config: Config) -> object:
    """The strategy that the configuration names, which a plugin may have to bring."""
    nothing = Task("", "", "/")
    return strategy_of(controller_settings(config).strategy, PluginInterventions(config).strategy(nothing))


def _refused(make: Callable[..., object], *given: object) -> Iterator[PreflightProblem]:
    try:
        make(*given)
    except ChaperonError as error:
        yield PreflightProblem(error.what.replace("; nothing was started", ""), error.way_out, fatal=True)


# ── what it names ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _programs(config: Config) -> Iterator[PreflightProblem]:
    """Hooks and set-up programs that cannot be run."""
    named = {f"hooks.{key}": path for key, path in config.hooks.programs().items()}
    if config.workspaces.set_up:
        named["workspaces.set_up"] = config.workspaces.set_up
    for key, path in named.items():
        if why := _not_a_program(path):
            yield PreflightProblem(f"{key}: {path} {why}, so it will not run.", "Mend the path, or the file.")


def _not_a_program(path: str) -> str:
    if not Path(path).exists():
        return "is not there"
    if not Path(path).is_file():
        return "is no file"
    return "" if may(path, os.X_OK) else f"is not executable (chmod +x {path})"


def _launcher(config: Config, environ: Mapping[str, str]) -> Iterator[PreflightProblem]:
    """A launcher that is not there: no agent would start."""
    for command in config.agent.launcher[:1]:
        path = agent_environment(environ, config.agent.environment).get("PATH", os.defpath)
        if which(command, path) is None:
            yield PreflightProblem(
                f"agent.launcher: there is no program {command!r}, so no agent can be started.",
                "Install it, or name its whole path.",
            )


def _sandbox(config: Config, environ: Mapping[str, str]) -> Iterator[PreflightProblem]:
    """A sandbox that this machine does not give: no agent would start."""
    try:
        sandboxes(config, places(environ, os.getuid()), environ).in_force()
    except ChaperonError as error:
        yield PreflightProblem(error.what.replace(" Nothing was started.", " No agent can be started."), error.way_out)


def _channels(config: Config) -> Iterator[PreflightProblem]:
    """Yield channels that cannot send, and names of channels that are not set up."""
    channels = config.notify.channels
    by_apprise = [channel for channel in channels if not channel.url.startswith(("journal:", "desktop:"))]
    if by_apprise and find_spec("apprise") is None:
        names = ", ".join(channel.name for channel in by_apprise)
        yield PreflightProblem(
            f"notify.channels: apprise is not installed, so nothing can be sent by: {names}.", INSTALL_APPRISE
        )
    for channel in by_apprise if find_spec("apprise") is not None else ():
        try:
            ByApprise(channel.url).check()
        except SendError as error:
            yield PreflightProblem(
                f"notify.channels: {channel.name}: {error.what}", "Mend its url; apprise lists the forms."
            )
    if any(channel.url.startswith("journal:") for channel in channels) and not JOURNAL_SOCKET.exists():
        yield PreflightProblem(
            f"notify.channels: no journal of systemd listens at {JOURNAL_SOCKET}.", "Name another kind of channel."
        )
    stop = config.interventions.emergency_stop
    known = {channel.name for channel in channels}
    unknown = [name for name in stop.notification_channels if name not in known]
    if unknown and (channels or "notification_channels" in stop.model_fields_set):
        says = f"interventions.kinds.emergency_stop.notification_channels: no channel is named {', '.join(unknown)}"
        yield PreflightProblem(
            f"{says}; there are: {', '.join(sorted(known)) or 'none'}.", "They are passed over.", harmless=True
        )


def _passed_by(config: Config) -> Iterator[PreflightProblem]:
    """Rules that forbid a program by how the text begins, which says little about what runs."""
    for index, rule in enumerate(config.rules):
        if rule.match.startswith("^") and rule.tool in ("Bash", "*") and rule.decision != "allow":
            yield PreflightProblem(
                f"rules[{index}] ({rule.name}) looks at how the text of a command begins: `env X=1 …` and `bash -c` pass it by.",
                "A rule of reviewer.rules means the program, however it is started.",
                harmless=True,
            )


# ── who can read it ───────────────────────────────────────────────────────────────────────────────────────────────────


def _not_read(loaded: Loaded, environ: Mapping[str, str]) -> Iterator[PreflightProblem]:
    """Yield files that look like a configuration and are none."""
    for file in ConfigSource(environ).files():
        for name in MISTAKEN:
            found = file.with_name(name)
            if str(found) not in loaded.sources and found.is_file():
                says = f"{found} is not read: the configuration in that folder is {file.name}."
                yield PreflightProblem(says, "Rename it, or name it by --config.", harmless=True)


def _read_by_others(loaded: Loaded) -> Iterator[PreflightProblem]:
    """Files that hold secrets and that others can read."""
    for source, secrets in loaded.secrets.items():
        path = Path(source)
        who = _readers(path)
        if who:
            says = f"{path} holds {', '.join(secrets)}, and {who} can read it."
            yield PreflightProblem(says, f"chmod 600 {path}")


def _readers(path: Path) -> str:
    """Name the users beside the owner who can read a file, by its modes; empty for none."""
    try:
        mode = path.stat().st_mode
        reached = [parent.stat().st_mode for parent in path.absolute().parents]
    except OSError:
        return ""
    if mode & stat.S_IROTH and all(each & stat.S_IXOTH for each in reached):
        return "every user of this machine"
    if mode & stat.S_IRGRP and all(each & (stat.S_IXGRP | stat.S_IXOTH) for each in reached):
        return "its group"
    return ""
