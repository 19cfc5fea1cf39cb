"""Trust of people in repositories' settings, by digest: a fold over the journal, kept with the snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from supervisor.protocol.events import TrustDecided


@dataclass(frozen=True, slots=True)
class Trust:
    """A person's decision about a repository's settings."""

    granted: bool
    by: str
    at: float
    """Unix time, in seconds."""


_SAVED = TypeAdapter(dict[str, dict[str, Trust]])

MOST_DIGESTS = 32
"""Decisions kept of one repository, the last ones: each holds for settings as they were once."""


class Trusts:
    """The decisions so far, by repository and digest."""

    def __init__(self) -> None:
        self._last_seq = 0
        self._known: dict[str, dict[str, Trust]] = {}

    def said(self, repository: str, digest: str) -> Trust | None:
        """Return the decision about these settings; None if there is none."""
        return self._known.get(repository, {}).get(digest)

    def trusted(self, repository: str, digest: str) -> bool:
        """Whether they may count. Nothing brought needs no trust."""
        said = self.said(repository, digest)
        return not digest or (said is not None and said.granted)

    def latest(self, repository: str) -> str:
        """Return the digest that was granted last and not taken back; empty if there is none."""
        granted = [digest for digest, said in self._known.get(repository, {}).items() if said.granted]
        return granted[-1] if granted else ""

    def remember(self, seq: int, event: TrustDecided) -> None:
        """Take in a decision, once, however often the journal is read."""
        if seq <= self._last_seq:
            return
        self._last_seq = seq
        if not event.digest:
            self._known.pop(event.repository, None)
            return
        known = self._known.setdefault(event.repository, {})
        known.pop(event.digest, None)
        known[event.digest] = Trust(event.granted, event.by, event.at)
        if len(known) > MOST_DIGESTS:
            del known[next(iter(known))]

    def as_json(self) -> dict[str, Any]:
        """Plain data for the snapshot."""
        return {"last_seq": self._last_seq, "known": _SAVED.dump_python(self._known, mode="json")}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in what a snapshot has, before the journal is read from where it ends."""
        self._last_seq = saved["last_seq"]
        self._known = _SAVED.validate_python(saved["known"])
