"""How a repository's settings are let into an agent's CLI, or kept out of it. Pure.

The CLI cannot leave out a project's settings and keep its CLAUDE.md, skills and subagents: `--setting-sources user`
drops all of these (2.1.329). So each setting is taken back by settings on the command line, which win: a variable gets
the value that it would have without the project's, a helper is emptied, a plugin switched off, hooks and servers are
switched off as a whole. If that cannot be done, because a file cannot be read or a secret of the person's own would
have to appear on the command line, the project's settings are left out as a whole, and its CLAUDE.md with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from monitors.review.checks.environment import steers
from monitors.secret_patterns import masked, names_secret
from supervisor.config.brought import HARMLESS as ALWAYS_COUNT
from supervisor.config.brought import HELPERS, Found
from supervisor.config.environment import gate_arguments
from supervisor.protocol.claude.settings import RepositorySetting

GUARDED = (
    # Where the CLI sends its requests, what it signs them with, and its switches.
    "ANTHROPIC_*", "CLAUDE*", "AWS_*", "GOOGLE_*", "GCLOUD_*", "GCE_*", "VERTEX_*", "AZURE_*", "METADATA_*", "OTEL_*",
    "DISABLE_*", "API_*", "*_PROXY", "NPM_CONFIG_*",
    # Whom it trusts, and how names are looked up.
    "SSL_CERT_*", "*_CA_BUNDLE", "*_CA_CERTS", "GIT_SSL_*", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS",
    # What is loaded or run in front of a program; more is known to the reviewer (`steers`).
    "LD_*", "DYLD_*", "NODE_OPTIONS", "NODE_PATH", "NODE_TLS_*", "BUN_*", "PYTHON*PATH", "GIT_*", "BASH_FUNC_*", "IFS",
    # Whose files are read.
    "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_*",
)  # fmt: skip
"""Names and globs, in capitals, of variables that a repository's settings never set in an agent, trusted or not."""

HARMLESS = (
    "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_*_MODEL", "GIT_AUTHOR_*", "GIT_COMMITTER_*",
    "DISABLE_COST_WARNINGS",
)  # fmt: skip
"""Those among them that a trusted repository may set."""


@dataclass(frozen=True, slots=True)
class Own:
    """The person's own values, without the repository's settings."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """The agent's."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of `settings.json` in the person's own CLAUDE_CONFIG_DIR."""

    def variable(self, name: str) -> str:
        """Its value; empty for none, which the CLI takes for none too."""
        variables = self.settings.get("env")
        given = variables.get(name) if isinstance(variables, dict) else None
        return str(given) if given is not None else self.environment.get(name, "")


@dataclass(frozen=True, slots=True)
class ConfiguredValue:
    """Values of the configuration."""

    hooks: bool = False
    """`agent.settings_hooks`."""
    servers: bool = False
    """`agent.settings_servers`."""
    variables: tuple[str, ...] = ()
    """`agent.settings_environment`."""


@dataclass(frozen=True, slots=True)
class Guard:
    """How a CLI is started in a repository."""

    arguments: tuple[str, ...]
    """Behind all others."""
    off: tuple[RepositorySetting, ...] = ()
    """Settings of the repository that are ignored."""
    left_out: str = ""
    """Reason why the project's settings are left out as a whole, with its CLAUDE.md, skills and subagents; empty if
    they are not."""


def guard(found: Found, own: Own, wanted: ConfiguredValue, *, trusted: bool) -> Guard:
    """How the CLI is started for what was found.

    Args:
        found: What the repository's settings bring.
        own: What the person has without them.
        wanted: What the configuration says.
        trusted: Whether a person said that what was found may count.
    """
    asked = [thing for thing in found.things if thing.kind not in ALWAYS_COUNT]
    off = tuple(thing for thing in asked if not _counts(thing, wanted, trusted=trusted))
    hooks, servers = (
        _runs(kind, found, off, own=on) for kind, on in (("hook", wanted.hooks), ("server", wanted.servers))
    )
    variables = {thing.name: own.variable(thing.name) for thing in off if thing.kind == "variable"}
    if why := _not_to_be_said(off, variables):
        arguments = gate_arguments(hooks=wanted.hooks, servers=wanted.servers)
        return Guard((*arguments, "--setting-sources", "user"), tuple(asked), why)
    helpers = {thing.name: str(own.settings.get(thing.name) or "") for thing in off if thing.name in HELPERS}
    plugins = own.settings.get("enabledPlugins")
    mine = plugins if isinstance(plugins, dict) else {}
    switched = {thing.name: bool(mine.get(thing.name)) for thing in off if thing.kind == "plugin" and "@" in thing.name}
    more = {
        **helpers,
        **({"enabledPlugins": switched} if switched else {}),
        **({"env": variables} if variables else {}),
    }
    return Guard(gate_arguments(hooks=hooks, servers=servers, more=more), off)


def is_guarded(name: str) -> bool:
    """Whether a repository's settings may not set the variable though the repository is trusted."""
    upper = name.upper()
    if any(fnmatchcase(upper, one) for one in HARMLESS):
        return False
    return steers(upper) or any(fnmatchcase(upper, one) for one in GUARDED)


def _counts(thing: RepositorySetting, wanted: ConfiguredValue, *, trusted: bool) -> bool:
    match thing.kind:
        case "variable":
            return thing.name in wanted.variables or (trusted and not is_guarded(thing.name))
        case "unread":
            return False
        case _:
            return trusted


def _runs(kind: str, found: Found, off: tuple[RepositorySetting, ...], *, own: bool) -> bool:
    """Whether hooks, or servers, run: the CLI has one switch for all of a kind."""
    brought = [
        thing for thing in found.things if thing.kind == kind or (thing.kind == "definition" and kind in thing.what)
    ]
    if any(thing in off for thing in brought):
        return False
    return own or bool(brought)


def _not_to_be_said(off: tuple[RepositorySetting, ...], variables: Mapping[str, str]) -> str:
    """Why settings on the command line cannot take it all back; empty if they can."""
    unread = next((thing for thing in off if thing.kind == "unread"), None)
    if unread is not None:
        return f"{unread.file} is not understood: {unread.what}"
    secret = next(
        (name for name, value in variables.items() if value and (names_secret(name) or masked(value) != value)), ""
    )
    if secret:
        return f"they set {secret}, and the agent's own value of it is a secret, which cannot stand on the command line"
    return ""
