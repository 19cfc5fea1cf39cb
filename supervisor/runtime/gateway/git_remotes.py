"""Remotes of git that agents may fetch from and push to, by a login that stays outside of their sandbox.

An agent's git is told to ask the gateway in the place of each remote: on the agent's own loopback if it has one, else
by a helper that git starts, `supervisor.runtime.sandbox.git_helper`. The gateway asks
the person's own credential helpers, by `git credential fill`, and sends what they say to the remote over TLS. Only
git's own requests go through, and only to paths below a remote that the configuration names.
"""

import base64
import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from host.children import ChildCommand, run_child
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import COMMAND_SECONDS, KEPT_SECONDS, MOST_BYTES, CredentialError

PREFIX = "/chaperon-git/"
"""The beginning of the paths by which agents' git asks the gateway; the remote's host and path follow."""

HELPER = "chaperon"
"""The name of a remote helper: git looks for `git-remote-chaperon` on PATH."""

FORWARDED = frozenset(
    {
        b"accept", b"accept-language", b"cache-control", b"content-encoding", b"content-length", b"content-type",
        b"git-protocol", b"host", b"pragma", b"transfer-encoding", b"user-agent",
    }
)  # fmt: skip
"""Headers that git itself sends. Others of an agent could ask for another path or in another name beside the person's
login, at servers that heed X-Original-URL and the like."""

_SERVICES = "git-upload-pack|git-receive-pack"
_PATH = r"(?:/(?!\.{1,2}/)[A-Za-z0-9._~+@-]+)+"
_TARGET = re.compile(
    rf"{PREFIX}(?P<host>[A-Za-z0-9.-]+(?::[0-9]{{1,5}})?)(?P<path>{_PATH})"
    rf"(?P<ask>/info/refs\?service=(?:{_SERVICES})|/(?:{_SERVICES}))"
)
"""Requests of git's own protocol over HTTP; a path has no dots that lead up, and nothing that a server would decode."""


FAILED_SECONDS = 15.0
"""How long helpers that have no login for a remote are not asked again: each asking starts programs, and git asks twice
for one push. A person who stores a login waits no longer than this."""

MOST_REMOTES = 1_000
"""Remotes whose answers are kept; below one that is named an agent asks for as many paths as it likes."""


class GitRemoteError(Exception):
    """A request to a remote is not forwarded; the message says why."""


@dataclass(frozen=True, slots=True)
class GitRequest:
    """A request to a remote."""

    remote: str
    """The repository's address, without what is asked of it."""
    host: str
    """With its port, if one is said."""
    path: str
    """The path with what is asked of it, from the host's root."""


def rewritten(remotes: Sequence[str], base: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which git asks the gateway in the place of these remotes.

    Args:
        remotes: As the configuration names them.
        base: The gateway's address, as git reaches it.
        environment: What is there already, to which they are added.
    """
    return _configured(
        {f"url.{base}{PREFIX}{one.removeprefix('https://')}.insteadOf": one for one in remotes}, environment
    )


def helped(remotes: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which git starts the helper of that name in the place of its own for these remotes.

    Args:
        remotes: As the configuration names them.
        environment: What is there already, to which they are added.
    """
    wanted = {f"url.{HELPER}::{remote}.insteadOf": remote for remote in remotes}
    return _configured({**wanted, f"protocol.{HELPER}.allow": "always"} if wanted else {}, environment)


def _configured(wanted: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that configure git so, beside what the environment configures already."""
    if not wanted:
        return {}
    said = environment.get("GIT_CONFIG_COUNT", "")
    first = int(said) if said.isdecimal() else 0
    made = {"GIT_CONFIG_COUNT": str(first + len(wanted))}
    for number, (key, value) in enumerate(wanted.items(), first):
        made |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return made


def request_of(target: str, method: str, remotes: Sequence[str]) -> GitRequest:
    """Return the request to a remote that a target asks for.

    Raises:
        GitRemoteError: It is none of git's, or the remote is not among these.
    """
    found = _TARGET.fullmatch(target)
    if found is None or method != ("GET" if "?" in found["ask"] else "POST"):
        raise GitRemoteError(f"{method} {target[:200]} is no request of git's to a remote.")
    remote = f"https://{found['host']}{found['path']}"
    if not any(remote == each or remote.startswith(f"{each.rstrip('/')}/") for each in remotes):
        raise GitRemoteError(
            f"{remote} is not among the remotes that agents may reach. Leave the work in a branch, or say that it "
            "should be pushed. A person can name the remote in sandbox.git_remotes of the configuration."
        )
    return GitRequest(remote, found["host"], found["path"] + found["ask"])


class GitLogins:
    """Logins of remotes, by the person's own credential helpers. Blocks.

    Args:
        environ: The gateway's environment.
        clock: Tells how old an answer is.
    """

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._environ, self._clock = environ, clock
        self._known: dict[str, tuple[str, float]] = {}
        self._failed: dict[str, tuple[CredentialError, float]] = {}

    def header(self, remote: str) -> str:
        """Return the authorization for a remote.

        Raises:
            CredentialError: No helper has a login for it.
        """
        now = self._clock.mono()
        value, at = self._known.get(remote, ("", 0.0))
        if value and now - at <= KEPT_SECONDS:
            return value
        error, failed = self._failed.get(remote, (None, 0.0))
        if error is not None and now - failed <= FAILED_SECONDS:
            raise CredentialError(error.what, way_out=error.way_out)
        try:
            value = self._ask(remote)
        except CredentialError as why:
            _add(self._failed, remote, (why, now))
            raise
        _add(self._known, remote, (value, now))
        return value

    def refused(self, remote: str) -> None:
        """Take note that a login was refused: the helpers are asked again at the next request."""
        self._known.pop(remote, None)

    def _ask(self, remote: str) -> str:
        url = urlsplit(remote)
        about = f"protocol=https\nhost={url.netloc}\npath={url.path.lstrip('/')}\n\n"
        environment = {**self._environ, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
        try:
            done = run_child(
                ChildCommand(
                    argv=("git", "credential", "fill"),
                    environment=environment,
                    errors="nowhere",
                    seconds=COMMAND_SECONDS,
                    output_bytes=MOST_BYTES,
                    folder="/",
                    stdin=about.encode(),
                )
            )
        except OSError as error:
            raise CredentialError(f"Git cannot be asked for the login of {url.netloc}: {error}.") from error
        said = dict(line.partition("=")[::2] for line in done.output.decode(errors="replace").splitlines())
        user, password = said.get("username", ""), said.get("password", "")
        if done.code != 0 or not password:
            raise CredentialError(
                f"No credential helper of git has a login for {remote}.",
                way_out="A person stores one, outside of the sandbox: git credential approve, or a push by hand.",
            )
        return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


T = TypeVar("T")


def _add(known: MutableMapping[str, T], remote: str, value: T) -> None:
    if len(known) >= MOST_REMOTES:
        known.clear()
    known[remote] = value
