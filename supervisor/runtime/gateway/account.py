"""The account that pays for the calls of agents, named by its credential and never by the credential's text."""

from collections.abc import Mapping
from hashlib import sha256

from supervisor.config.environment import agent_environment
from supervisor.config.model import INHERITED, Agent
from supervisor.runtime.gateway.credential import KEYS

LOGIN = "login"
"""The account of agents that have no credential from us: that of the CLI's own login."""

DIGITS = 8
"""Hexadecimal digits of a credential's digest. A key has more than 100 random bits, of which they give away 32; two
keys of one machine have the same digits once in four thousand million cases."""


OTHER_WAYS = (
    "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_UNIX_SOCKET",
)  # fmt: skip
"""Variables by which the CLI calls a model in another way than the gateway's, with other credentials."""


def has_gateway(settings: Agent, environ: Mapping[str, str]) -> bool:
    """Whether agents reach the model through the gateway: wherever there is a credential that it keeps from them.

    It is left out where nothing would be kept: the login of `claude` is in a file that an agent without a sandbox can
    read, and the CLI refreshes it best itself.

    Args:
        settings: How the CLI is started.
        environ: The daemon's environment.
    """
    if settings.credential == INHERITED:
        return False
    if settings.says_who_pays:
        return True
    environment = agent_environment(environ, settings.environment)
    return any(map(environment.get, KEYS)) and not any(map(environment.get, OTHER_WAYS))


def account_of(settings: Agent, environ: Mapping[str, str]) -> str:
    """Return the account's name: the place of its credential.

    A credential that is replaced in its place is of the same account; one of the environment has no place, and is named
    by its digest. A command is named by its program alone, since its arguments may hold what is secret; if several
    credentials come from one program, by their digest too.

    Args:
        settings: How the CLI is started.
        environ: The daemon's environment.
    """
    kind, _, place = settings.credential.partition(":")
    match kind:
        case "file" | "keyring" | "systemd" | "login":
            return settings.credential
        case "command":
            program, *words = place.split() or [""]
            others = (each.source.removeprefix("command:").split()[:1] for each in settings.credentials)
            several = sum(other == [program] for other in others) > 1
            return f"command:{program}:{_digest(' '.join(words))}" if several else f"command:{program}"
        case _:
            environment = agent_environment(environ, settings.environment)
            value = next((found for name in KEYS if (found := environment.get(name, ""))), "")
            return f"key:{_digest(value)}" if value else LOGIN


def _digest(value: str) -> str:
    return sha256(value.encode(errors="surrogateescape")).hexdigest()[:DIGITS]
