"""Access control of the daemon's socket: every peer is checked first, and only an admitted one is served.

An agent may not steer itself or others, so no process of an agent is admitted. The check is of the process that
connected: its user, whether it still lives, its control group, its mark, and the processes above it. A peer that cannot
be checked, because it ended or because the check itself failed, is refused. A refused peer gets an answer and is
dropped at once.

Connections are accepted and checked in a thread. A program that connects in a loop costs the event loop nothing, and
each refusal makes the next peer wait a moment.
"""

import asyncio
import json
import os
import pwd
import select
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.abc import TaskGroup

from supervisor import __version__
from supervisor.protocol.words import VERSION_HEADER
from supervisor.runtime.log import log
from supervisor.runtime.shim import marks, process_tree
from supervisor.runtime.shim.credentials import Peer, lineage_of, peer_of
from supervisor.runtime.socket.listening import OwnSocket

MOST_CONNECTIONS = 4_096
"""Connections that are open at once. Each command that follows an agent holds one or two, and a machine for 1,000
agents has as many commands at most."""

SHARE_OF_DESCRIPTORS = 2
"""Connections may take one descriptor in so many; the rest is for agents, their checkpoints and the journal."""

REFUSAL_PAUSE_SECONDS = 0.001
"""Pause after a refusal, in which no peer is admitted. A program that connects in a loop so takes a tenth of a core
at most, and a person behind a full queue of 128 such peers waits for 0.2 s."""

QUIET_SECONDS = 2.0
"""Without a connection for so long it is looked whether the socket's path is still there: one `lstat`, and a person who
is told that no daemon listens tries again after some seconds."""

SHORT_SECONDS = 0.05
"""Pause where a connection cannot be taken, for want of descriptors or memory."""

ASKED_BYTES = 65_536
"""Of what a refused peer has asked already, the most that is thrown away, so that it reads the refusal and no error."""

Reason = Literal["user", "agent", "unknown", "gone", "full"]
"""Reasons of a refusal: another user; an agent's process; a process whose agent cannot be determined; a peer that
has hung up, so that there is none to answer; too many connections."""

WAYS_OUT: dict[Reason, str] = {
    "agent": "A person may ask it, in a terminal that no agent started.",
    "full": "Ask again once programs that hold connections have ended.",
}
"""Advice to a peer that was refused for it."""


@dataclass(frozen=True, slots=True)
class RefusedPeer:
    """A peer that was turned away."""

    reason: Reason
    why: str
    """The same as a part of a sentence."""
    peer: Peer
    name: str = ""
    """The short name of its process, where it still had one."""
    lineage: tuple[int, ...] = ()
    """Its process id and those of all processes above it, if they are known."""
    mark: int = 0
    """The agent's mark that it carries; 0 for none."""
    agent: str = ""
    """The agent of the process, if it is known."""

    def answer(self) -> bytes:
        """Return the answer to the peer, made without reading its request."""
        status = "503 Service Unavailable" if self.reason == "full" else "403 Forbidden"
        way_out = WAYS_OUT.get(self.reason, "")
        problem = {
            "kind": "Refused",
            "what": f"The daemon refuses this: {self.why}. Nothing was done.",
            "way_out": way_out,
        }
        body = json.dumps(problem).encode()
        head = (
            f"HTTP/1.1 {status}",
            "content-type: application/json",
            "connection: close",
            f"{VERSION_HEADER}: {__version__}",  # without it, a client takes the daemon for an older one
            f"content-length: {len(body)}",
        )
        return "\r\n".join((*head, "", "")).encode() + body


@dataclass(frozen=True, slots=True)
class Arrival:
    """A peer that passed the look at its own process."""

    connection: socket.socket
    peer: Peer
    user: str
    """The name of its user."""
    lineage: tuple[int, ...]
    """Its process id and those of all processes above it."""
    mark: int = 0
    """The agent's mark that it carries, if that was looked for; 0 for none."""


@dataclass(frozen=True, slots=True)
class House:
    """Facts for the check of peers.

    Args:
        mode: The socket's file mode; with group bits, the kernel has let the group's members in.
        group: The part of the path by which agents' control groups are recognised; empty without such groups.
    """

    mode: int = 0o600
    group: str = ""

    def look(self, connection: socket.socket) -> Arrival | RefusedPeer:
        """Look at who connected."""
        try:
            peer = peer_of(connection)
        except OSError as error:
            return RefusedPeer("unknown", f"who connects is not known ({error.strerror})", Peer(0, -1))
        try:
            return self._look(connection, peer)
        except Exception as error:  # noqa: BLE001 - whatever fails, who was not looked at does not get in
            return RefusedPeer("unknown", f"process {peer.pid} could not be looked at ({error})", peer)

    def _look(self, connection: socket.socket, peer: Peer) -> Arrival | RefusedPeer:
        if peer.uid not in (0, os.geteuid()) and not self.mode & 0o060:
            why = f"user {peer.uid} may not steer agents of user {os.geteuid()}"
            return RefusedPeer("user", why, peer)
        marked, mark = marks.is_marked(peer.pid) or self._is_grouped(peer.pid), marks.mark_of(peer.pid) or 0
        lineage = lineage_of(connection)  # looks last of all whether it was the same process all the time
        if lineage is None:
            why = f"process {peer.pid}, which connected, has ended, or its parents are not known"
            return RefusedPeer("gone" if _has_hung_up(connection) else "unknown", why, peer)
        if marked:
            return refused_agent(peer, tuple(lineage), mark)
        return Arrival(connection, peer, user_name(peer.uid), tuple(lineage))

    def _is_grouped(self, pid: int) -> bool:
        """Whether the process is in the control group of an agent, living or not."""
        return bool(self.group) and self.group in process_tree.read(f"/proc/{pid}/cgroup")


def refused_agent(peer: Peer, lineage: tuple[int, ...], mark: int = 0) -> RefusedPeer:
    """The refusal of an agent's process."""
    return RefusedPeer("agent", "an agent's own process may not steer agents", peer, lineage=lineage, mark=mark)


def _has_hung_up(connection: socket.socket) -> bool:
    """Whether the other end is closed in every process that had it."""
    look = select.poll()
    look.register(connection, select.POLLIN)
    return any(event & select.POLLHUP for _, event in look.poll(0))


def most_connections(descriptors: int) -> int:
    """How many connections may be open at once, with so many descriptors."""
    return min(MOST_CONNECTIONS, descriptors // SHARE_OF_DESCRIPTORS)


class Protocols:
    """Has a protocol for each connection that is let in, for so many at once at most.

    Args:
        make: Returns the protocol for a peer.
        tasks: The tasks in which connections are handed to it.
        are_open: Returns how many are open.
        most: How many may be open.
    """

    def __init__(
        self, make: Callable[[Arrival], asyncio.Protocol], tasks: TaskGroup, are_open: Callable[[], int], most: int
    ) -> None:
        self._make, self._tasks, self._are_open, self._most = make, tasks, are_open, most
        self._arriving = 0

    def welcome(self, arrival: Arrival) -> bool:
        """Serve a connection; returns whether there is room for it."""
        if self._are_open() + self._arriving >= self._most:
            return False
        self._arriving += 1
        self._tasks.start_soon(self._connect, arrival, name=f"connection of process {arrival.peer.pid}")
        return True

    async def _connect(self, arrival: Arrival) -> None:
        make = partial(self._make, arrival)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(make, arrival.connection)
        except BaseException:
            arrival.connection.close()
            raise
        finally:
            self._arriving -= 1


class Admission:
    """Accepts connections and hands on the admitted ones.

    Args:
        listening: The socket.
        house: Facts for the check.
        whose: Returns the agent of a process, by its lineage and its mark; empty for none. Called in the event loop.
        refused: Receives each refused peer, in the event loop.
        welcome: Serves a connection, in the event loop; False if too many are served already.
        regained: Receives the socket's path if it was gone and is listened on anew, and each new reason why it is out
            of reach, which is empty then; in the event loop.
    """

    def __init__(
        self,
        listening: socket.socket,
        house: House,
        whose: Callable[[Collection[int], int], str],
        refused: Callable[[RefusedPeer], object],
        welcome: Callable[[Arrival], bool],
        regained: Callable[[Path, str], object] = lambda _path, _lost: None,
    ) -> None:
        self._listening = listening
        self._house = house
        self._whose = whose
        self._refused = refused
        self._welcome = welcome
        self._regained = regained

    async def run(self) -> None:
        """Take connections until cancelled."""
        woken, wake = os.pipe()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._in_thread, woken, name="admission")
                try:
                    await anyio.sleep_forever()
                finally:
                    os.close(wake)  # by which the thread wakes
        finally:
            os.close(woken)

    async def _in_thread(self, woken: int) -> None:
        await anyio.to_thread.run_sync(self._take, woken, limiter=anyio.CapacityLimiter(1))

    def _take(self, woken: int) -> None:
        """Take one connection after another; runs in a thread of its own until it is woken."""
        self._listening.setblocking(False)
        ready = select.poll()
        ready.register(woken, select.POLLIN)
        ready.register(self._listening, select.POLLIN)
        short = False
        while woken not in (come := dict(ready.poll(1_000 * QUIET_SECONDS))):
            if not come:
                self._look_for_path()
                continue
            try:
                connection = self._listening.accept()[0]
            except BlockingIOError:
                continue
            except OSError as error:
                if not short:
                    log.error("connections cannot be taken (%s); it is tried again", error)
                short = True
                process_tree.pause(SHORT_SECONDS)
                continue
            short = False
            self._consider(connection)

    def _look_for_path(self) -> None:
        if not isinstance(self._listening, OwnSocket):
            return
        before, anew = self._listening.lost, self._listening.regain()
        if anew or self._listening.lost not in ("", before):
            anyio.from_thread.run_sync(self._regained, self._listening.path, self._listening.lost)

    def _consider(self, connection: socket.socket) -> None:
        found = self._house.look(connection)
        refusal = found if isinstance(found, RefusedPeer) else anyio.from_thread.run_sync(self._serve, found)
        if refusal is not None:
            _turn_away(connection, refusal)
            anyio.from_thread.run_sync(self._tell, replace(refusal, name=process_tree.name(refusal.peer.pid)))
            process_tree.pause(REFUSAL_PAUSE_SECONDS)

    def _serve(self, arrival: Arrival) -> RefusedPeer | None:
        """Serve a connection that is no agent's; runs in the event loop, which alone changes what agents there are."""
        if self._whose(arrival.lineage, 0):
            return refused_agent(arrival.peer, arrival.lineage)
        if not self._welcome(arrival):
            return RefusedPeer("full", "as many connections are open as it takes", arrival.peer)
        return None

    def _tell(self, refusal: RefusedPeer) -> None:
        """Tell of a refusal, with the agent whose process it was if that is known; runs in the event loop."""
        self._refused(replace(refusal, agent=self._whose(refusal.lineage, refusal.mark)))


def _turn_away(connection: socket.socket, refusal: RefusedPeer) -> None:
    """Tell a peer why it is refused, without waiting for it, and close the connection."""
    with connection:
        connection.setblocking(False)
        with suppress(OSError):  # it has asked nothing yet
            connection.recv(ASKED_BYTES)  # what stays unread would give the peer an error in place of the answer
        with suppress(OSError):  # it has gone, or takes nothing
            connection.sendall(refusal.answer())


def user_name(uid: int) -> str:
    """Return the user's name, or the number if there is no name for it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
