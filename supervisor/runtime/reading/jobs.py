"""Jobs of the daemon for its reading process: messages on a private socket pair.

A message is a pickle, since both ends are this program at this version, and data of others in it is only text. It goes
with the descriptors that belong to it. A long one goes by a file in memory, whose descriptor is sent instead.
"""

import contextlib
import os
import pickle
import socket
from array import array
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from monitors.contract import anyjson
from monitors.contract.actions import Action, Review, ReviewContext
from supervisor.protocol.events import ReviewArrived

LINES = "application/x-ndjson"
"""The content type of streams."""

JSON = "application/json"

MESSAGE_BYTES = 32 * 1024
"""Longest message that goes by the socket itself, in bytes. Six of them fit into the kernel's default buffer for
one."""

_WITHIN, _BESIDE = b"w", b"b"
"""The first byte of a message: it follows, or it is in the last of the descriptors."""

FINISHED = b"f"
"""The process's message when a job that followed has ended."""

_DESCRIPTOR = "i"
"""How the kernel writes a descriptor: as a C int."""

MOST_DESCRIPTORS = 2
"""That come with one message: a connection, and a file in memory."""


@dataclass(frozen=True, slots=True)
class ReadPaths:
    """The files to read, and settings for it. The first message."""

    journal: Path
    """The journal's directory."""
    incidents: Path
    """The incident log."""
    checkpoints: Path
    """The folder that has the stores of checkpoints."""
    reviewer: bytes
    """The configuration of reviews, and the context of an action that no agent takes: `Config` and `ReviewContext`.
    They are pickled by themselves: reading them takes a quarter of a second, which only a review should pay."""
    log_level: int
    """Of the daemon's own log."""
    connections: int
    """How many may be open at once."""
    data_keys: tuple[bytes, ...] = ()
    """The keys that open sealed records; none if none were ever sealed."""


@dataclass(frozen=True, slots=True)
class FileProgress:
    """How far the files have come."""

    written: int
    """Number of the last record of the journal that is written."""
    incidents: int
    """How often the incident log grew."""
    over: bool = False
    """Whether nothing follows: streams that follow end once they have what is there."""


@dataclass(frozen=True, slots=True)
class Events:
    """The journal's lines behind one."""

    after: int
    last: int
    """Number of the last event when it was asked; if it does not follow, it ends there, or with what is written."""
    follow: bool
    agent: str | None
    """Only this agent's; None: all."""
    since: float
    """Only those from this Unix time on."""


@dataclass(frozen=True, slots=True)
class Incidents:
    """The incident log's lines."""

    follow: bool


@dataclass(frozen=True, slots=True)
class MetricsText:
    """The metrics, as Prometheus reads them."""

    counted: bytes
    """The daemon's state; see `supervisor.runtime.metrics.metrics.Counted`."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """All checkpoints, and the stores that cannot be read."""

    agent: str
    """Only this agent's; empty: all."""


@dataclass(frozen=True, slots=True)
class UseOverTime:
    """An agent's use over time, with its issues and interventions."""

    agent: str
    last: int
    """Number of the last event when it was asked."""


@dataclass(frozen=True, slots=True)
class Reviewing:
    """The gate's answer to an action that no agent takes."""

    action: bytes
    """As JSON: a pickle does not hold what is nested deeply."""

    @classmethod
    def of(cls, action: Action) -> Self:
        """Ask for the review of an action."""
        return cls(anyjson.dumps([action.tool, action.input, action.cwd, action.workspace]))

    def read(self) -> Action:
        """The action."""
        return Action(*anyjson.loads(self.action))


@dataclass(frozen=True, slots=True)
class GateReviewing:
    """The gate's answer to an action of an agent, which took too long to be made in the gate's own loop."""

    action: bytes
    """As JSON, like that of `Reviewing`."""
    context: ReviewContext

    @classmethod
    def of(cls, action: Action, context: ReviewContext) -> Self:
        """Ask for the review of an action."""
        return cls(anyjson.dumps([getattr(action, each.name) for each in fields(action)]), context)

    def read(self) -> Action:
        """The action."""
        return Action(*anyjson.loads(self.action))

    @staticmethod
    def answer(review: Review) -> bytes:
        """Spell the review as the journal does."""
        from supervisor.protocol.records import spell

        return spell(ReviewArrived(agent="", at=0.0, mono=0.0, request_id="", review=review))

    @staticmethod
    def review(answer: bytes) -> Review:
        """Read the review out of the whole answer.

        Raises:
            ValueError: There is no answer.
            TypeError: The answer is something else.
        """
        from supervisor.protocol.records import read_event

        head, _, body = answer.partition(b"\r\n\r\n")
        if not body:
            raise ValueError(f"the process that reviews gave no answer: {head[:100]!r}")
        event = read_event(body)
        if not isinstance(event, ReviewArrived):
            raise TypeError(f"the process that reviews answered otherwise: {body[:200]!r}")
        return event.review


@dataclass(frozen=True, slots=True)
class ReadJob:
    """The request to answer on the connection that comes with it."""

    wanted: Any
    """One of the classes above that ask for something."""
    http_version: str

    @property
    def follows(self) -> bool:
        """Whether it waits for more."""
        return bool(getattr(self.wanted, "follow", False))


def send(channel: socket.socket, message: object, connection: int | None = None) -> None:
    """Send a message whole, with a connection that goes along; never waits.

    Raises:
        BlockingIOError: There is no room just now; nothing was sent.
        OSError: Nobody takes it any more, or no file in memory can be had.
    """
    data = pickle.dumps(message)
    descriptors = [] if connection is None else [connection]
    if len(data) <= MESSAGE_BYTES:
        socket.send_fds(channel, [_WITHIN + data], descriptors)
        return
    beside = os.memfd_create("chaperon-job", os.MFD_CLOEXEC)
    try:
        os.set_blocking(beside, False)  # it is memory, and never waits
        view = memoryview(data)
        while view:
            view = view[os.write(beside, view) :]
        socket.send_fds(channel, [_BESIDE], [*descriptors, beside])
    finally:
        os.close(beside)


def receive(channel: socket.socket) -> tuple[Any, socket.socket | None] | None:
    """Return the next message and the connection that came with it; None once nothing follows. Never waits.

    Raises:
        BlockingIOError: There is none just now.
    """
    room = socket.CMSG_LEN(MOST_DESCRIPTORS * array(_DESCRIPTOR).itemsize)
    data, beside, _, _ = channel.recvmsg(MESSAGE_BYTES + 1, room, socket.MSG_CMSG_CLOEXEC)  # `recv_fds` drops the flag
    descriptors = [fd for _, _, packed in beside for fd in array(_DESCRIPTOR, packed)]
    if not data:
        return None
    try:
        if data[:1] == _BESIDE:
            with os.fdopen(descriptors.pop(), "rb") as file:
                file.seek(0)
                message = pickle.load(file)  # noqa: S301 - from our own process, see above
        else:
            message = pickle.loads(data[1:])  # noqa: S301 - as above
    except BaseException:
        for each in descriptors:
            with contextlib.suppress(OSError):
                os.close(each)
        raise
    return message, socket.socket(fileno=descriptors[0]) if descriptors else None
