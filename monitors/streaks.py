"""Issues of one detector that are open: raised once, raised again when worse, closed when they end."""

from dataclasses import dataclass, replace

from monitors.contract.issues import Issue

MAX_EVIDENCE = 20
"""Most events that an issue names, as the protocol promises."""


@dataclass(slots=True)
class _Open:
    issue: Issue
    level: int


class Streaks:
    """Remembers what was raised, so that nothing is said twice.

    Args:
        most: How many streaks may be open at once; one more closes the oldest.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._open: dict[str, _Open] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._open

    def __len__(self) -> int:
        return len(self._open)

    def worse(self, level: int, key: str = "") -> bool:
        """Whether a streak at this level would be news: it is not open, or was at a lower level."""
        known = self._open.get(key)
        return known is None or level > known.level

    def seen(self, issue: Issue, level: int) -> tuple[Issue, ...]:
        """Return the issue if its streak is new or at a higher level than before, and nothing otherwise."""
        known = self._open.get(issue.key)
        if known is None:
            crowded_out = self.close(next(iter(self._open))) if len(self._open) >= self._most else ()
            self._open[issue.key] = _Open(issue, level)
            return (*crowded_out, issue)
        if level <= known.level:
            return ()
        self._open[issue.key] = _Open(replace(issue, began=known.issue.began), level)
        return (self._open[issue.key].issue,)

    def close(self, key: str = "") -> tuple[Issue, ...]:
        """Return the issue that says that this streak ended, or nothing if none is open."""
        known = self._open.pop(key, None)
        return () if known is None else (replace(known.issue, closed=True),)

    def close_all(self) -> tuple[Issue, ...]:
        """Close every streak, oldest first."""
        return tuple(issue for key in list(self._open) for issue in self.close(key))
