"""Bytes to lines: chunks end anywhere, lines may be huge, and none is ever stripped.

Lines of the CLI's stream-json are measured in megabytes at times, so the default reader of asyncio (64 KiB) is
no use here. A line over the cap is not kept in memory: it is reported with its position in the agent's output file,
which has it whole, and reading resumes at the next newline.
"""

from collections.abc import Iterator
from typing import NamedTuple

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Longest line kept whole, in bytes. The largest tool result seen from the CLI is an image of about 10 MB of base64;
the official SDK's users met 1 MB lines daily (its default buffer), so 32 MiB leaves three times the worst."""


HEAD_BYTES = 1024
"""Bytes kept of the beginning of a line over the cap: enough for the id of a request that waits for an answer, which
the CLI writes within the first hundred bytes."""


class Line(NamedTuple):
    """One whole line, without its newline."""

    start: int
    """Offset of its first byte in the stream."""
    data: bytes
    """Its bytes as received; no white space removed."""
    end: int
    """Offset after its newline, at which reading resumes."""


class OversizedLine(NamedTuple):
    """A line longer than the cap; its bytes were passed over."""

    start: int
    """Offset of its first byte in the stream."""
    end: int
    """Offset behind its newline."""
    head: bytes = b""
    """How it began."""


class LineSplitter:
    """Cuts a stream of chunks into lines, in time linear in the bytes however they are cut.

    Args:
        offset: Where in the stream the first chunk begins.
        max_bytes: Longest line kept whole.
    """

    def __init__(self, offset: int = 0, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._start = offset
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._head = b""

    @property
    def offset(self) -> int:
        """Offset behind the last whole line: the place to resume from after a restart."""
        return self._start

    @property
    def received(self) -> int:
        """Offset behind the last byte that was fed."""
        return self._start + self._pending_bytes

    def feed(self, chunk: bytes) -> Iterator[Line | OversizedLine]:
        """Yield each line that the chunk completes. The caller must exhaust the iterator before the next call."""
        position = 0
        while (newline := chunk.find(b"\n", position)) >= 0:
            yield self._complete(chunk[position:newline])
            position = newline + 1
        self._keep(chunk[position:])

    def finish(self) -> Line | OversizedLine | None:
        """Return what came after the last newline when the stream has ended: a line that was cut, or None."""
        if not self._pending_bytes:
            return None
        return self._complete(b"", newline_bytes=0)

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._pending_bytes += len(piece)
        if len(self._head) < HEAD_BYTES:
            self._head += piece[: HEAD_BYTES - len(self._head)]
        if self._pending_bytes > self._max_bytes:
            self._pending.clear()
        else:
            self._pending.append(piece)

    def _complete(self, last: bytes, newline_bytes: int = 1) -> Line | OversizedLine:
        if not self._pending_bytes and len(last) <= self._max_bytes:  # as most are: whole in one chunk
            start, self._start = self._start, self._start + len(last) + newline_bytes
            return Line(start, last, self._start)
        length = self._pending_bytes + len(last)
        start, self._start = self._start, self._start + length + newline_bytes
        data = b"".join((*self._pending, last)) if self._pending else last
        head, self._head = self._head, b""
        self._pending.clear()
        self._pending_bytes = 0
        if length > self._max_bytes:
            return OversizedLine(start, self._start, (head + last)[:HEAD_BYTES])
        return Line(start, data, self._start)
