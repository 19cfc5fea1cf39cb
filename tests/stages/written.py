"""Waiting until a journal's events stand in its files, for tests that read those."""

import os

from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.journal.writing.writer import JournalState


def until_written(journal: Journal) -> None:
    """Wait until what a journal was given stands in its files: its thread writes them, and needs no event loop."""
    while journal.last_written < journal.last and journal.state is JournalState.OPEN:
        os.sched_yield()
