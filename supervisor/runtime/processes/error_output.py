"""The CLI's error output on its way into the journal: whole lines, each of bounded length, and no more than so many."""

from collections.abc import Iterator
from dataclasses import dataclass

from supervisor.protocol.lines import LineSplitter, OversizedLine

MOST_LINE_BYTES = 64 * 1024
"""Longest line that is kept while it arrives; of a longer one the first 1,024 bytes are."""

MOST_CHARACTERS = 2_000
"""Of a line, what goes into the journal: a message with its reason; `err.log` has the whole line."""

BURST_LINES = 50
"""Lines that are taken at once: a stack trace, or what a start prints. The CLI prints a few lines a run there."""

LINES_A_SECOND = 0.5
"""Rate of lines in the long run: 1,800 an hour, so that a CLI that floods costs the journal a megabyte a day's work
and not its 16 MiB of `err.log` within seconds."""


@dataclass(frozen=True, slots=True)
class TakenLine:
    """One line that is journalled."""

    end: int
    """Offset behind it in `err.log`."""
    text: str
    passed_over: int
    """Lines before it that were not taken, because too many came."""


class ErrorOutput:
    """Cuts one launch's error output into lines and bounds them.

    Args:
        offset: Where in `err.log` it begins.
    """

    def __init__(self, offset: int = 0) -> None:
        self._splitter = LineSplitter(offset, MOST_LINE_BYTES)
        self._room = float(BURST_LINES)
        self._looked_at: float | None = None
        self._passed_over = 0

    @property
    def received(self) -> int:
        """Offset behind the last byte that was fed."""
        return self._splitter.received

    def feed(self, data: bytes, mono: float) -> Iterator[TakenLine]:
        """Yield the lines to journal that the bytes complete; the caller must exhaust it before the next call.

        Args:
            data: What follows on the bytes fed before.
            mono: Now, in seconds of a clock that never goes back.
        """
        if self._looked_at is not None:
            self._room = min(float(BURST_LINES), self._room + (mono - self._looked_at) * LINES_A_SECOND)
        self._looked_at = mono
        for line in self._splitter.feed(data):
            head = line.head + b" \xe2\x80\xa6" if isinstance(line, OversizedLine) else line.data
            yield from self._take(head, line.end)

    def finish(self) -> Iterator[TakenLine]:
        """Yield a last line that had no newline."""
        line = self._splitter.finish()
        if line is not None:
            yield from self._take(line.head if isinstance(line, OversizedLine) else line.data, line.end)

    def _take(self, data: bytes, end: int) -> Iterator[TakenLine]:
        text = data.decode(errors="replace").rstrip()
        if not text:
            return
        if self._room < 1:
            self._passed_over += 1
            return
        self._room -= 1
        passed_over, self._passed_over = self._passed_over, 0
        shown = text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
        yield TakenLine(end, shown, passed_over)
