"""The buffers of a shim between the CLI's pipes and its files: all output, some error output, lines on their way in.

None of these ever waits: each does the work that is possible now and reports the rest.

Standard library only: the shim runs this with no packages on its path.
"""

import json
import os
import time
from collections import deque

from supervisor.runtime.shim.process_tree import now
from supervisor.runtime.shim.seal import Seal
from supervisor.runtime.shim.wire import CHUNK_BYTES

STDERR_CAP_BYTES = 16 * 1024 * 1024
"""Most error output kept in `err.log`. The CLI prints a few lines a run there; a program that floods it is broken, and
its first 16 MiB say how. The end of the stream is kept apart, for the exit record."""

TAIL_BYTES = 4096
"""How much of the end of the error output the exit record carries: the last screen of a stack trace."""

RETRY_FIRST_SECONDS = 0.05
RETRY_MOST_SECONDS = 2.0
"""A full disk is looked at again after the first, then twice as long each time up to the most: space comes back when a
person or a clean-up makes it, which takes seconds."""

CLEAR = Seal(b"", "")
"""Leaves what is written as it is."""

LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


def read_pipe(fd: int) -> bytes | None:
    """Return the content of the pipe, up to a chunk; empty at its end, None if there is nothing just now."""
    try:
        return os.read(fd, CHUNK_BYTES)
    except BlockingIOError:
        return None


class OutputLog:
    """The CLI's standard output, all of it, in a file at the offsets by which it is read.

    The file may be truncated by log rotation: writes go to absolute offsets. If the file cannot be written (the disk is
    full), the pipe is left alone until it can: the CLI waits, and nothing is lost.
    """

    def __init__(self, pipe: int, path: str, seal: Seal = CLEAR) -> None:
        self.pipe = pipe
        self._seal = seal
        self.at_end = False
        self.problem = ""
        """Why the file cannot be written just now, or nothing."""
        self.retry_at = 0.0
        self._pause = RETRY_FIRST_SECONDS
        self._pending = b""
        self._file = os.open(path, LOG_FLAGS & ~os.O_APPEND, 0o600)
        self._reading = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._file).st_size

    def pump(self) -> bool:
        """Move one chunk from the pipe to the file; False if there is nothing to move, or nowhere to."""
        if self.problem or self.at_end:
            return False
        data = read_pipe(self.pipe)
        self.at_end = data == b""
        if not data:
            return False
        self._pending = data
        return self.retry()

    def retry(self) -> bool:
        """Write what waits; False if the file still cannot be written."""
        while self._pending:
            try:
                written = os.pwrite(self._file, self._seal.apply(self._pending, self.size), self.size)
            except OSError as error:
                self.problem = error.strerror or repr(error)
                self.retry_at = now() + self._pause
                self._pause = min(self._pause * 2, RETRY_MOST_SECONDS)
                return False
            self._pending = self._pending[written:]
            self.size += written
        self.problem, self._pause = "", RETRY_FIRST_SECONDS
        return True

    def sync(self) -> None:
        """Make what was written last through a power failure.

        Raises:
            OSError: The disk failed.
        """
        os.fsync(self._file)

    def read(self, offset: int) -> bytes:
        """A chunk of what the CLI printed, from an offset on."""
        return self._seal.apply(os.pread(self._reading, CHUNK_BYTES, offset), offset)


class ErrorLog:
    """The CLI's standard error: the first of it in a file, the end of it in memory, the rest counted."""

    def __init__(self, pipe: int, path: str, seal: Seal = CLEAR) -> None:
        self.pipe = pipe
        self._seal = seal
        self.at_end = False
        self.dropped = 0
        """Bytes that are not in the file."""
        self.tail = b""
        # What is sealed belongs to its place; else a file that was truncated meanwhile goes on where it ends.
        self._file = os.open(path, LOG_FLAGS & ~os.O_APPEND if seal else LOG_FLAGS, 0o600)
        self._reading = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._file).st_size
        """Bytes in the file."""
        self._room = STDERR_CAP_BYTES - self.size

    def pump(self) -> bool:
        """Take one chunk from the pipe; False if there is none."""
        if self.at_end:
            return False
        data = read_pipe(self.pipe)
        self.at_end = data == b""
        if not data:
            return False
        self.tail = (self.tail + data)[-TAIL_BYTES:]
        kept = self._keep(data[: max(0, self._room)])
        self._room -= kept
        self.size += kept
        self.dropped += len(data) - kept
        return True

    def read(self, offset: int) -> bytes:
        """A chunk of what is in the file, from an offset on."""
        return self._seal.apply(os.pread(self._reading, CHUNK_BYTES, offset), offset)

    def _keep(self, data: bytes) -> int:
        try:
            if self._seal:
                return os.pwrite(self._file, self._seal.apply(data, self.size), self.size) if data else 0
            return os.write(self._file, data) if data else 0
        except OSError:
            return 0


class InputQueue:
    """Lines on their way to the CLI's standard input, each taken once by its key.

    A line is committed when it is in this queue: the shim lives as long as the CLI, so from there on the line is
    written, once, as soon as the CLI reads, whatever becomes of the daemon. `in.log` tells people and a later daemon
    which lines were taken; that a line was *written* is known only for the count in the exit record, and that it was
    *read* only the CLI can say.
    """

    def __init__(self, pipe: int, path: str) -> None:
        self.pipe: int | None = pipe
        self.taken = 0
        self.written = 0
        self._keys: set[str] = set()
        self._lines: deque[memoryview] = deque()
        self._closing = False
        self._log = os.open(path, LOG_FLAGS, 0o600)

    @property
    def waiting(self) -> bool:
        """Whether the CLI has yet to take something, the end of input included."""
        return self.pipe is not None and (bool(self._lines) or self._closing)

    def take(self, key: str, line: bytes) -> str:
        """Queue a line, or pass over one whose key was seen; what was wrong, or nothing if it counts as accepted."""
        if key in self._keys:
            return ""
        if self.pipe is None or self._closing:
            return f"The line {key!r} was not taken: the CLI's input is closed."
        self._note(key, line)
        self._keys.add(key)
        self.taken += 1
        self._lines.append(memoryview(line))
        self.flush()
        return ""

    def close(self) -> None:
        """Close the CLI's input behind what is queued."""
        self._closing = True
        self.flush()

    def flush(self) -> None:
        """Write what the pipe takes now."""
        while self._lines and self.pipe is not None:
            line = self._lines[0]
            try:
                rest = line[os.write(self.pipe, line) :]
            except BlockingIOError:
                return
            except OSError:  # the CLI closed its end: what waits can reach nobody
                self.abandon()
                return
            if rest:
                self._lines[0] = rest
            else:
                self._lines.popleft()
                self.written += 1
        if self._closing:
            self.abandon()

    def abandon(self) -> None:
        """Close the pipe, whatever still waits."""
        if self.pipe is not None:
            os.close(self.pipe)
            self.pipe = None
        self._lines.clear()

    def _note(self, key: str, line: bytes) -> None:
        """Append to `in.log`. A full disk costs the note and not the line: what counts is the queue."""
        note = {"key": key, "bytes": len(line), "at": time.time_ns() / 1e9}
        try:
            os.write(self._log, json.dumps(note).encode() + b"\n")
        except OSError as error:
            os.write(2, f"in.log could not take the note of line {key!r}: {error.strerror}.\n".encode())
