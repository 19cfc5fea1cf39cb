"""Emergency stop: freeze first, then save, then end the tree. What is saved is made here."""

from collections.abc import Mapping, Sequence
from typing import Any

from supervisor.protocol.actions import Step
from supervisor.protocol.interventions import Intervention
from supervisor.protocol.tasks import Task

LAST_ACTIONS = 50
"""How many actions a report carries: what led to a stop is seldom older, and a person reads it in one sitting."""


def report(
    intervention: Intervention, task: Task, history: Sequence[Step], session_id: str, journal_range: tuple[int, int]
) -> Mapping[str, Any]:
    """The full report of a stop, as the incident's file holds it.

    Args:
        intervention: The stop, with the issue that led to it.
        task: What the agent had been asked.
        history: The agent's steps, oldest first.
        session_id: The CLI's session, which can be resumed.
        journal_range: First and last sequence number of the agent's events in the journal.
    """
    issue = intervention.issue
    return {
        "summary": f"Emergency stop: {issue.sentence}",
        "issue": {"type": issue.type, "severity": issue.severity, "evidence": issue.evidence, "details": issue.details},
        "reason": intervention.reason,
        "task": {"id": task.id, "prompt": task.prompt[:2000], "repository": task.repository},
        "session_id": session_id,
        "last_actions": [
            {"tool": step.tool, "what": step.summary, "failed": step.failed, "decision": step.decision}
            for step in history[-LAST_ACTIONS:]
        ],
        "journal": {"first": journal_range[0], "last": journal_range[1]},
    }
