"""What is done about an issue, and the incident that tells of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from supervisor.protocol.issues import Issue
from supervisor.protocol.words import InterventionKind, Severity


@dataclass(frozen=True, slots=True)
class Intervention:
    """One choice of the controller, with why."""

    id: str
    """Unique in a run. Example: `i-17`, after the event that led to it."""
    kind: InterventionKind
    issue: Issue
    score: float
    """Combined score that chose the kind: severity and escalation."""
    reason: str
    """Why this and not the next: the sum, in a sentence."""
    message: str = ""
    """What the agent is told, word for word; empty where it is told nothing."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the kind needs. Examples: new limits, the checkpoint's name."""


@dataclass(frozen=True, slots=True)
class Incident:
    """An intervention or a fault worth a person's eye: one line in the incident log."""

    id: str
    """Example: `20261121T081500Z-a3-i-17`: sorts by time, names the agent."""
    at: float
    """Unix time, in seconds."""
    agent: str
    """The agent, or empty where the fault is the daemon's."""
    type: str
    """The intervention's kind, or the fault's name. Examples: `emergency_stop`, `disk_full`, `torn_journal`."""
    severity: Severity
    summary: str
    """One sentence: what happened and what was done."""
    way_out: str = ""
    """What a person can do now, as a command where there is one."""
    issue: str = ""
    """The issue's type, where one led here."""
    seq: int = 0
    """The journal's sequence number of the event behind it."""
    report: str = ""
    """Path of the full report relative to the state directory; empty where there is none."""
