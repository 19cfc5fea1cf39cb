"""The listening sockets: the Unix socket, and the TCP port for metrics.

Apart from what answers there, because that takes half of the daemon's start to import. Whoever asks before it is there
waits in the socket's queue.
"""

import errno
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

from host import unix_sockets
from monitors.contract.errors import ChaperonError

BACKLOG = 128
"""Connections that may wait: `chaperon` commands in scripts come in bursts."""


class SocketTakenError(ChaperonError):
    """A living daemon listens on the socket."""


class OwnSocket(socket.socket):
    """A listening Unix socket, whose path is made again if it is taken away while it is listened on.

    The end of a login session takes `XDG_RUNTIME_DIR` away, and programs that clean `/tmp` what is there: without its
    path a daemon lives on with its agents, and no person can stop them.
    """

    def __init__(self, path: Path, mode: int, remake: Callable[[], object]) -> None:
        """Listen on the path, as `listen` has it."""
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM)
        self.path, self._mode, self._remake = path, mode, remake
        try:
            # bind(2) gives the path the socket's own mode, less the umask. To set the umask would set that of all
            # threads: two that did so at once left the daemon, and its agents, with one that closed each new folder.
            os.fchmod(self.fileno(), mode)
            self.bind(str(path))
            if stat.S_IMODE(path.lstat().st_mode) != mode:
                path.chmod(mode)
        except OSError as error:
            self.close()
            error.filename = error.filename or str(path)  # the kernel's names none, as of a folder without room
            raise
        self.listen(BACKLOG)
        self._inode = _inode_of(path)
        self.lost = ""
        """Why it is not reached by its path, as a clause, by the last look; empty if it is."""

    def regain(self) -> bool:
        """Listen anew if nothing is on the path any more; return whether that was done. Blocks.

        The descriptor stays the same. It fails while the directory cannot be made, as until the person signs in again.
        What others put in its place is left alone.
        """
        try:
            if there := _inode_of(self.path):
                self.lost = "" if there == self._inode else "something else is in its place"
                return False
            self._remake()
            made = listen(self.path, self._mode)
        except (OSError, ChaperonError) as error:
            self.lost = f"it was gone, and could not be made again ({error})"
            return False
        with made:
            os.set_blocking(made.fileno(), self.getblocking())
            os.dup2(made.fileno(), self.fileno(), inheritable=False)
        self._inode, self.lost = _inode_of(self.path), ""
        return True

    def leave(self) -> None:
        """Close it, and remove its path if that is still this socket's."""
        self.close()
        if _inode_of(self.path) == self._inode:
            self.path.unlink(missing_ok=True)


def _inode_of(path: Path) -> int:
    """Return the inode of a path, 0 if nothing is there."""
    try:
        return path.lstat().st_ino
    except (FileNotFoundError, NotADirectoryError):
        return 0


def listen(path: Path, mode: int = 0o600, remake: Callable[[], object] = lambda: None) -> OwnSocket:
    """Listen on the path; a socket that a dead daemon left is taken over.

    Args:
        path: The path.
        mode: Its mode.
        remake: Makes its directory again if it is gone.

    Raises:
        SocketTakenError: A living daemon listens there, or what is there is no socket. Nothing was changed.
    """
    _clear(path)
    return OwnSocket(path, mode, remake)


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
