"""The CLI's own retries: its messages while the API fails.

Measured on version 2.1.329: `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":578,
"error_status":null,"error":"unknown",…}` before each further attempt, with no status if there is no connection. The
delays are about 0.6, 1, 2.4, 4.4, 9.7 and 19 s, and grow on; all ten attempts together take minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REFUSALS = frozenset({401, 403})
"""Statuses by which the API says that it does not take the key or login."""

_CAUSES = {
    **dict.fromkeys(REFUSALS, "the API refuses the key or login"),
    429: "the API limits the rate",
    503: "the API is overloaded",
    529: "the API is overloaded",
}


@dataclass(frozen=True, slots=True)
class Retrying:
    """An attempt failed, and the CLI makes another."""

    attempt: int
    """Number of the next retry, from 1."""
    most: int
    """How many it makes before it gives up; 0 if it does not say."""
    delay_seconds: float
    """How long it waits before."""
    status: int | None = None
    """Status code of the API; None if there was no answer."""
    error: str = ""
    """The CLI's word for it. Examples: `overloaded`, `rate_limit`, `unknown`."""

    @classmethod
    def of(cls, frame: Mapping[str, Any]) -> "Retrying":
        """Read a frame, leniently: one that lacks a field must never end a run."""
        status = frame.get("error_status")
        return cls(
            int(_number(frame.get("attempt"))),
            int(_number(frame.get("max_retries"))),
            _number(frame.get("retry_delay_ms")) / 1000,
            status if isinstance(status, int) else None,
            str(frame.get("error") or "")[:80],
        )

    @property
    def refused(self) -> bool:
        """Whether the API does not take the key or login."""
        return self.status in REFUSALS

    @property
    def cause(self) -> str:
        """Describe the problem in words. Example: `the API is overloaded (529)`."""
        if self.status is None:
            return "the API cannot be reached"
        return f"{_CAUSES.get(self.status, 'the API answers with an error')} ({self.status})"

    @property
    def sentence(self) -> str:
        """The whole of it. Example: `the API is overloaded (529): retry 2 of 10 in 1.0 s`."""
        most = f" of {self.most}" if self.most else ""
        return f"{self.cause}: retry {self.attempt}{most} in {self.delay_seconds:.1f} s"


def _number(value: object) -> float:
    """A number within what a run can last, and nought for anything else."""
    return min(float(value), 1e9) if isinstance(value, int | float) and value > 0 else 0.0
