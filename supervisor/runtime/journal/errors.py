"""Why the journal takes no more."""

import os

from monitors.contract.errors import ChaperonError
from supervisor.runtime.journal.reader import JournalDamagedError

__all__ = [
    "JournalClosedError",
    "JournalDamagedError",
    "JournalError",
    "JournalFullError",
    "JournalPoisonedError",
    "JournalUnwrittenError",
]


class JournalError(ChaperonError):
    """The journal did not take, or did not keep, what it was given."""


class JournalPoisonedError(JournalError):
    """A write or a sync failed; nothing after it is acknowledged, and nothing is tried again on that file."""

    def __init__(self, error: BaseException, place: str) -> None:
        """Name the failure and the place.

        Args:
            error: What the disk said.
            place: The file or directory.
        """
        self.errno = error.errno if isinstance(error, OSError) else None
        reason = os.strerror(self.errno) if self.errno else repr(error)
        super().__init__(
            f"The journal in {place} cannot be trusted any more: {reason} (errno {self.errno}). What was acknowledged "
            "before is kept; nothing since is, and agents wait at their next tool call.",
            way_out="Look into the disk (dmesg, smartctl, mount), then start the daemon again: it reads what the disk has.",
        )


class JournalFullError(JournalError):
    """There is no room on the disk and no more room in memory; the event was not taken."""

    def __init__(self, queued_bytes: int, place: str) -> None:
        """Say how much waits.

        Args:
            queued_bytes: What waits in memory.
            place: The directory.
        """
        super().__init__(
            f"The journal in {place} takes no event: {queued_bytes} bytes wait to be written. The event was not taken.",
            way_out="Make room on that disk; the journal goes on by itself within a second.",
        )
        self.queued_bytes = queued_bytes


class JournalClosedError(JournalError):
    """The journal was closed in order."""

    def __init__(self, place: str) -> None:
        """Name the directory."""
        super().__init__(f"The journal in {place} is closed; the event was not taken.")


class JournalUnwrittenError(JournalError):
    """The journal was closed while the disk was full; some of what it had taken is not in it."""

    def __init__(self, unwritten_bytes: int, place: str) -> None:
        """Say how much.

        Args:
            unwritten_bytes: What found no room.
            place: The directory.
        """
        super().__init__(
            f"The journal in {place} was closed with {unwritten_bytes} bytes of events that found no room on the disk. "
            "They were acknowledged to nobody, and what agents said is in their own files.",
            way_out="Make room on that disk before the next start.",
        )
        self.unwritten_bytes = unwritten_bytes
