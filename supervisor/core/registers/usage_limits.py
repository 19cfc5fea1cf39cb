"""Usage limits of accounts that were met: a fold over the journal, kept with the snapshot."""

from collections.abc import Mapping
from typing import Any

MOST_ACCOUNTS = 256
"""Accounts that are kept, the last ones."""


class UsageLimits:
    """The accounts that met their usage limit, and when each limit ends."""

    def __init__(self) -> None:
        self._last_seq = 0
        self._until: dict[str, float] = {}

    def until(self, account: str) -> float:
        """Return the end of the last limit that an account met, in Unix seconds; 0 if it met none."""
        return self._until.get(account, 0.0)

    def remember(self, seq: int, account: str, until: float) -> None:
        """Take in that an account met a limit, once, however often the journal is read."""
        if seq <= self._last_seq or not account:
            return
        self._last_seq = seq
        self._until[account] = max(until, self._until.pop(account, 0.0))
        if len(self._until) > MOST_ACCOUNTS:
            del self._until[next(iter(self._until))]

    def as_json(self) -> dict[str, Any]:
        """Plain data for the snapshot."""
        return {"last_seq": self._last_seq, "until": dict(self._until)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in what a snapshot has, before the journal is read from where it ends."""
        self._last_seq = int(saved["last_seq"])
        self._until = {str(account): float(until) for account, until in saved["until"].items()}
