"""The interface to systemd: sd_notify(3), the watchdog, and sockets that it opened.

Nothing happens if systemd did not start this process.
"""

import os
import socket
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from monitors.contract.errors import ChaperonError

FIRST_SOCKET = 3
"""Descriptor of the first socket handed over: SD_LISTEN_FDS_START of sd_listen_fds(3)."""

MAX_STATUS = 1000
"""Characters of a status that are sent. systemd shows one line, and a datagram must fit its buffer."""


class ActivationError(ChaperonError):
    """The service manager handed over something else than it said."""


class Notifier:
    """Tells the service manager how the daemon is, by datagrams to its socket."""

    def __init__(self, address: str | None) -> None:
        """Take the value of NOTIFY_SOCKET: a path, `@` and a name for an abstract socket, or None for no notices."""
        self._address = f"\0{address[1:]}" if address and address.startswith("@") else address

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str]) -> "Notifier":
        """Take the address out of the environment, so that no child speaks in our name."""
        return cls(environ.pop("NOTIFY_SOCKET", None) or None)

    @property
    def listening(self) -> bool:
        """Whether notices were requested."""
        return self._address is not None

    def ready(self, status: str = "") -> bool:
        """Say that start-up is over."""
        return self._tell({"READY": "1", **_status(status)})

    def status(self, text: str) -> bool:
        """Say in a line what is going on."""
        return self._tell(_status(text))

    def watchdog(self) -> bool:
        """Say that all is well; to be called more often than `watchdog_interval`, and only when it is true."""
        return self._tell({"WATCHDOG": "1"})

    def stopping(self) -> bool:
        """Say that an orderly stop began."""
        return self._tell({"STOPPING": "1"})

    def extend(self, micros: int) -> bool:
        """Ask for more time to start or stop, in microseconds from now; a long journal takes long to read."""
        return self._tell({"EXTEND_TIMEOUT_USEC": str(micros)})

    def _tell(self, fields: Mapping[str, str]) -> bool:
        """Send, and return whether it was taken. A manager that went away is no reason to fail, nor to wait."""
        if self._address is None:
            return False
        data = "\n".join(f"{name}={value}" for name, value in fields.items()).encode(errors="replace")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as channel:
            try:
                channel.sendto(data, self._address)
            except OSError:
                return False
        return True


def _status(text: str) -> dict[str, str]:
    """A line break would begin another field."""
    line = " ".join(text.split())[:MAX_STATUS]
    return {"STATUS": line} if line else {}


def watchdog_interval(environ: Mapping[str, str], pid: int) -> float | None:
    """Return how often to call `Notifier.watchdog`, in seconds; None if it is not awaited.

    It is a third of the time after which systemd acts, so that one late or lost message does no harm
    (sd_watchdog_enabled(3) advises half).
    """
    try:
        micros = int(environ["WATCHDOG_USEC"])
        meant = int(environ.get("WATCHDOG_PID", pid))
    except (KeyError, ValueError):
        return None
    return micros / 3_000_000 if micros > 0 and meant == pid else None


@dataclass(frozen=True, slots=True)
class HandedSocket:
    """A socket that the service manager opened for us."""

    name: str
    """Its FileDescriptorName, `unknown` if there is none."""
    socket: socket.socket


def listen_sockets(environ: MutableMapping[str, str], pid: int) -> Sequence[HandedSocket]:
    """Take over the sockets that were handed to this process; none if they are meant for another.

    They are made close-on-exec, and the variables are removed, so that no agent gets either.

    Raises:
        ActivationError: A descriptor is no listening Unix stream socket, or the variables cannot be read.
    """
    count, meant, names = (environ.pop(name, "") for name in ("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"))
    if not count or meant != str(pid):
        return ()
    if not count.isdecimal():
        raise ActivationError(f"LISTEN_FDS is {count!r}, which is no number.", way_out="See the unit's socket.")
    labels = [*names.split(":"), *["unknown"] * int(count)]
    return [HandedSocket(labels[n] or "unknown", _taken(FIRST_SOCKET + n)) for n in range(int(count))]


def _taken(descriptor: int) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)
        handed = socket.socket(fileno=descriptor)
    except OSError as error:
        raise _no_socket(descriptor, error.strerror or str(error)) from error
    if handed.family != socket.AF_UNIX or handed.type != socket.SOCK_STREAM:
        handed.detach()
        raise _no_socket(descriptor, "it is no Unix stream socket")
    if not handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        handed.detach()
        raise _no_socket(descriptor, "it does not listen (Accept=yes is not supported)")
    handed.setblocking(False)
    return handed


def _no_socket(descriptor: int, why: str) -> ActivationError:
    return ActivationError(
        f"The service manager handed over descriptor {descriptor}, which cannot be used: {why}.",
        way_out="Check ListenStream= in chaperon.socket.",
    )
