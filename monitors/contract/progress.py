"""Progress of long work: what is done, how far it is, and how long yet, in one form for terminals, pages and the API.

Pure: those who work say how far it is, and when that was.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from monitors.contract.wording import counted, duration

Report = Callable[[int, int | None], object]
"""Told how much is done, and how much there is in all; None if that is not known. May be called from any thread."""

LEAST_SECONDS = 1.0
"""Work before which no time is estimated: the first parts say little about the rest."""

LEAST_SHARE = 0.02
"""Share of the work before which no time is estimated, for the same reason."""


def unreported(_done: int, _total: int | None) -> None:
    """Pass a report over."""


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """How far some long work is."""

    what: str
    """A verb in its present form. Example: `restoring`."""
    subject: str
    """The thing that is worked on. Example: an agent's name, a folder."""
    unit: str
    """The counted thing, in the singular. Example: `file`."""
    done: int
    total: int | None
    """How many there are in all; None if that is not known yet."""
    seconds: float
    """Since it began."""

    @property
    def share(self) -> float | None:
        """The share that is done, from 0 to 1; None if it is not known."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def left_seconds(self) -> float | None:
        """An estimate of how long yet, by the time so far; None if nothing can be said."""
        share = self.share
        if share is None or share < LEAST_SHARE or self.seconds < LEAST_SECONDS:
            return None
        return self.seconds * (1.0 - share) / share

    @property
    def sentence(self) -> str:
        """All of it for people. Example: `restoring a1: 1,200 of 3,000 files, 40 %, 12.0 s left`."""
        head = f"{self.what} {self.subject}".rstrip()
        if self.total is None and not self.done:
            return f"{head}, for {duration(self.seconds)}"
        if self.total is None:
            return f"{head}: {counted(self.done, self.unit)}, for {duration(self.seconds)}"
        left = self.left_seconds
        total = (
            f"{self.total:,} {self.unit}"
            if self.unit.isupper() or self.unit == "MiB"
            else counted(self.total, self.unit)
        )
        parts = [f"{self.done:,} of {total}", f"{self.share or 0.0:.0%}".replace("%", " %")]
        return f"{head}: {', '.join(parts)}" + (f", {duration(left)} left" if left is not None else "")

    def as_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "what": self.what,
            "subject": self.subject,
            "unit": self.unit,
            "done": self.done,
            "total": self.total,
            "seconds": round(self.seconds, 3),
            "left_seconds": None if self.left_seconds is None else round(self.left_seconds, 1),
            "sentence": self.sentence,
        }

    @classmethod
    def of(cls, known: Mapping[str, Any]) -> "WorkProgress":
        """Read what `as_json` gave; raises KeyError if it is something else."""
        return cls(*(known[name] for name in ("what", "subject", "unit", "done", "total", "seconds")))
