"""The relay's connections to the daemon's socket of hooks.

Standard library only: the relay runs this with no packages on its path.
"""

import select
import socket
from collections import deque
from contextlib import suppress

from supervisor.runtime.attached.http_messages import HttpError, Messages

MOST_IDLE = 32
"""Connections to the daemon that are kept for the next hook. A command's hook would else make one of its own each time,
and the daemon looks at the process of each."""


class DaemonConnection:
    """The connection to the daemon's socket of hooks.

    Args:
        path: The socket.

    Raises:
        OSError: The daemon is not there.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._messages = Messages(self.sock)
        try:
            self.sock.connect(path)  # without a time limit, so that a full queue is waited for
        except OSError:
            self.sock.close()
            raise

    def ask(self, body: bytes, headers: dict[str, str]) -> None:
        """Send a hook, all of it at once, so that the daemon wakes once."""
        about = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"POST /v1/hooks HTTP/1.1\r\nhost: chaperon\r\n{about}content-length: {len(body)}\r\n\r\n"
        self.sock.sendall(head.encode("latin-1") + body)

    def answer(self) -> tuple[int, bytes, bool]:
        """Read the answer: its status, what it says, and whether the connection serves another hook.

        Raises:
            EOFError: It was cut.
            HttpError: It is none.
            OSError: The connection broke.
        """
        head = self._messages.head()
        if head is None:
            raise EOFError("it hung up without an answer")
        status = head.first[1]
        if not status.isdecimal() or head.length < 0:
            raise HttpError("its answer has no status, or no length")
        return int(status), self._messages.body(head.length), not head.closes

    def close(self) -> None:
        """Hang up."""
        self.sock.close()

    def is_fresh(self) -> bool:
        """Whether the connection can be used: the daemon has not closed it."""
        return not is_readable(self.sock)


class DaemonConnections:
    """Those that no hook uses now, for the next one."""

    def __init__(self) -> None:
        self._idle: deque[DaemonConnection] = deque()

    def take(self, path: str) -> DaemonConnection:
        """Return a connection to this socket, one that another hook left if it can be.

        Raises:
            OSError: The daemon is not there.
        """
        with suppress(IndexError):  # none is left, or another thread was quicker
            while True:
                found = self._idle.pop()
                if found.path == path and found.is_fresh():
                    return found
                found.close()
        return DaemonConnection(path)

    def keep(self, daemon: DaemonConnection) -> None:
        """Keep a connection whose answer was read to its end for the next hook; the oldest one too many is closed."""
        self._idle.append(daemon)
        with suppress(IndexError):  # another thread took them meanwhile
            while len(self._idle) > MOST_IDLE:
                self._idle.popleft().close()


def is_readable(connection: socket.socket) -> bool:
    """Whether something came, or the other end hung up."""
    look = select.poll()
    look.register(connection, select.POLLIN)
    return bool(look.poll(0))
