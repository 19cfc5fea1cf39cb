"""Waiting until a journal's events stand in its files, for tests that read those."""

import os
import time

from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.writing.writer import JournalState

PATIENCE_SECONDS = 60.0
"""A record takes less than a millisecond, if the writing thread gets a processor."""


def until_written(journal: Journal) -> None:
    """Wait until what a journal was given stands in its files: its thread writes them, and needs no event loop."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while journal.last_written < journal.last and journal.state is JournalState.OPEN:
        assert time.monotonic() < deadline, f"{journal.last - journal.last_written} records are not written"
        os.sched_yield()
