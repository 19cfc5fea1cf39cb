"""Whether a process at the other end of a loopback connection is an agent's.

A process that forbids being looked into is a possible holder of each socket whose holder is not found, so an agent's
process gains nothing by it. A connection whose holder cannot be determined is refused.

A holder can end while it is judged: a child holds all that its parent has open until it becomes another program. Then
those that are left decide, if one of them is known to hold the socket; if not, all is looked at again.
"""

import os
from collections.abc import Collection

from supervisor.runtime.shim import marks, process_tree
from supervisor.runtime.shim.socket_owner import LOOKS, SocketAddress, holders, socket_of


def refusal(client: SocketAddress, server: SocketAddress, shims: Collection[int]) -> str:
    """Return why a connection is refused, as a part of a sentence; empty if it is a person's. Blocks for some 10 ms.

    Args:
        client: The other end.
        server: Our end.
        shims: Process ids of the shims of agents, below which all is the agents'.
    """
    found = socket_of(client, server)
    if found is None or found.inode == 0:
        return "the process that connected has gone"
    if found.uid not in (0, os.geteuid()):
        return f"it comes from user {found.uid}, and the panel is user {os.geteuid()}'s"
    known: list[int] = []
    for _ in range(LOOKS):
        known, hidden, settled = holders(found)
        # Shims forbid being looked into, and are never who connects: their programs are looked at one by one.
        hidden = [pid for pid in hidden if pid not in shims]
        judged = [_is_agents(pid, shims) for pid in known or hidden]
        if True in judged:
            return "an agent's own process may not steer agents"
        if False in judged and (known or (settled and None not in judged)):
            return ""
        if not judged and settled:
            break
    return "the process that connected has gone" if known else "the process that connected cannot be determined"


def _is_agents(pid: int, shims: Collection[int]) -> bool | None:
    """Whether a process is an agent's; None if it has ended."""
    line, mark = process_tree.lineage(pid), marks.mark_of(pid)
    if mark is None:
        return None
    if mark < marks.own():
        return True
    return None if line is None else not set(line).isdisjoint(shims)
