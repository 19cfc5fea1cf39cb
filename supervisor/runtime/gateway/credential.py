"""The credential, from where the configuration says, read anew when it changes. Blocks."""

import os
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path

from host.children import ChildCommand, run_child
from monitors.contract.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.messages import PLACEHOLDER, CredentialSource

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

BEARERS = ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
KEYS = ("ANTHROPIC_API_KEY", *BEARERS)
"""Variables that have a credential, in the order in which they are looked at."""


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
    raise CredentialError(
        "There is no credential that the gateway could hold: neither of ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN is in "
        "the daemon's environment, and agents in a sandbox do not see the login of `claude`.",
        way_out="Set agent.credential to `file:PATH`, `command:PROGRAM`, `keyring:SERVICE/USER` or `systemd:NAME`.",
    )


def shielded(environment: Mapping[str, str], path: str) -> dict[str, str]:
    """Return an agent's environment without credentials, whose CLI calls the model over a socket.

    Args:
        environment: The environment with them.
        path: The agent's socket, by its path for the agent.
    """
    kept = {name: value for name, value in environment.items() if name not in (*KEYS, CUSTOM_HEADERS)}
    own = {"ANTHROPIC_API_KEY": PLACEHOLDER, "ANTHROPIC_BASE_URL": AGENTS_URL, "ANTHROPIC_UNIX_SOCKET": path}
    return {**kept, **own}


def custom_headers(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the headers that a person adds to each call of the model: they may be credentials too."""
    lines = (each.partition(":") for each in environment.get(CUSTOM_HEADERS, "").splitlines())
    return tuple((name.strip(), value.strip()) for name, colon, value in lines if colon and name.strip())


class Credential:
    """The credential in use.

    Args:
        source: Where it comes from.
        clock: Tells how old a command's answer is.
    """

    def __init__(self, source: CredentialSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._value = source.value
        self._stamp: tuple[int, int, int] | None = None
        self._read_at = 0.0

    def header(self) -> tuple[str, str]:
        """Return the header of a call that carries it.

        Raises:
            CredentialError: It cannot be had.
        """
        value = self._current()
        if self._source.bearer or value.startswith("sk-ant-oat"):  # how the CLI's own long tokens begin
            return "authorization", f"Bearer {value}"
        return "x-api-key", value

    def refused(self) -> None:
        """Take note that it was refused: a command is asked again at the next call."""
        self._read_at = 0.0

    def _current(self) -> str:
        match self._source.kind:
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
                self._value = _checked(path.read_bytes()[:MOST_BYTES], str(path))
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
