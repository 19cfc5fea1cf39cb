"""The credential, from where the configuration says, read anew when it changes. Blocks."""

import os
import re
import shlex
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from host.children import ChildCommand, run_child
from host.plain_files import read_plain
from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.login import FILE, Login, LoginError, LoginTokens
from supervisor.runtime.gateway.login import MOST_BYTES as LONGEST_LOGIN
from supervisor.runtime.gateway.messages import PLACEHOLDER, CredentialSource
from supervisor.runtime.gateway.outbound import outbound_of
from supervisor.runtime.gateway.token_endpoint import TOKEN_URL

COMMAND_SECONDS = 30.0
"""How long a command may take that prints the credential: a keyring may ask over the network."""

KEPT_SECONDS = 300.0
"""How long a command's answer is used: short credentials of clouds live an hour, and one that was refused is not used
again at all."""

KEYRING = ("secret-tool", "lookup", "service")
"""The desktop's own program for its keyring (libsecret), by the names that other programs give what they keep:
`service` and `username`."""

MOST_BYTES = 65_536
"""Most of a credential; the longest known, a signed token, has some thousand."""

LONG_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105 - a name
BEARERS = ("ANTHROPIC_AUTH_TOKEN", LONG_TOKEN)
KEYS = ("ANTHROPIC_API_KEY", *BEARERS)
"""Variables that have a credential, in the order in which they are looked at."""

SECRETS = (
    *KEYS,
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
    "CLAUDE_CODE_SESSIONS_OAUTH_TOKEN",
)
"""Variables that an agent does not have: what has a credential, and what leads to one."""

OAUTH_BEGINNING = "sk-ant-oat"
"""The beginning of the access tokens of logins, the CLI's own long tokens among them."""

OAUTH_BETA = "oauth-2025-04-20"
"""The word of `anthropic-beta` by which calls with such a token are known; the CLI adds it to its own."""

AGENTS_URL = "http://model.invalid"
"""Base URL of agents: the CLI sends calls to a plain one over its socket, and no settings of a project move them (seen
with 2.1.329). No name ends so (RFC 2606): a program that passes the socket by reaches no server."""


CUSTOM_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
"""A variable of the CLI: a header a line."""


class CredentialError(ChaperonError):
    """There is no credential; no call of the model can be made."""


def source_of(wanted: str, environment: Mapping[str, str], folder: str = "") -> CredentialSource:
    """Return where the credential comes from.

    Args:
        wanted: `agent.credential`.
        environment: The environment that has it for `environment`.
        folder: The folder of systemd's credentials.

    Raises:
        CredentialError: There is none at that place.
    """
    kind, _, rest = wanted.partition(":")
    if kind == "login":
        return _login_in(Path(rest) / FILE if rest else login_file(environment), environment)
    if kind == "file":
        return CredentialSource("file", path=rest)
    if kind == "command":
        return CredentialSource("command", command=tuple(shlex.split(rest)))
    if kind == "keyring":
        service, slash, user = rest.partition("/")
        return CredentialSource("command", command=(*KEYRING, service, *(("username", user) if slash else ())))
    if kind == "systemd":
        if not folder:
            raise CredentialError(
                f"agent.credential is {wanted!r}, and the daemon was given no credentials by systemd.",
                way_out=f"Add LoadCredential={rest}:PATH to the unit, and start the service again.",
            )
        return CredentialSource("file", path=f"{folder}/{rest}")
    for name in KEYS:
        if value := environment.get(name, ""):
            return CredentialSource("value", value=value, bearer=name in BEARERS)
    if not wanted and (path := login_file(environment)).is_file():
        return _login_in(path, environment)
    raise CredentialError(
        "There is no credential that the gateway could hold: neither of ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN is in "
        f"the daemon's environment, and there is no login of `claude` in {login_file(environment)}.",
        way_out="Log in by `claude`, or set agent.credential to `file:PATH`, `command:PROGRAM`, `keyring:SERVICE/USER`, "
        "`systemd:NAME` or `login:FOLDER`.",
    )


def _login_in(path: Path, environment: Mapping[str, str]) -> CredentialSource:
    return CredentialSource("login", path=str(path), refreshed_at=TOKEN_URL, outbound=outbound_of(environment))


def login_file(environment: Mapping[str, str]) -> Path:
    """Return the file that has the login of `claude`, as the CLI finds it."""
    said = (environment.get(name, "") for name in ("CLAUDE_SECURESTORAGE_CONFIG_DIR", "CLAUDE_CONFIG_DIR"))
    return Path(next(filter(None, said), "") or Path(environment.get("HOME", "/"), ".claude")) / FILE


def shielded(environment: Mapping[str, str], path: str, source: CredentialSource) -> dict[str, str]:
    """Return an agent's environment without credentials, whose CLI calls the model over a socket. Blocks.

    Args:
        environment: The environment with them.
        path: The agent's socket, by its path for the agent.
        source: Where the credential comes from in whose place the agent has a word: only with the token of a login does
            the CLI take heed of usage limits, and only with the kind of subscription does it choose its usual model.
    """
    kept = {name: value for name, value in environment.items() if name not in (*SECRETS, CUSTOM_HEADERS)}
    own = {"ANTHROPIC_BASE_URL": AGENTS_URL, "ANTHROPIC_UNIX_SOCKET": path}
    if source.kind == "login":
        own |= {LONG_TOKEN: PLACEHOLDER, **_subscription(Path(source.path))}
    elif source.value.startswith(OAUTH_BEGINNING):
        own[LONG_TOKEN] = PLACEHOLDER
    else:
        own["ANTHROPIC_API_KEY"] = PLACEHOLDER
    return {**kept, **own}


def _subscription(path: Path) -> dict[str, str]:
    try:
        known = LoginTokens.of(read_plain(path, LONGEST_LOGIN))
    except (OSError, ValueError):  # whoever asks for its token is told
        return {}
    said = {"CLAUDE_CODE_SUBSCRIPTION_TYPE": known.subscription, "CLAUDE_CODE_RATE_LIMIT_TIER": known.tier}
    return {name: value for name, value in said.items() if re.fullmatch("[A-Za-z0-9_.-]{1,64}", value)}


def custom_headers(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the headers that a person adds to each call of the model: they may be credentials too."""
    lines = (each.partition(":") for each in environment.get(CUSTOM_HEADERS, "").splitlines())
    return tuple((name.strip(), value.strip()) for name, colon, value in lines if colon and name.strip())


class Credential:
    """The credential in use.

    Args:
        source: Where it comes from.
        clock: Tells how old a command's answer is.
        failed: Told of a login that could not be refreshed.
    """

    def __init__(
        self, source: CredentialSource, clock: Clock, failed: Callable[[LoginError], object] = lambda _: None
    ) -> None:
        self._source = source
        self._clock = clock
        self._login = Login(Path(source.path), clock, source.refreshed_at, failed, way=source.outbound)
        self._value = source.value
        self._stamp: tuple[int, int, int] | None = None
        self._read_at = 0.0

    def header(self) -> tuple[str, str]:
        """Return the header of a call that carries it.

        Raises:
            CredentialError: It cannot be had.
        """
        value = self._current()
        if self._source.bearer or self._source.kind == "login" or value.startswith(OAUTH_BEGINNING):
            return "authorization", f"Bearer {value}"
        return "x-api-key", value

    def check(self) -> None:
        """Look whether it can be had; a login is not refreshed.

        Raises:
            CredentialError: It cannot.
            LoginError: It is a login, and cannot be used.
        """
        if self._source.kind == "login":
            self._login.check()
        else:
            self._current()

    def refused(self, header: tuple[str, str]) -> None:
        """Take note that this header was refused: a command is asked again, and a login refreshed, at the next call."""
        self._read_at = 0.0
        self._login.refused(header[1].removeprefix("Bearer "))

    def _current(self) -> str:
        match self._source.kind:
            case "login":
                return _checked(self._login.token().encode(errors="replace"), self._source.path)
            case "file":
                self._read_file()
            case "none":
                raise CredentialError(
                    "The credential was taken out of agent.credential, and the daemon has no other: no call is paid for.",
                    way_out="Set agent.credential again, or stop the agent and start it anew.",
                )
            case "command" if not self._read_at or self._clock.mono() - self._read_at > KEPT_SECONDS:
                self._run()
            case _:
                pass
        return self._value

    def _read_file(self) -> None:
        path = Path(self._source.path)
        try:
            status = path.stat()
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and status.st_uid == os.geteuid():
                raise CredentialError(
                    f"The credential in {path} can be read by others (mode {stat.S_IMODE(status.st_mode):04o}); it is not used.",
                    way_out=f"chmod 600 {path}, and have the key replaced if others have used this machine.",
                )
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._value = _checked(read_plain(path, MOST_BYTES), str(path))
                self._stamp = stamp
        except OSError as error:
            raise CredentialError(
                f"The credential cannot be read from {path}: {error.strerror}.", way_out="Mend agent.credential."
            ) from error

    def _run(self) -> None:
        program = self._source.command[0] if self._source.command else ""
        try:
            done = run_child(
                ChildCommand(
                    argv=self._source.command,
                    environment=dict(os.environ),
                    errors="nowhere",
                    seconds=COMMAND_SECONDS,
                    output_bytes=MOST_BYTES,
                )
            )
        except (OSError, IndexError) as error:
            raise CredentialError(
                f"The program {program!r} that should print the credential cannot be run: {error}.",
                way_out=(
                    "apt install libsecret-tools, or dnf install libsecret."
                    if program == KEYRING[0]
                    else "Mend agent.credential."
                ),
            ) from error
        if done.code != 0:
            raise CredentialError(
                f"The program {program!r} that should print the credential ended with {done.code}.",
                way_out="Run it by hand to see why.",
            )
        self._value = _checked(done.output, program)
        self._read_at = self._clock.mono()


def _checked(text: bytes, source: str) -> str:
    """Return a credential that fits into a header."""
    value = text.decode("ascii", errors="replace").strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise CredentialError(
            f"{source} has no credential: one line of letters, digits and signs is expected.",
            way_out="Put the key there, alone.",
        )
    return value
