"""Whether a process at the other end of a loopback connection is an agent's.

A process that forbids being looked into is a possible holder of each socket whose holder is not found, so an agent's
process gains nothing by it. A connection whose holder cannot be determined is refused.
"""

import os
from collections.abc import Collection

from supervisor.runtime.shim import marks, process_tree
from supervisor.runtime.shim.socket_owner import SocketAddress, holders, socket_of


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
    known, hidden = holders(found)
    # Shims forbid being looked into, and are never who connects: their programs are looked at one by one.
    hidden = [pid for pid in hidden if pid not in shims]
    for pid in known or hidden:
        line = process_tree.lineage(pid)
        if line is None and known:
            return "the process that connected has gone"
        if marks.is_marked(pid) or set(line or ()) & set(shims):
            return "an agent's own process may not steer agents"
    return "" if known or hidden else "the process that connected cannot be determined"
