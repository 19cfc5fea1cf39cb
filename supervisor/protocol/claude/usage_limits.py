"""Notices of the account's usage limits, which the CLI writes apart from its texts.

Measured on version 2.1.329 with a login or its long token, never with an API key: `{"type":"rate_limit_event",
"rate_limit_info":{"status":"rejected","resetsAt":1795378006,"rateLimitType":"five_hour",…}}` before the turn fails with
"You've hit your 5-hour limit · resets 8:06pm (UTC)", and the same with `allowed_warning` and `utilization` behind a
reply, as the limit comes near.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LATEST_TIME = 253_402_300_799.0
"""The last second of the year 9999: what is beyond it is no time."""


@dataclass(frozen=True, slots=True)
class LimitNotice:
    """A usage limit of the account is near, was reached, or is over."""

    status: str
    """The CLI's word: `allowed`, `allowed_warning` or `rejected`."""
    window: str = ""
    """The limit's kind. Examples: `five_hour`, `seven_day`."""
    resets_at: float | None = None
    """When its window ends, in Unix seconds; None if that is not stated."""
    used: float | None = None
    """The part that is used up, from 0 to 1; None if that is not stated."""

    @classmethod
    def of(cls, frame: Mapping[str, Any]) -> "LimitNotice":
        """Read a frame, leniently: one that lacks a field must never end a run."""
        info = frame.get("rate_limit_info")
        about: Mapping[str, Any] = info if isinstance(info, dict) else {}
        status, window = (str(about.get(key) or "")[:40] for key in ("status", "rateLimitType"))
        resets_at, used = _number(about.get("resetsAt")), _number(about.get("utilization"))
        return cls(status, window, resets_at, min(used, 1.0) if used is not None else None)

    @property
    def rejected(self) -> bool:
        """Whether calls are refused now."""
        return self.status == "rejected"

    @property
    def sentence(self) -> str:
        """The notice in words; empty if nothing is near. Example: `93 % of the five hour limit are used`."""
        if self.status not in ("rejected", "allowed_warning"):
            return ""
        window = f"{self.window.replace('_', ' ')} limit".strip()
        if self.rejected:
            return f"the {window} is reached"
        return f"{self.used * 100:.0f} % of the {window} are used" if self.used is not None else f"the {window} is near"


def _number(value: object) -> float | None:
    """A number that may be a time or a part; None for anything else."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0
    return number if 0 <= number <= LATEST_TIME else None
