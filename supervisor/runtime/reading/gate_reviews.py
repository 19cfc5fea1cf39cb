"""Reviews of agents' actions by the reading process, which the gate's own loop has no time for."""

import socket

import anyio

from monitors.contract.actions import Action, Review, ReviewContext
from supervisor.runtime.reading.jobs import GateReviewing, ReadJob
from supervisor.runtime.reading.reader import ReadingService

MAX_ANSWER = 32 * 1024 * 1024
"""Longest answer, in bytes: twice the longest line of the CLI, whose input a review may hand back changed."""


async def reviewed(reader: ReadingService, action: Action, context: ReviewContext) -> Review:
    """Have the reading process review an action.

    Raises:
        UnavailableError: It cannot be asked.
        ValueError: It gave no answer, or one that is too long.
        TypeError: It answered something else.
    """
    ours, theirs = socket.socketpair()
    with ours:
        ours.setblocking(False)
        with theirs:
            reader.take(theirs.fileno(), ReadJob(GateReviewing.of(action, context), "1.1"))
        return GateReviewing.review(await _whole(ours))


async def _whole(connection: socket.socket) -> bytes:
    """Read until the other end hangs up."""
    parts: list[bytes] = []
    room = MAX_ANSWER
    while room > 0:
        try:
            part = connection.recv(65_536)
        except BlockingIOError:
            await anyio.wait_readable(connection)
            continue
        if not part:
            return b"".join(parts)
        parts.append(part)
        room -= len(part)
    raise ValueError(f"the answer is longer than {MAX_ANSWER} bytes")
