"""Signals as something to be waited for beside a connection, by a command that ends in order."""

import os
import select
import signal
import socket
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Literal

REASONS = {
    signal.SIGINT: "Ctrl+C",
    signal.SIGHUP: "the terminal of its run was closed (SIGHUP)",
    signal.SIGTERM: "its run was told to end (SIGTERM)",
}
"""The journal's reason for a run that a signal stopped."""


class Signals:
    """Signals that stop an agent instead of ending this process, from the first moment on.

    Entered in the main thread alone.
    """

    def __init__(self) -> None:
        self.pressed: list[signal.Signals] = []
        """Signals that came and were not handled yet, oldest first."""
        self._ours, self._theirs = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Signals":
        for one in REASONS:
            self._before[one] = signal.signal(one, self._came)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)
        os.close(self._ours)
        os.close(self._theirs)

    def _came(self, number: int, _frame: FrameType | None) -> None:
        self.pressed.append(signal.Signals(number))
        with suppress(BlockingIOError):
            os.write(self._theirs, b"!")

    def wait(self, connection: socket.socket | int | None, seconds: float | None) -> bool:
        """Wait for a connection, or a descriptor, or a signal; whether it was a signal.

        Raises:
            TimeoutError: Neither came.
        """
        return self.first(connection, None, seconds) == "signal"

    def first(
        self,
        connection: socket.socket | int | None,
        beside: int | None,
        seconds: float | None,
        output: int | None = None,
    ) -> Literal["signal", "beside", "connection"]:
        """Wait for the first event; of several, return that which is named first in the type.

        Args:
            connection: A connection, or a descriptor.
            beside: Another descriptor.
            seconds: For how long.
            output: A pipe that we write to, whose reader may leave.

        Raises:
            TimeoutError: Nothing came.
            BrokenPipeError: No signal came, and the reader of the output has gone.
        """
        poll = select.poll()
        if output is not None:
            poll.register(output, 0)  # only that it was closed at the other end
        for one in (self._ours, beside, connection):
            if one is not None:
                poll.register(one, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(None if seconds is None else seconds * 1000)}
        if not ready:
            raise TimeoutError
        if self._ours in ready:
            os.read(self._ours, 64)
            return "signal"
        if output in ready:
            raise BrokenPipeError
        return "beside" if beside in ready else "connection"
