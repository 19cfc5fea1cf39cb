"""The socket of hooks: who may speak there, and its one route, `POST /v1/hooks`.

It is apart from the socket of commands, so that nothing that comes by it can steer, approve or read: there is no such
route. An agent's processes may connect, since their CLI's hooks are among them. Which agent a hook speaks for is found
from the kernel's word alone: the CLI above the process that connected, or, of hooks by HTTP, the process that the relay
names. The relay is believed since it is no agent's process; an agent's is told so.
"""

import os
import re
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import anyio
import anyio.to_thread
import orjson

from host import identity
from monitors.contract.errors import ChaperonError
from supervisor.protocol.claude.messages import decode
from supervisor.runtime.attached.adapters.other_cli import MOST_BODY
from supervisor.runtime.attached.attaching import Attaching
from supervisor.runtime.attached.cli_process import CliProcess
from supervisor.runtime.attached.hook import CONTEXT, EVENT, GATE, SOURCE
from supervisor.runtime.attached.http_messages import Head
from supervisor.runtime.attached.relay_settings import PROCESS
from supervisor.runtime.log import log
from supervisor.runtime.shim import marks, process_tree
from supervisor.runtime.shim.credentials import Peer, lineage_of
from supervisor.runtime.socket.admission import Arrival, House, RefusedPeer, user_name

REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")

ROUTE = "/v1/hooks"

LONGEST_SOURCE = 100
"""Characters of a source that are looked at; those of ours have 32 at most."""

Owner = Callable[[Collection[int], int], int | None]
"""Returns the pid of the launched CLI that a process belongs to, by lineage and mark; None if there is none."""


@dataclass(frozen=True, slots=True)
class HookArrival(Arrival):
    """The process of a hook, with the CLI that it is of."""

    cli: CliProcess | None = None
    """The CLI; None if none is above it."""
    marked: bool = False
    """Whether it carries an agent's mark, of this daemon or another."""


class HookHouse(House):
    """Facts for the check of the processes of hooks: an agent's own are let in, and other users' are not."""

    def _look(self, connection: socket.socket, peer: Peer) -> Arrival | RefusedPeer:
        if peer.uid not in (0, os.geteuid()):
            return RefusedPeer("user", f"user {peer.uid} has no agent of this user's", peer)
        mark = marks.mark_of(peer.pid) or 0
        lineage = lineage_of(connection)
        if lineage is None:
            return RefusedPeer("unknown", f"process {peer.pid}, which connected, has ended", peer)
        cli, marked = CliProcess.above(lineage), marks.is_marked(peer.pid)
        return HookArrival(connection, peer, user_name(peer.uid), tuple(lineage), mark, cli, marked)


class HookRoute:
    """Answers hooks.

    Args:
        attaching: The agents.
        launched: Says which launched CLI a process belongs to: its gate is its own, and this one adds nothing.
        whose: Says whose agent's a process is, empty for none.
    """

    def __init__(self, attaching: Attaching, launched: Owner, whose: Callable[[Collection[int], int], str]) -> None:
        self._attaching = attaching
        self._launched = launched
        self._whose = whose
        self.relay_seen = anyio.Event()
        """Set once a hook came by the relay."""

    async def answer(self, head: Head, body: bytes, arrival: Arrival) -> tuple[int, bytes]:
        """Return the status and the body of the answer to one request."""
        method, target, _ = head.first
        if method != "POST" or target.partition("?")[0] != ROUTE:
            return 404, f"This socket has one route, POST {ROUTE}.".encode()
        assert isinstance(arrival, HookArrival)
        try:
            return 200, orjson.dumps(await self.hook(body, head.fields, arrival))
        except ChaperonError as error:
            return 409, str(error).encode(errors="replace")
        except Exception as error:  # noqa: BLE001 - whatever failed, the hook gets an answer by which nothing runs
            log.exception("a hook of process %d could not be answered", arrival.peer.pid)
            return 409, f"It could not be reviewed ({type(error).__name__}: {error}).".encode(errors="replace")

    def ending(self) -> None:
        """Give up no hook from here on: those that wait ask the next daemon."""
        self._attaching.ending()

    async def hook(self, body: bytes, headers: Mapping[str, str], arrival: HookArrival) -> Mapping[str, Any]:
        """Return the answer to one hook.

        Raises:
            ChaperonError: It cannot be answered, and its call may not run.
        """
        payload: Mapping[str, Any] | None = decode(body)
        id_, event = headers.get("chaperon-request", ""), headers.get(EVENT, "")
        if (payload is None and not event) or not REQUEST_ID.fullmatch(id_):
            raise ChaperonError("The hook is no JSON object, or has no id in the header chaperon-request.")
        process, lineage, mark = await self._speaker(headers.get(PROCESS, ""), arrival)
        if self._launched(lineage, mark) == process.pid:
            return {}
        if payload is None or (event == GATE and payload.get("hook_event_name") != GATE):
            if event != GATE:
                return {}  # nothing depends on it
            payload = await anyio.to_thread.run_sync(_unread_call, process, payload, body)
        about = {name: headers.get(f"x-{name.lower().replace('_', '-')}", "") for name in CONTEXT}
        link = await self._attaching.agent_of(process, payload, about)
        if link is None:
            return {}
        # An answer is one to this body: the id of a harmless call must not let another one run. To a command the CLI
        # sends the same body with a line break (measured, 2.1.329).
        digest, source = blake2b(body.strip(), digest_size=16).hexdigest(), headers.get(SOURCE, "")[:LONGEST_SOURCE]
        return await link.ask(payload, link.request_of(digest, source, f"{process.pid}-{id_}-{digest}"))

    async def _speaker(self, named: str, arrival: HookArrival) -> tuple[CliProcess, Collection[int], int]:
        """Return the CLI that a hook is of, with its lineage and mark."""
        if not named:
            if arrival.cli is None:
                raise ChaperonError(f"No CLI is above process {arrival.peer.pid}, which brings the hook.")
            return arrival.cli, arrival.lineage, arrival.mark
        if arrival.marked or self._whose(arrival.lineage, arrival.mark):
            raise ChaperonError(f"Process {arrival.peer.pid} is an agent's, and may not speak for process {named}.")
        self.relay_seen.set()
        process = CliProcess(*map(int, named.split()[:2]))
        if self._attaching.knows(process):
            return process, (process.pid,), 0
        return process, *await anyio.to_thread.run_sync(_lineage_and_mark, process.pid)


def _unread_call(process: CliProcess, payload: Mapping[str, Any] | None, body: bytes) -> Mapping[str, Any]:
    """Return the hook for a call that cannot be read, by which it is denied and noted. Blocks for less than 1 ms."""
    said = "no JSON object" if payload is None else "a hook of another event"
    try:
        with identity.looking():
            cwd = os.readlink(f"/proc/{process.pid}/cwd")  # noqa: PTH115 - a text is needed
    except OSError:  # it has gone, and no answer reaches it
        cwd = "/"
    return {
        "hook_event_name": GATE,
        "session_id": "",
        "cwd": cwd,
        "tool_name": "unknown",
        "unread": f"Chaperon cannot tell what this call does, so it was not run: what the CLI sent is {said}.",
        "begins": body[:MOST_BODY].decode(errors="replace"),
    }


def _lineage_and_mark(pid: int) -> tuple[Collection[int], int]:
    """Blocks for less than 1 ms."""
    return process_tree.lineage(pid) or (pid,), marks.mark_of(pid) or 0
