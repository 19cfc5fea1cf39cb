"""The contract of an exporter, which sends the audit record to another system.

An exporter sees every record once and in order, a batch at a time. Its return says that it has the batch. Its position
is written to disk after that, so after a crash the last batch may come again: `n` identifies its records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from monitors.contract.words import Severity

Wanted = Literal["journal", "incidents"]
"""All records of the journal, or its incidents alone."""

Beginning = Literal["now", "start"]
"""The start of a new exporter: at the present, or at the journal's first record."""


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """One record."""

    n: int
    """Its number in the journal: the same again means the same record."""
    at: float
    """Unix time in seconds."""
    agent: str
    """Empty if it is the daemon's own."""
    kind: str
    """The event's kind. Example: `review_made`."""
    line: bytes
    """The record as one line of JSON in UTF-8, without its newline: of the journal, or of the incident log."""
    data: Mapping[str, Any]
    """The line, decoded."""
    severity: Severity | None = None
    """Of an incident; None for what is none."""


class RefusedRecordsError(Exception):
    """The other system permanently refuses these records.

    Args:
        what: Its answer.
        of_taken: The number that it refused of a batch whose rest it has: nothing of that is sent again. None if it
            took nothing: then halves are tried.
    """

    def __init__(self, what: str, *, of_taken: int | None = None) -> None:
        super().__init__(what)
        self.of_taken = of_taken


class Exporter(Protocol):
    """Sends records to another system. Called in a worker thread, one call at a time.

    More may be there: `wants` (`journal` or `incidents`; else `journal`), `begins` (`now` or `start`; else `now`),
    `timeout_seconds` (else 30), after which a call counts as failed, and a method `close`, called at the daemon's end.
    """

    @property
    def name(self) -> str:
        """The key of its position: lower case letters, digits, hyphens and underscores. It never changes."""
        ...

    def send(self, records: Sequence[ExportRecord]) -> None:
        """Deliver a batch, whole; it may block.

        Raises:
            RefusedRecordsError: It will never be taken: halves of it are tried, and a single record is passed over; or
                the rest of it was taken, as `of_taken` says.
            Exception: It was not delivered, and is sent again later.
        """
        ...
