"""The processes at the other end of a loopback connection.

TCP has no peer credentials. The kernel lists the sockets of the machine with their inodes (proc(5), `/proc/net/tcp`),
and a process that holds a socket has a link to its inode in `/proc/PID/fd`.

Standard library only: the relay runs this with no packages on its path.
"""

import os
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

from supervisor.runtime.shim import process_tree

SocketAddress = tuple[str, int]
"""An IPv4 address and a port."""

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")

MAPPED = "0000000000000000FFFF0000"
"""How the table for IPv6 begins an IPv4 address (RFC 4291, 2.5.5.2), in the byte order of that table."""

LOCAL, REMOTE, UID, INODE = 1, 2, 7, 9
"""Columns of the tables, see proc_net_tcp in the kernel's documentation."""


class HeldSocket(NamedTuple):
    """A socket of the kernel's table."""

    inode: int
    """0 if no process holds it any more."""
    uid: int


class Holders(NamedTuple):
    """The processes that hold a socket."""

    known: list[int]
    hidden: list[int]
    """Processes of the socket's user that forbid being looked into, each a possible holder."""


def socket_of(client: SocketAddress, server: SocketAddress) -> HeldSocket | None:
    """Return the client's socket; None if there is none. Blocks for less than 1 ms, as 100 sockets are listed."""
    ours, theirs = _spelled(server), _spelled(client)
    for path in TABLES:
        for line in process_tree.read(path).splitlines()[1:]:
            fields = line.split()
            if fields[LOCAL].removeprefix(MAPPED) == theirs and fields[REMOTE].removeprefix(MAPPED) == ours:
                return HeldSocket(int(fields[INODE]), int(fields[UID]))
    return None


def _spelled(address: SocketAddress) -> str:
    """Return an address as the tables have it: the number in the machine's byte order, in hexadecimal."""
    (number,) = struct.unpack("=I", socket.inet_aton(address[0]))
    return f"{number:08X}:{address[1]:04X}"


def holders(wanted: HeldSocket) -> Holders:
    """Return all processes that hold a socket. Blocks for some 10 ms."""
    found = Holders([], [])
    for pid in map(int, filter(str.isdecimal, process_tree.listing("/proc"))):
        held = holds(pid, wanted)
        if held is None and _uid(pid) == wanted.uid:
            found.hidden.append(pid)
        elif held:
            found.known.append(pid)
    return found


def first_holder(wanted: HeldSocket) -> int:
    """Return a process that holds a socket, 0 if none is found; the youngest are looked at first.

    Blocks for less than 1 ms if it is one of these, and for some 10 ms if not.
    """
    youngest = sorted(map(int, filter(str.isdecimal, process_tree.listing("/proc"))), reverse=True)
    return next((pid for pid in youngest if holds(pid, wanted)), 0)


def holds(pid: int, wanted: HeldSocket) -> bool | None:
    """Whether a process holds a socket; None if it forbids being looked into."""
    link = f"socket:[{wanted.inode}]"
    try:
        return link in _links(pid)
    except PermissionError:
        return None
    except OSError as error:
        process_tree.expect_gone(error)
        return False


def _links(pid: int) -> Iterator[str]:
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):  # noqa: PTH208 - a thousand descriptors at a time, as names
        try:
            yield os.readlink(f"{folder}/{name}")  # noqa: PTH115 - the same
        except FileNotFoundError:
            continue  # closed meanwhile


def _uid(pid: int) -> int:
    """The real user of a process; -1 if it has gone."""
    line = next((one for one in process_tree.read(f"/proc/{pid}/status").splitlines() if one.startswith("Uid:")), "")
    return int(line.split()[1]) if line else -1
