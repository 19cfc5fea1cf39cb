"""The processes at the other end of a loopback connection.

TCP has no peer credentials. The kernel names the inode and the user of a socket by its two ends (sock_diag(7)), and a
process that holds a socket has a link to its inode in `/proc/PID/fd`. If the kernel does not answer that question, the
table of all sockets is read (proc(5), `/proc/net/tcp`).

Standard library only: the relay runs this with no packages on its path.
"""

import contextlib
import errno
import os
import socket
import struct
from itertools import takewhile
from typing import NamedTuple

from host.identity import looking
from supervisor.runtime.shim import process_tree

SocketAddress = tuple[str, int]
"""An IPv4 address and a port."""

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")

MAPPED = "0000000000000000FFFF0000"
"""How the table for IPv6 begins an IPv4 address (RFC 4291, 2.5.5.2), in the byte order of that table."""

LOCAL, REMOTE, UID, INODE = 1, 2, 7, 9
"""Columns of the tables, see proc_net_tcp in the kernel's documentation."""

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, NLMSG_ERROR = 4, 20, 1, 2
"""Numbers of sock_diag(7) and netlink(7)."""

HEADER_BYTES = 16
"""Length of a netlink message's header."""

PORTS_OFFSET = 4
"""Place of the two ports in `struct inet_diag_msg`, behind four bytes."""

UID_OFFSET = 64
"""Offset of the user in `struct inet_diag_msg`: behind four bytes, the 48 of the two ends, and three numbers. The
inode is next."""

ALL_STATES = 0xFFFFFFFF

ANY_INTERFACE_AND_COOKIE = struct.pack("=I", 0) + b"\xff" * 8
"""The end of `struct inet_diag_sockid`: no interface, and INET_DIAG_NOCOOKIE twice."""

LOOKS = 5
"""How often a holder is looked for that goes while it is looked at: children between fork and exec live for less than a
millisecond, on a busy machine for some. From the second look on only those are left that came during the one before,
which takes a hundredth of the first."""

ANSWER_SECONDS = 1.0
"""How long the kernel is waited for. It answers within the send."""


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
    settled: bool
    """False if processes kept ending before they were looked at: each may have left the socket to a child."""


def socket_of(client: SocketAddress, server: SocketAddress) -> HeldSocket | None:
    """Return the client's socket; None if there is none. Blocks for some microseconds, without sock_diag for 3 ms."""
    try:
        return _asked(client, server)
    except OSError:  # a kernel without sock_diag(7), or a filter of system calls
        return _listed(client, server)


def _asked(client: SocketAddress, server: SocketAddress) -> HeldSocket | None:
    """Ask the kernel for the one socket (sock_diag(7)): 14 microseconds.

    Raises:
        OSError: It does not answer such a question.
    """
    (source, source_port), (target, target_port) = client, server
    ends = struct.pack("!HH16s16s", source_port, target_port, socket.inet_aton(source), socket.inet_aton(target))
    wanted = struct.pack("=BBxxI", socket.AF_INET, socket.IPPROTO_TCP, ALL_STATES) + ends + ANY_INTERFACE_AND_COOKIE
    header = struct.pack("=IHHII", HEADER_BYTES + len(wanted), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(ANSWER_SECONDS)
        kernel.send(header + wanted)
        answer = kernel.recv(4096)
    try:
        _, kind = struct.unpack_from("=IH", answer)
        if kind == NLMSG_ERROR:
            (number,) = struct.unpack_from("=i", answer, HEADER_BYTES)
            if -number == errno.ENOENT:
                return None
            raise OSError(-number, os.strerror(-number))
        ports = struct.unpack_from("!HH", answer, HEADER_BYTES + PORTS_OFFSET)
        uid, inode = struct.unpack_from("=II", answer, HEADER_BYTES + UID_OFFSET)
    except struct.error as error:
        raise OSError(errno.EBADMSG, f"the kernel's answer has {len(answer)} bytes") from error
    if ports != (source_port, target_port):  # without such a connection it names who listens on the client's port
        return None
    return HeldSocket(inode, uid)


def _listed(client: SocketAddress, server: SocketAddress) -> HeldSocket | None:
    """Look it up in the tables, for which the kernel goes through all places for sockets."""
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
    """Return all processes that hold a socket, with those that came while others were looked at.

    Blocks for some 10 ms.
    """
    link, known, hidden = f"socket:[{wanted.inode}]", list[int](), list[int]()
    seen = set[int]()
    for _ in range(LOOKS):
        new = [pid for pid in map(int, filter(str.isdecimal, process_tree.listing("/proc"))) if pid not in seen]
        seen.update(new)
        ended = False
        for pid in new:
            try:
                links = _links(pid)
            except PermissionError:
                uid = _uid(pid)
                ended |= uid < 0
                if uid == wanted.uid:
                    hidden.append(pid)
                continue
            ended |= not links
            if link in links:
                known.append(pid)
        if not ended:
            return Holders(known, hidden, settled=True)
    return Holders(known, hidden, settled=False)


def first_holder(wanted: HeldSocket) -> int:
    """Return the process that opened a socket, as far as it still holds it; 0 if none is found.

    The youngest are looked at first. Of a process that is just starting another one the child holds it too, until it
    becomes that program: the first above that still holds it is taken.

    Blocks for less than 1 ms if it is one of the youngest, and for some 10 ms if not.
    """
    for _ in range(LOOKS):
        youngest = sorted(map(int, filter(str.isdecimal, process_tree.listing("/proc"))), reverse=True)
        found = next((pid for pid in youngest if holds(pid, wanted)), 0)
        if not found:
            break
        line = process_tree.lineage(found) or []  # none: it has gone meanwhile, as such a child does
        if holding := list(takewhile(lambda pid: holds(pid, wanted), line)):
            return holding[-1]
    return 0


def holds(pid: int, wanted: HeldSocket) -> bool | None:
    """Whether a process holds a socket; None if it forbids being looked into."""
    try:
        return f"socket:[{wanted.inode}]" in _links(pid)
    except PermissionError:
        return None


def _links(pid: int) -> list[str]:
    """Return what a process has open; empty if it has ended.

    Raises:
        PermissionError: It forbids being looked into.
    """
    folder, links = f"/proc/{pid}/fd", list[str]()
    try:
        with looking():
            for name in os.listdir(folder):  # noqa: PTH208 - a thousand descriptors at a time, as names
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    links.append(os.readlink(f"{folder}/{name}"))  # noqa: PTH115 - the same
    except PermissionError:
        raise
    except OSError as error:
        process_tree.expect_gone(error)
        return []
    return links


def _uid(pid: int) -> int:
    """The real user of a process; -1 if it has ended, though its parent may not have asked for its end yet."""
    lines = dict(line.split(":", 1) for line in process_tree.read(f"/proc/{pid}/status").splitlines() if ":" in line)
    return int(lines["Uid"].split()[0]) if lines and not lines["State"].lstrip().startswith(("Z", "X")) else -1
