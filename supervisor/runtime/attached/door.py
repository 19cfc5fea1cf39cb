"""The socket of hooks: who may speak there, and its one route, `POST /v1/hooks`.

It is apart from the socket of commands, so that nothing that comes by it can steer, approve or read: there is no such
route. An agent's processes may connect, since their CLI's hooks are among them. Which agent a hook speaks for is found
from the kernel's word alone: the CLI above the process that connected, or, of hooks by HTTP, the process that the relay
names. The relay is believed since it is no agent's process; an agent's is told so.
"""

import os
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import anyio
import anyio.to_thread
import orjson
from starlette.types import Message, Receive, Scope, Send

from monitors.contract.errors import ChaperonError
from supervisor.protocol.claude.messages import decode
from supervisor.runtime.attached.attaching import Attaching
from supervisor.runtime.attached.cli_process import CliProcess
from supervisor.runtime.attached.hook import CONTEXT, SOURCE
from supervisor.runtime.attached.relay_settings import MOST_BYTES, PROCESS
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
        if peer.uid not in (0, os.getuid()):
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        if scope["path"] != ROUTE or scope["method"] != "POST":
            await _answer(send, 404, _problem(f"This socket has one route, POST {ROUTE}."))
            return
        body = await _body(receive)
        if body is None:
            await _answer(send, 413, _problem(f"The hook has more than {MOST_BYTES} bytes, so it was not read."))
            return
        arrival: HookArrival = scope["state"]["arrival"]
        try:
            answer = await _unless_gone(receive, lambda: self.hook(body, _headers(scope), arrival))
        except ChaperonError as error:
            await _answer(send, 409, _problem(str(error)))
        except Exception as error:  # noqa: BLE001 - whatever failed, the hook gets an answer by which nothing runs
            log.exception("a hook of process %d could not be answered", arrival.peer.pid)
            await _answer(send, 409, _problem(f"It could not be reviewed ({type(error).__name__}: {error})."))
        else:
            if answer is not None:
                await _answer(send, 200, orjson.dumps(answer))

    async def hook(self, body: bytes, headers: Mapping[str, str], arrival: HookArrival) -> Mapping[str, Any]:
        """Return the answer to one hook.

        Raises:
            ChaperonError: It cannot be answered, and its call may not run.
        """
        payload, id_ = decode(body), headers.get("chaperon-request", "")
        if payload is None or not REQUEST_ID.fullmatch(id_):
            raise ChaperonError("The hook is no JSON object, or has no id in the header chaperon-request.")
        process, lineage, mark = await self._speaker(headers.get(PROCESS, ""), arrival)
        if self._launched(lineage, mark) == process.pid:
            return {}
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


def _lineage_and_mark(pid: int) -> tuple[Collection[int], int]:
    """Blocks for less than 1 ms."""
    return process_tree.lineage(pid) or (pid,), marks.mark_of(pid) or 0


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def _body(receive: Receive) -> bytes | None:
    """The body; None if it is longer than the most."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return bytes(body)


async def _unless_gone(receive: Receive, work: Callable[[], Awaitable[Mapping[str, Any]]]) -> Mapping[str, Any] | None:
    """Do the work; None if the hook was given up meanwhile, and the work with it."""
    done: list[Mapping[str, Any]] = []
    failed: list[Exception] = []

    async def cancel_when_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel_when_gone, name="watch for a hang-up")
        try:
            done.append(await work())
        except Exception as error:  # noqa: BLE001 - raised behind the group, which would wrap it
            failed.append(error)
        finally:
            tasks.cancel_scope.cancel()
    if failed:
        raise failed[0]
    return done[0] if done else None


def _problem(what: str) -> bytes:
    return what.encode(errors="replace")


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
