"""The processes at the other end of a loopback connection, and whether one of them is an agent's.

TCP has no peer credentials. The kernel lists the sockets of the machine with their inodes (proc(5), `/proc/net/tcp`),
and a process that holds a socket has a link to its inode in `/proc/PID/fd`. A process that forbids being looked into
is a possible holder of each socket whose holder is not found, so an agent's process gains nothing by it. A connection
whose holder cannot be determined is refused.
"""

import os
import socket
import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple

from supervisor.runtime.shim import marks, process_tree

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


def refusal(client: SocketAddress, server: SocketAddress, shims: Collection[int]) -> str:
    """Return why a connection is refused, as a part of a sentence; empty if it is a person's. Blocks for some 10 ms.

    Args:
        client: The other end.
        server: Our end.
        shims: Process ids of the shims of agents, below which all is the agents'.
    """
    found = _socket_of(client, server)
    if found is None or found.inode == 0:
        return "the process that connected has gone"
    if found.uid not in (0, os.getuid()):
        return f"it comes from user {found.uid}, and the panel is user {os.getuid()}'s"
    holders, hidden = _holders(found)
    for pid in holders or hidden:
        line = process_tree.lineage(pid)
        if line is None and holders:
            return "the process that connected has gone"
        if marks.is_marked(pid) or set(line or ()) & set(shims):
            return "an agent's own process may not steer agents"
    return "" if holders or hidden else "the process that connected cannot be determined"


def _socket_of(client: SocketAddress, server: SocketAddress) -> HeldSocket | None:
    """Return the client's socket; None if there is none."""
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


def _holders(wanted: HeldSocket) -> tuple[list[int], list[int]]:
    """Return the processes that hold a socket, and those of its user into which one cannot look."""
    holders, hidden, link = [], [], f"socket:[{wanted.inode}]"
    for pid in map(int, filter(str.isdecimal, process_tree.listing("/proc"))):
        try:
            if link in _links(pid):
                holders.append(pid)
        except PermissionError:
            if _uid(pid) == wanted.uid:
                hidden.append(pid)
        except OSError as error:
            process_tree.expect_gone(error)
    return holders, hidden


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
