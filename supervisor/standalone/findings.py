"""The findings of a run, for machines that read SARIF or JUnit: refused calls and incidents, from the journal's events.

Pure, and bounded: a run that does nothing but refused things gives as many findings as are kept, and says how many more
there were.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from monitors.contract.subjects import subject_of
from monitors.contract.words import Severity
from supervisor.protocol.plain import harmless

MOST_FINDINGS = 5_000
"""Findings that are kept: what GitHub shows of one SARIF file (its documented limit of results displayed)."""

TEXT = 2_000
"""Longest text of a finding, in characters."""


@dataclass(frozen=True, slots=True)
class RunFinding:
    """A refused call, or an incident."""

    rule: str
    """The reviewer's rule, or the incident's type. Example: `git.push-force`."""
    severity: Severity
    text: str
    """The event and its reason, for a person."""
    agent: str
    subject: str
    """The call, shortened; of an incident, its id."""
    path: str = ""
    """A file of the workspace that it is about, relative to it; empty if there is none."""
    decision: str = ""
    """The decision of the gate; empty for an incident."""


@dataclass(slots=True)
class RunFindings:
    """The calls of a run, counted, and its findings."""

    calls: Counter[str] = field(default_factory=Counter)
    """By decision of the gate."""
    found: list[RunFinding] = field(default_factory=list)
    dropped: int = 0
    """Findings that are not kept, beyond `MOST_FINDINGS`."""
    incidents: Counter[str] = field(default_factory=Counter)
    """By severity."""
    agents: set[str] = field(default_factory=set)
    _workspaces: dict[str, str] = field(default_factory=dict)

    def take(self, record: Mapping[str, Any]) -> None:
        """Take an event of the journal; one of another shape than its kind has is passed over."""
        take = _TAKES.get(str(record.get("kind", "")))
        if take is not None:
            try:
                take(self, record)
            except (KeyError, TypeError, ValueError, AttributeError):
                return

    def at_least(self, severity: Severity) -> list[RunFinding]:
        """Return the incidents of this severity and worse."""
        return [one for one in self.found if not one.decision and one.severity.rank >= severity.rank]

    def began(self, record: Mapping[str, Any]) -> None:
        """Note where an agent works."""
        agent = str(record["agent"])
        self.agents.add(agent)
        self._workspaces[agent] = str(record["workspace"])

    def reviewed(self, record: Mapping[str, Any]) -> None:
        """Count a call, and keep one that did not run as it was asked."""
        review, action = record["review"], record["action"]
        decision = str(review["decision"])
        self.calls[decision] += 1
        if decision == "allow":
            return
        agent = str(record["agent"])
        paths = (str(touch["path"]) for touch in review.get("touches", ()))
        inside = (self._inside(agent, path) for path in paths)
        self._keep(
            RunFinding(
                _plain(str(review.get("rule") or "chaperon.risk"), 120),
                Severity(review["severity"]),
                _plain(str(review["reasoning"]), TEXT),
                agent,
                _plain(f"{action['tool']} {subject_of(action['input'])}", 200),
                next((path for path in inside if path), ""),
                decision,
            )
        )

    def incident(self, record: Mapping[str, Any]) -> None:
        """Keep an incident."""
        incident = record["incident"]
        severity = Severity(incident["severity"])
        self.incidents[severity.value] += 1
        text = " ".join(filter(None, (str(incident["summary"]), str(incident.get("way_out") or ""))))
        kind = _plain(str(incident["type"]), 120)
        self._keep(
            RunFinding(kind, severity, _plain(text, TEXT), str(record["agent"]), _plain(str(incident["id"]), 200))
        )

    def _keep(self, finding: RunFinding) -> None:
        if len(self.found) < MOST_FINDINGS:
            self.found.append(finding)
        else:
            self.dropped += 1

    def _inside(self, agent: str, path: str) -> str:
        top = self._workspaces.get(agent, "")
        pure = PurePosixPath(path)
        if not top or not pure.is_relative_to(top) or pure == PurePosixPath(top):
            return ""
        return _plain(str(pure.relative_to(top)), 1_000)


_TAKES = {
    "task_submitted": RunFindings.began,
    "review_made": RunFindings.reviewed,
    "incident_opened": RunFindings.incident,
    "fault_seen": RunFindings.incident,
}


def _plain(text: str, width: int) -> str:
    """Return a text in one line that every form can hold, shortened."""
    whole = " ".join(harmless(text[: 2 * width]).split())
    return whole if len(whole) <= width else f"{whole[: width - 1]}…"
