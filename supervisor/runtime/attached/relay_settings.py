"""The settings of the relay: its port, the key of its tokens, and where the daemon's socket is.

They lie in a folder that this user alone can read, and outlive daemons, so that hooks in settings files stay good. A
token is no secret that is kept anywhere: it is its subject, signed with the key.

Standard library only: the relay runs this with no packages on its path.
"""

import hashlib
import hmac
import json
import os
import random
import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import NamedTuple

LOOPBACK = "127.0.0.1"

ROUTE = "/chaperon-hooks/"
"""How the path of a hook's address begins. Behind it stands the event."""

PORTS = range(20_000, 32_000)
"""Ports of which one is taken: below those that Linux gives to outgoing connections (from 32,768 on), since one of
these could be in use when the relay starts again."""

NAME, FOR_SHELLS, LOCK = "relay.json", "relay.sh", "relay.lock"

LEFT = "relay.left.json"
"""The settings once nothing is attached: who attaches again has the same port, where a relay may still answer CLIs that
began before."""

LENT = "lent-"
"""How the name of a file begins that says which process, by its number and its start, uses the relay unattached."""

PROCESS = "chaperon-process"
"""The header by which the relay names the process that a hook is of: its number and its start."""

MOST_BYTES = 24 * 1024 * 1024
"""Longest body of a hook. With what is put around it, it stays below the longest line that is kept whole, 32 MiB."""

PORT_TAKEN = 3
"""Exit code: another process has the port."""

QUEUE = 1024
"""Connections that may wait at the port until they are taken."""

HELD = "held-by-daemon:"
"""How the word of a relay begins that gives it the number of a listening socket which its daemon holds too."""

TOKEN_VARIABLE = "CHAPERON_HOOKS_TOKEN"  # noqa: S105 - the variable's name
"""The variable by which a CLI that `chaperon exec` became is given its token."""


class RelaySettings(NamedTuple):
    """The agreement between attachments, the relay and the daemon."""

    port: int
    key: str
    """Hexadecimal."""
    socket: str
    """The daemon's socket of hooks."""

    def token(self, subject: str) -> str:
        """Return the token of a settings file (`f-…`), of a CLI's process (`p-PID-TICKS`), or of commands (`c-`)."""
        return f"{subject}.{self._signed(subject)}"

    def subject(self, token: str) -> str:
        """Return the subject of a token; empty if it is none of ours."""
        subject, _, signature = token.rpartition(".")
        return subject if hmac.compare_digest(signature.encode(), self._signed(subject).encode()) else ""

    @property
    def proof(self) -> str:
        """The word by which a program that reads the settings knows the relay."""
        return self._signed("relay")

    def address(self, event: str, when_away: str, wait: float) -> str:
        """Return the address for an event's hook."""
        return f"http://{LOOPBACK}:{self.port}{ROUTE}{event}?away={when_away}&wait={wait:g}"

    def _signed(self, subject: str) -> str:
        return hmac.new(bytes.fromhex(self.key), subject.encode(errors="replace"), hashlib.sha256).hexdigest()[:40]


def read(folder: Path, name: str = NAME) -> RelaySettings | None:
    """Return the settings; None if there are none that could be used. Blocks."""
    try:
        found = json.loads((folder / name).read_bytes())
        settings = RelaySettings(int(found["port"]), str(found["key"]), str(found["socket"]))
        return settings if bytes.fromhex(settings.key) and 0 < settings.port < 2**16 else None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def planned(folder: Path, socket_path: Path) -> RelaySettings:
    """Return the settings that `write` would keep, with the same port, and a key of its own if there is none. Blocks.

    Raises:
        OSError: There is no free port.
    """
    found = read(folder) or read(folder, LEFT)
    return RelaySettings(
        found.port if found else _free_port(folder), found.key if found else secrets.token_hex(32), str(socket_path)
    )


def write(folder: Path, socket_path: Path) -> RelaySettings:
    """Return the settings of this folder, made if there are none, with this socket of the daemon. Blocks.

    Raises:
        OSError: They cannot be kept.
    """
    settings = planned(folder, socket_path)
    if settings != read(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _put(folder / FOR_SHELLS, f"{settings.port}\n{settings.token('c-')}\n{settings.proof}\n")
        _put(folder / NAME, json.dumps(settings._asdict()))
        (folder / LEFT).unlink(missing_ok=True)
    return settings


def lend(folder: Path, subject: str) -> None:
    """Note that a process, `p-PID-TICKS`, uses the relay though nothing need be attached."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / f"{LENT}{subject.removeprefix('p-')}").touch(mode=0o600)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep others away who attach, detach, or end the relay meanwhile."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        flock(file, LOCK_EX)
        yield


def end_if_unused(folder: Path, is_alive: Callable[[int, int], bool]) -> None:
    """Take the settings away if nothing is attached, and of the processes that the relay was lent to none lives."""
    with suppress(OSError), (folder / "lock").open("w") as file:
        flock(file, LOCK_EX | LOCK_NB)
        for lent in folder.glob(f"{LENT}*"):
            pid, _, ticks = lent.name.removeprefix(LENT).partition("-")
            if not (pid.isdigit() and ticks.isdigit() and is_alive(int(pid), int(ticks))):
                lent.unlink()
        used = [one for one in folder.iterdir() if one.name.startswith(LENT) or one.suffix == ".json"]
        if not any(one.name not in (NAME, LEFT) for one in used):
            remove(folder)


def words(folder: Path) -> list[str]:
    """Return the words that start a relay, the program's path first."""
    root = Path(__file__).parents[3]
    code = (
        f"import sys; sys.path.append({str(root)!r}); from supervisor.runtime.attached.relay import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    return [sys.executable, "-I", "-S", "-c", code, str(folder)]


def remove(folder: Path) -> None:
    """Take the settings away; the relay ends with the last CLI that it served."""
    (folder / FOR_SHELLS).unlink(missing_ok=True)
    if (folder / NAME).exists():
        (folder / NAME).replace(folder / LEFT)


def _put(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _free_port(folder: Path) -> int:
    """Return a port that is free, for one folder the same one each time as long as it is free."""
    for port in random.Random(str(folder)).sample(PORTS, 100):
        with socket.socket() as trial:
            try:
                trial.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise OSError(f"none of 100 ports of {PORTS.start} to {PORTS.stop} is free")
