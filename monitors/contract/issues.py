"""Findings of pattern detectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from monitors.contract.observations import Observation
from monitors.contract.words import Severity


@dataclass(frozen=True, slots=True)
class Issue:
    """A run shows a bad pattern: raised once per streak, again when it worsens, and closed when it ends."""

    type: str
    """The detector's name. Examples: `repetitive_errors`, `scope_creep`, `no_progress`."""
    severity: Severity
    confidence: float
    """0 to 1: how sure the detector is that this is the pattern."""
    impact_factor: float
    """0 to 1: how much harm the pattern does if nothing is done; scales the severity by 1 + this."""
    began: int
    """Sequence number of the event with which it began; a rollback goes before it."""
    sentence: str
    """The problem with its facts, for a person."""
    evidence: tuple[int, ...] = ()
    """Sequence numbers of the events that show it, oldest first, at most 20."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Facts for templates and plugins. Examples: `{"error": "…", "file_path": "…", "count": 3}`."""
    closed: bool = False
    """Whether this says that the streak has ended."""
    key: str = ""
    """Tells streaks of one type apart. Example: the normalised error."""


class Detector(Protocol):
    """Anything that watches a run. Bounded memory, constant work per observation, and pure.

    It may have an attribute `watches`, the set of the types of observations that it wants; without one it is shown all.
    """

    name: str
    """The issue type it raises, and its name in the configuration."""

    def see(self, observation: Observation) -> Sequence[Issue]:
        """Take in one observation and return what is newly seen, worsened or closed; mostly nothing."""
        ...
