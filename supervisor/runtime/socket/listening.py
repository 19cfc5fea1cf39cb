"""The listening sockets: the Unix socket, and the TCP port for metrics.

Apart from what answers there, because that takes half of the daemon's start to import. Whoever asks before it is there
waits in the socket's queue.
"""

import errno
import os
import socket
import stat
from pathlib import Path

from host import unix_sockets
from monitors.contract.errors import ChaperonError

BACKLOG = 128
"""Connections that may wait: `chaperon` commands in scripts come in bursts."""


class SocketTakenError(ChaperonError):
    """A living daemon listens on the socket."""


def listen(path: Path, mode: int = 0o600) -> socket.socket:
    """Listen on the path; a socket that a dead daemon left is taken over.

    Raises:
        SocketTakenError: A living daemon listens there, or what is there is no socket. Nothing was changed.
    """
    _clear(path)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~mode)
    try:
        server.bind(str(path))
    finally:
        os.umask(before)
    server.listen(BACKLOG)
    return server


def _clear(path: Path) -> None:
    """Remove what a dead daemon left on the path."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise SocketTakenError(
                f"{path} exists and is not a socket, so it was left alone.", way_out="Move it away, and start again."
            )
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            unix_sockets.connect(probe, str(path), 1.0)
        except OSError as error:
            if error.errno not in (errno.ECONNREFUSED, errno.ENOENT):
                raise SocketTakenError(f"{path} could not be probed ({error}), so it was left alone.") from error
        else:
            raise SocketTakenError(
                f"A daemon already listens on {path}; this one was not started.",
                way_out="Use that one (chaperon ps), or stop it first.",
            )
    path.unlink(missing_ok=True)


class MetricsPortError(ChaperonError):
    """The port for metrics could not be had."""


def listen_for_metrics(address: str) -> socket.socket:
    """Listen on an address like `127.0.0.1:9464`, which the configuration has checked.

    Raises:
        MetricsPortError: Somebody else does already, or this machine has no such address.
    """
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), int(port)))
        listening.listen(16)
    except OSError as error:
        listening.close()
        raise MetricsPortError(
            f"The metrics cannot be served on {address} ({error.strerror}); nothing was started.",
            way_out="Change metrics.listen, or leave it out: the socket serves /metrics too.",
        ) from error
    return listening
