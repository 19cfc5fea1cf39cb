"""The peer of a Unix socket, as the kernel noted it when the connection was made.

Standard library only: the shim runs this with no packages on its path.
"""

import errno
import os
import select
import socket
import struct
from collections.abc import Collection
from typing import NamedTuple

from supervisor.runtime.shim import process_tree

SO_PEERPIDFD = 77
"""Of `asm-generic/socket.h`, from Linux 6.5 on: a handle of the process that connected, and not its number alone."""


class Peer(NamedTuple):
    """A process and its user."""

    pid: int
    """0 if the process is in no pid namespace that can be seen from here."""
    uid: int


def peer_of(connection: socket.socket) -> Peer:
    """The process that connected, or that listens where we connected."""
    pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return Peer(pid, uid)


class Handle:
    """A process by a handle of the kernel, which never means another process as a reused number would.

    Without `SO_PEERPIDFD` the handle is made from the number: a process whose number was taken by another between the
    connection and this look is not distinguished from that other one.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Take a handle of the peer.

        Raises:
            OSError: The process has gone, or the handle cannot be had: out of descriptors, for one.
        """
        try:
            self._fd = connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
        except OSError as error:
            if error.errno != errno.ENOPROTOOPT:  # which an older kernel answers
                raise
            self._fd = os.pidfd_open(peer_of(connection).pid)

    def __enter__(self) -> "Handle":
        """Close the handle with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Give the handle back."""
        os.close(self._fd)

    def has_ended(self) -> bool:
        """Whether the process has ended, reaped or not: its handle is readable from then on (pidfd_open(2))."""
        look = select.poll()
        look.register(self._fd, select.POLLIN)
        return bool(look.poll(0))


def lineage_of(connection: socket.socket) -> list[int] | None:
    """Return the peer's process and all above it; None if they are not known: it has ended, or cannot be read.

    A process can connect and end at once, and leave the connection to another. The handle is looked at last: a process
    that lives then was the same one all the time.
    """
    try:
        with Handle(connection) as handle:
            line = process_tree.lineage(peer_of(connection).pid)
            return None if handle.has_ended() else line
    except OSError:
        return None


def stranger(connection: socket.socket, hosts: Collection[int]) -> str:
    """Return why the listener at the other end is not trusted; empty if it runs as one of these users."""
    peer = peer_of(connection)
    if peer.uid in hosts:
        return ""
    return f"process {peer.pid} of user {peer.uid} listens there, and this is user {os.geteuid()}"
