"""The daemon's heartbeat for the service manager: sent only while loop, journal and agents are well."""

import os
import socket
from collections.abc import Callable, Mapping, MutableMapping

import anyio

from supervisor.runtime.journal.journal import Journal, JournalState
from supervisor.runtime.log import log
from supervisor.runtime.services.systemd import Notifier, listen_sockets, watchdog_interval


async def beat(
    unwatched: Callable[[], list[str]], journal: Journal, notifier: Notifier, environ: Mapping[str, str]
) -> None:
    """Send the heartbeat as often as was requested; nothing without a request.

    A missed beat is logged with its reason; after enough of them the service manager starts the daemon anew, and the
    new one adopts the agents.
    """
    interval = watchdog_interval(environ, os.getpid())
    while interval is not None:
        problem = await ailment(unwatched, journal, interval)
        if problem:
            log.error("no heartbeat: %s", problem)
        else:
            notifier.watchdog()
        await anyio.sleep(interval)


async def ailment(unwatched: Callable[[], list[str]], journal: Journal, patience_seconds: float) -> str:
    """Return the fault of the daemon; empty if it is well. That this runs shows that the loop turns."""
    if alone := unwatched():
        return f"nobody watches over {', '.join(alone)}"
    if journal.state is JournalState.FULL:
        return ""  # an incident that a person must end; a new daemon would find the same disk
    with anyio.move_on_after(patience_seconds) as waiting:
        await journal.synced(journal.last)
    return f"the journal was not synced within {patience_seconds:g} s" if waiting.cancelled_caught else ""


def listening_socket(environ: MutableMapping[str, str]) -> socket.socket | None:
    """The socket that the service manager opened for us, or None if it opened none."""
    handed = listen_sockets(environ, os.getpid())
    return handed[0].socket if handed else None
