"""Programs run to their end: in a session of their own, with bounded output and a time limit. Nothing of them runs on.

A program may print without end, leave children that hold its pipes, close its pipes and run on, or ignore signals. Each
run ends at the program's own end, at its deadline, or with its caller, and then its whole process group is killed.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio

from host import identity
from host.threads import until_cancelled

READ_BYTES = 65_536
"""Read at once: the capacity of a pipe (pipe(7))."""

MOST_LEFT = 1_048_576
"""Bytes still read from a pipe after the program has ended: the largest capacity of a pipe
(/proc/sys/fs/pipe-max-size). A process that left the group may write on for ever."""

ERROR_BYTES = 2_000
"""Kept of the end of standard error if it is kept apart: a screen of it."""

_ERRORS = {"apart": subprocess.PIPE, "with output": subprocess.STDOUT, "nowhere": subprocess.DEVNULL}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildCommand:
    """A program, and the bounds within which it runs."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    """All of it."""
    seconds: float
    """Its whole process group is killed after this time."""
    output_bytes: int
    """Kept of its output."""
    keep: Literal["begin", "end"] = "begin"
    """The part of its output that is kept. A program is ended as soon as it has printed more than the kept
    beginning."""
    errors: Literal["apart", "with output", "nowhere"] = "with output"
    """The destination of its standard error."""
    folder: str | Path | None = None
    """Its working directory; None for that of this process, and for the root if it is of a daemon apart: that one's may
    be in the state, which a program of the person's would read from there, as would others by its /proc/PID/cwd."""
    stdin: bytes = b""
    """Its standard input; /dev/null if empty."""
    niceness: int = 0
    """Added to its priority, so that it stands back behind others."""
    users: Callable[[], Mapping[str, int]] = identity.as_person
    """Returns the user that it runs as, where a daemon has one apart from the person's."""


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a program ended."""

    code: int | None
    """Its exit code; a signal's is negative. None if its time was over or its caller gave it up."""
    output: bytes
    errors: bytes = b""
    """The end of its standard error, if that was kept apart."""
    flooded: bool = False
    """It printed more than was kept of the beginning, and was ended for it."""


def run_child(command: ChildCommand, stop: int | None = None) -> ChildResult:
    """Run a program to its end. Blocks.

    Args:
        command: The program.
        stop: A descriptor that becomes readable if the caller gives it up.

    Raises:
        OSError: It could not be started.
    """
    users: dict[str, Any] = {**command.users()}
    folder = command.folder or ("/" if identity.is_apart() else None)
    process = subprocess.Popen(
        command.argv,
        stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=_ERRORS[command.errors],
        cwd=folder,
        env=command.environment,
        start_new_session=True,
        bufsize=0,
        **users,
    )
    try:
        if command.niceness:
            os.setpriority(os.PRIO_PROCESS, process.pid, command.niceness)
        run = _Run(command, process, stop)
        ended = os.pidfd_open(process.pid)
        try:
            done = run.listen(ended)
        finally:
            os.close(ended)
        _end_group(process.pid)  # while the leader is not reaped its number is nobody else's
        run.read_what_is_left()
        code = process.wait() if done else None
        return ChildResult(code, bytes(run.output.data), bytes(run.errors.data), flooded=run.output.flooded)
    finally:
        _end(process)


async def run_child_async(command: ChildCommand) -> ChildResult:
    """Run a program to its end, in a thread of its own.

    If this is cancelled, it returns after the last process has gone.

    Raises:
        OSError: It could not be started.
    """
    own = anyio.CapacityLimiter(1)  # the loop's own threads are few, and a program may take an hour
    return await until_cancelled(partial(run_child, command), own)


class _Kept:
    """The kept part of a stream."""

    def __init__(self, most: int, *, end: bool) -> None:
        self.data = bytearray()
        self.flooded = False
        self._most, self._end = most, end

    def add(self, more: bytes) -> None:
        self.data += more
        if self._end:
            del self.data[: -self._most]
        elif len(self.data) > self._most:
            self.flooded = True
            del self.data[self._most :]


class _Run:
    """One run: its pipes, and what is kept of what came through them."""

    def __init__(self, command: ChildCommand, process: subprocess.Popen[bytes], stop: int | None) -> None:
        self.output = _Kept(command.output_bytes, end=command.keep == "end")
        self.errors = _Kept(ERROR_BYTES, end=True)
        self._deadline = _now() + command.seconds
        self._stop = stop
        self._stdin, self._unwritten = process.stdin, memoryview(command.stdin)
        kept = (process.stdout, self.output), (process.stderr, self.errors)
        self._pipes = [(pipe, into) for pipe, into in kept if pipe is not None]
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)

    def listen(self, ended: int) -> bool:
        """Feed it and listen to it until it ends.

        Args:
            ended: A descriptor that becomes readable when it does.

        Returns:
            Whether it is done, by its own end or with more output than is kept; else its time is over, or it was given
            up.
        """
        with selectors.DefaultSelector() as selector:
            for descriptor in (ended, self._stop):
                if descriptor is not None:
                    selector.register(descriptor, selectors.EVENT_READ)
            for pipe, into in self._pipes:
                selector.register(pipe, selectors.EVENT_READ, into)
            if self._stdin is not None:
                selector.register(self._stdin, selectors.EVENT_WRITE)
            while (left := self._deadline - _now()) > 0:
                ready = {key.fileobj: key.data for key, _ in selector.select(left)}
                if self._stop in ready:
                    return False
                for found, into in ready.items():
                    over = self._write() if found is self._stdin else into is not None and _read(found, into) == b""
                    if over:
                        selector.unregister(found)
                if ended in ready or self.output.flooded:
                    return True
        return False

    def read_what_is_left(self) -> None:
        """Read the content of the pipes, without waiting for processes that still hold them."""
        for pipe, into in self._pipes:
            left = MOST_LEFT
            while left > 0 and (data := _read(pipe, into)):
                left -= len(data)

    def _write(self) -> bool:
        """Write some of the input; return whether that is over."""
        assert self._stdin is not None
        try:
            self._unwritten = self._unwritten[self._stdin.write(self._unwritten) or 0 :]
        except BrokenPipeError:
            self._unwritten = memoryview(b"")
        if not self._unwritten:
            self._stdin.close()
        return not self._unwritten


def _read(pipe: Any, into: _Kept) -> bytes | None:
    """Read what is there; nothing at its end, None if there is nothing now."""
    data: bytes | None = pipe.read(READ_BYTES)
    into.add(data or b"")
    return data


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing of it: no process of its group, no zombie, no pipe."""
    if process.returncode is None:
        _end_group(process.pid)
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _end_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _now() -> float:
    return time.monotonic()  # noqa: TID251 - the time that is left of a deadline, which nobody is told
