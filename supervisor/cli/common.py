"""Shared parts of the commands: access to the daemon, reports of failures, printing of data."""

import os
import pwd
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, reduce
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from supervisor import __version__
from supervisor.cli.client_errors import DaemonGoneError, NoDaemonError
from supervisor.cli.output import terminal
from supervisor.config.paths import StatePaths, places, sockets_to_try
from supervisor.config.sources import nothing_is_configured

if TYPE_CHECKING:
    from supervisor.cli.client import Client
    from supervisor.config.kept import KeptPart
    from supervisor.config.load import ConfigSource, Loaded
    from supervisor.config.model import Config

FAILED, WRONG_USAGE, NO_DAEMON, INTERRUPTED = 1, 2, 3, 130
"""Exit codes; 130 is what shells give for an end by Ctrl+C."""

BY_SIGNAL = 128
"""Added to a signal's number it is the exit code that shells give for an end by it."""

TAKEN = 75
"""Exit code of `serve` where another daemon has the state directory or the socket: EX_TEMPFAIL of sysexits.h. The units
start it no second time, which would end the same way."""


class FiniteRange(click.FloatRange):
    """A number within bounds: `nan`, which no bound refuses, and `inf` are none. JSON sends both as no value at all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if not isfinite(float(click.FLOAT.convert(value, param, ctx))):
            self.fail(f"{value!r} is no finite number. For no limit of this kind leave the option out.", param, ctx)
        return float(super().convert(value, param, ctx))


class UnconfirmedError(UsageError):
    """The confirmation of a loss is missing."""


def here() -> StatePaths:
    """Return the paths of this user's state and socket."""
    return places(os.environ, os.geteuid())


def configuration() -> "Loaded":
    """The configuration, with the file that `--config` named; the parts of it that commands need are kept.

    Raises:
        ConfigError: Something in it is wrong.
    """
    kept = _kept_part()
    mark = kept.mark()
    terminal.begin("reading the configuration")
    loaded = configuration_source().load()
    if not is_unconfigured() and _known_parts(kept, mark) is None:
        kept.write(mark, _parts_of(loaded.config))
    terminal.begun()
    return loaded


def configuration_to_load() -> "Loaded":
    """The configuration for commands that load its plugins themselves.

    Raises:
        ConfigError: Something in it is wrong.
        ProgramChangedError: Plugins are not those that a person trusted for this user's daemon.
    """
    loaded = configuration()
    if loaded.config.plugins.files():
        from supervisor.runtime.assembly.trusted_programs import TrustedPrograms

        TrustedPrograms(here().programs).refuse_changed_plugins(loaded.config)
    return loaded


def configuration_source() -> "ConfigSource":
    """Return the source of the configuration."""
    # Here and not above: the model of the configuration takes 0.2 s to import, which commands to a daemon need not pay.
    from supervisor.config.load import ConfigSource

    return ConfigSource(os.environ, _named_file())


def is_unconfigured() -> bool:
    """Whether there is no configuration, so that a command need not load its model to know the defaults."""
    return nothing_is_configured(os.environ, _named_file())


def setting(key: str) -> Any:
    """Return the value of one of `PLAIN_KEYS`; the model is loaded if the configuration was not checked before.

    Raises:
        ConfigError: Something in the configuration is wrong.
    """
    from supervisor.config.kept import PLAIN_KEYS  # here and not above: most commands need none

    return PLAIN_KEYS[key] if is_unconfigured() else checked_parts()["keys"][key]


def checked_parts() -> Mapping[str, Any]:
    """Return what commands need of the configuration by themselves, as plain values.

    `keys` has `PLAIN_KEYS`, and `reviews` what reviews need, None if it names files of plugins: these must be what a
    person trusted, which is looked at each time. It is what was kept, if nothing changed.

    Raises:
        ConfigError: Something in the configuration is wrong.
    """
    kept = _kept_part()
    return _known_parts(kept, kept.mark()) or _parts_of(configuration().config)


def _kept_part() -> "KeptPart":
    from supervisor.config.kept import KeptPart

    return KeptPart(here().checked_parts, os.environ, _named_file())


def _known_parts(kept: "KeptPart", mark: str) -> Mapping[str, Any] | None:
    from supervisor.config.kept import PLAIN_KEYS

    known = kept.read(mark) or {}
    keys = known.get("keys")
    return known if isinstance(keys, dict) and keys.keys() == PLAIN_KEYS.keys() and "reviews" in known else None


def _parts_of(config: "Config") -> dict[str, Any]:
    from supervisor.config.kept import PLAIN_KEYS
    from supervisor.runtime.assembly.review_settings import plain_part

    return {
        "keys": {key: reduce(getattr, key.split("."), config) for key in PLAIN_KEYS},
        "reviews": None if config.plugins.files() else plain_part(config),
    }


def _named_file() -> Path | None:
    named = click.get_current_context().find_root().params.get("config")
    return Path(named) if named else None


def daemon() -> "Client":
    """This user's daemon, or the system service for this user.

    Raises:
        NoDaemonError: Neither listens.
    """
    from supervisor.cli.client import connect  # commands that ask no daemon need not load what speaks HTTP

    uid = os.geteuid()
    met = connect(*sockets_to_try(os.environ, uid, pwd.getpwuid(uid).pw_name), met=_tell_of_other_version)
    context = click.get_current_context(silent=True)  # there is none in another thread, where nothing is told again
    named = context.find_root().params.get("config") if context else None
    if named is not None:
        _tell_once(
            f"chaperon: --config {named} is without effect: a daemon runs here, with the configuration that it read at its "
            "start. To have this one, start the daemon with it."
        )
    return met


def refuse_agents() -> None:
    """Leave to people what a command does by itself, without asking the daemon.

    Raises:
        RefusedError: A daemon listens, and knows this process as an agent's.
    """
    with suppress(NoDaemonError, DaemonGoneError):
        daemon().get("/v1/health")


def _tell_of_other_version(version: str) -> None:
    """Say that the daemon is of another version than this command, as after an upgrade."""
    if version != __version__:
        _tell_once(
            f"chaperon: The daemon that runs is of {f'version {version}' if version else 'an older version'}, and this command "
            f"of {__version__}. Restart the daemon (systemctl --user restart chaperon, or end it and chaperon serve): agents live on."
        )


@cache
def _tell_once(text: str) -> None:
    terminal.echo(text, err=True)


def run(work: Callable[[], int | None]) -> None:
    """Run a command to its end and exit with its code; a failure is printed on standard error."""
    try:
        code = work() or 0
    except* (NoDaemonError, DaemonGoneError) as errors:
        code = complain(errors, NO_DAEMON)
    except* NotFoundError as errors:
        code = complain(errors, FAILED)
    except* UsageError as errors:
        code = complain(errors, WRONG_USAGE)
    except* ChaperonError as errors:
        code = complain(errors, FAILED)
    except* BrokenPipeError:
        # Whoever read our output has enough; the interpreter must not try to flush it again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except* KeyboardInterrupt:
        code = INTERRUPTED
    terminal.begun()
    sys.exit(code)


def complain(errors: BaseExceptionGroup[Any], code: int) -> int:
    """Tell failures on standard error; returns the exit code."""
    for error in _leaves(errors):
        terminal.echo(f"chaperon: {error}", err=True)
    return code


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in _leaves(one)]
    return [error]


AGENTS_AT_ONCE = 5_000
"""Agents of one answer: 25 MB. The daemon gives 20,000 at most, the oldest ones."""


def not_in_force(health: Mapping[str, Any]) -> list[str]:
    """Say what the files of the configuration say and the daemon does not do, by what `GET /v1/health` has of it."""
    unused = health.get("unused_configuration")
    return [f"What the configuration's files say is not in force: {unused}"] if unused else []


def held_by_disk(health: Mapping[str, Any]) -> str:
    """Say why every agent waits although it is at work, by the same answer; empty if none does."""
    full = health.get("disk_full")
    return f"{full} Agents wait at their next tool call until there is." if full else ""


def told_of(health: Mapping[str, Any]) -> list[str]:
    """Return what people who look at all agents are told of the daemon as a whole, by the same answer."""
    return [*filter(None, (health.get("taken_over"), held_by_disk(health), *not_in_force(health)))]


def tell_not_in_force(daemon: "Client") -> None:
    """Say the same to a person who gives work to agents, and may count on it, as on a sandbox."""
    for line in not_in_force(daemon.get("/v1/health")):
        terminal.echo(f"chaperon: {line}", err=True)


def all_agents(daemon: "Client", **query: Any) -> list[dict[str, Any]]:
    """Return all agents that a query means, however many; raises like `Client.get`."""
    found: list[dict[str, Any]] = []
    while True:
        page = daemon.get("/v1/agents", **query, limit=AGENTS_AT_ONCE)
        if page and page[-1]["agent"] == query.get("after"):  # a daemon of before gives all each time
            return found
        found += page
        if len(page) != AGENTS_AT_ONCE:
            return found
        query["after"] = page[-1]["agent"]


def agent_path(agent: str) -> str:
    """Return the API's path of an agent; raises like `path_part`."""
    return f"/v1/agents/{path_part(agent, 'chaperon ps')}"


def path_part(name: str, listed_by: str) -> str:
    """Return a name as one part of a path of the API, whatever was typed for it.

    Args:
        name: The typed text.
        listed_by: The command that lists the names that there are.

    Raises:
        UsageError: It is no possible name.
    """
    if not name or set(name) == {"."} or "/" in name:  # as a part of a path these mean something else
        raise UsageError(f"{name!r} cannot be a name; nothing was asked.", way_out=f"{listed_by} lists them.")
    return quote(name, safe="", errors="replace")


def confirm(question: str, unconfirmed: str) -> None:
    """Ask on the terminal before something is lost.

    Raises:
        UnconfirmedError: The answer is no, or there is no terminal to ask.
    """
    if not sys.stdin.isatty():
        raise UnconfirmedError(
            f"{unconfirmed}, and there is no terminal to ask; nothing was changed.", way_out="Say --yes."
        )
    terminal.begun()
    if not click.confirm(terminal.harmless(question)):
        raise UnconfirmedError("Nothing was changed.")


def whole_text(text: str) -> str:
    """The text with what was no UTF-8 on the command line or standard input replaced, so that it can be sent."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def sendable(path: Path) -> str:
    """Return a path as text that can be sent to the daemon.

    Raises:
        click.BadParameter: It is not UTF-8.
    """
    try:
        text = str(path)
        text.encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"{path!r} is not UTF-8, and only such paths can be told to the daemon.") from None
    return text


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
