"""A shim's end of the conversation with a daemon.

Standard library only: the shim runs this with no packages on its path.
"""

import socket
from collections import deque
from typing import Any

from supervisor.runtime.shim import wire
from supervisor.runtime.shim.pipes import ErrorLog, OutputLog
from supervisor.runtime.shim.process_tree import now

FRAMES_A_TURN = 16
"""Most frames sent to the daemon before the pipes are looked at again: 1 MB, below a millisecond."""


class DaemonLink:
    """A connected daemon: what it has yet to be sent, and what of its commands has arrived."""

    def __init__(self, connection: socket.socket, output: OutputLog, errors: ErrorLog) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.output = output
        self.errors = errors
        self.offset: int | None = None
        """Position of the next output to send; None before it attached."""
        self.errors_offset: int | None = None
        """The same of the error output; None for a daemon that did not ask for it."""
        self.last_words: bytes | None = None
        """The frame that ends the conversation, sent behind all output."""
        self.progress_at = now()
        self._arrived = bytearray()
        self._frames: deque[bytes] = deque()
        self._sending = memoryview(b"")

    def tell(self, number: int, /, **facts: Any) -> None:
        """Queue a frame; it goes ahead of output that waits."""
        self._frames.append(wire.fact(number, **facts))

    @property
    def sendable(self) -> bool:
        """Whether something can be sent now: to one who has not attached, facts alone."""
        attached = self.offset is not None and (self.offset < self.output.size or self.last_words is not None)
        return bool(self._sending or self._frames or attached or self._errs)

    @property
    def _errs(self) -> bool:
        return self.errors_offset is not None and self.errors_offset < self.errors.size

    @property
    def owed(self) -> bool:
        """Whether it must still be sent something before the conversation may end."""
        return self.sendable or self.last_words is not None

    def flush(self) -> None:
        """Send what the socket takes now, up to a turn's worth.

        Raises:
            OSError: The daemon has gone.
        """
        for _ in range(FRAMES_A_TURN):
            if not self._sending:
                self._sending = memoryview(self._next())
            if not self._sending:
                return
            try:
                sent = self.connection.send(self._sending)
            except BlockingIOError:
                return
            self.progress_at = now()
            self._sending = self._sending[sent:]

    def _next(self) -> bytes:
        if self._frames:
            return self._frames.popleft()
        if self.offset is None:
            return b""
        if self.errors_offset is not None and self._errs:
            data = self.errors.read(self.errors_offset)
            at, self.errors_offset = self.errors_offset, self.errors_offset + len(data)
            if data:
                return wire.frame(wire.ERRORS, wire.OFFSET.pack(at) + data)
            self.errors_offset = None  # somebody emptied the file: what was in it is not to be had
        if self.offset < self.output.size:
            data = self.output.read(self.offset)
            at, self.offset = self.offset, self.offset + len(data)
            return wire.frame(wire.OUTPUT, wire.OFFSET.pack(at) + data)
        frame, self.last_words = self.last_words or b"", None
        return frame

    def commands(self) -> list[bytes] | None:
        """The command lines that have arrived whole; None if the daemon has gone."""
        try:
            data = self.connection.recv(1 << 18)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data or len(self._arrived) > wire.MAX_COMMAND_BYTES:
            return None
        self._arrived += data
        if b"\n" not in data:
            return []
        *lines, rest = self._arrived.split(b"\n")
        self._arrived = rest
        return [bytes(line) for line in lines if line]
