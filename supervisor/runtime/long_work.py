"""The daemon's long work, and how far it is: captures, restores, adoptions. Costs an entry in a table for each.

Reports come from any thread, and the table is read from the loop: neither waits for the other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from monitors.contract.progress import Report, WorkProgress

TOLD_SECONDS = 0.3
"""Work is told of from then on: most captures take milliseconds, and would be over before they are read."""


class _Clock(Protocol):
    def mono(self) -> float: ...


@dataclass(slots=True)
class _Entry:
    what: str
    subject: str
    unit: str
    began: float
    done: int = 0
    total: int | None = None


class LongWork:
    """The table of what is under way.

    Args:
        clock: Tells monotonic seconds.
    """

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock
        self._entries: dict[int, _Entry] = {}
        self._last = 0

    @contextmanager
    def under_way(self, what: str, subject: str, unit: str) -> Iterator[Report]:
        """Have the work of the block in the table; it reports by what it is given.

        Args:
            what: A verb. Example: `restoring`.
            subject: The thing that is worked on.
            unit: The counted thing, in the singular.
        """
        self._last += 1
        number, entry = self._last, _Entry(what, subject, unit, self._clock.mono())
        self._entries[number] = entry

        def report(done: int, total: int | None) -> None:
            entry.done, entry.total = done, total

        try:
            yield report
        finally:
            del self._entries[number]

    def rows(self) -> dict[int, WorkProgress]:
        """Return what lasts long enough to be told of, by a number that is not used again, the oldest first."""
        now = self._clock.mono()
        return {
            number: WorkProgress(each.what, each.subject, each.unit, each.done, each.total, now - each.began)
            for number, each in list(self._entries.items())
            if now - each.began >= TOLD_SECONDS
        }
