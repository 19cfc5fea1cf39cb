"""The full report of an emergency stop, as in the incident's file: sanitised, and enough to continue on another day."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from interventions import advice, recovery_options, sanitise
from interventions.aftermath import Aftermath
from interventions.contract import ResourceUsage
from interventions.decisions import Intervention
from monitors.contract.actions import CHANGING_TOOLS, PastCall
from monitors.contract.issues import Issue
from monitors.contract.tasks import Task

LAST_ACTIONS = 50
"""How many actions a report carries: what led to a stop is seldom older, and a person reads it in one sitting."""


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One line of the timeline."""

    at: float
    """Unix time, in seconds."""
    seq: int
    what: str


@dataclass(frozen=True, slots=True)
class StopFacts:
    """Contents of a report."""

    incident: str
    """The incident's id, by which the options are carried out."""
    intervention: Intervention
    task: Task
    agent: str
    workspace: str
    session_id: str
    started_at: float
    """Unix time of the submission, in seconds."""
    at: float
    """Unix time of the stop, in seconds."""
    history: Sequence[PastCall] = ()
    timeline: Sequence[TimelineEntry] = ()
    issues: Sequence[Issue] = ()
    """Those open at the stop."""
    usage: ResourceUsage = field(default_factory=ResourceUsage)
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many reviews of each decision, issues of each type, interventions of each kind."""
    journal_range: tuple[int, int] = (0, 0)
    """First and last sequence number of the agent's events."""


def report(facts: StopFacts) -> dict[str, Any]:
    """Return the report: plain data without recognisable secrets."""
    chosen, issue = facts.intervention, facts.intervention.issue
    whole = {
        "summary": f"Emergency stop of {facts.agent}: {issue.sentence}",
        "incident": facts.incident,
        "agent": facts.agent,
        "workspace": facts.workspace,
        "session_id": facts.session_id,
        "severity": issue.severity,
        "issue": {"type": issue.type, "severity": issue.severity, "evidence": issue.evidence, "details": issue.details},
        "reason": chosen.reason,
        "task": _task(facts.task),
        "timeline": _timeline(facts),
        "impact": _impact(facts),
        "root_cause": _root_cause(facts),
        "contributing_factors": _contributing(facts),
        "recommendations": _recommendations(facts),
        "recovery_options": recovery_options.options(
            facts.incident, facts.task, facts.usage, str(chosen.details.get("checkpoint") or "")
        ),
        "last_actions": [
            {"tool": step.tool, "what": step.summary, "failed": step.failed, "decision": step.decision}
            for step in facts.history[-LAST_ACTIONS:]
        ],
        "journal": {"first": facts.journal_range[0], "last": facts.journal_range[1]},
    }
    clean = sanitise.data(whole)
    assert isinstance(clean, dict)
    return clean


def _task(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "prompt": task.prompt[:20_000],
        "repository": task.repository,
        "expected_paths": task.expected_paths,
        "constraints": task.constraints,
        "goals": task.goals,
        "model": task.model,
        "permission_mode": task.permission_mode,
        "monitoring_level": task.monitoring_level,
        "limits": asdict(task.limits),
    }


def _timeline(facts: StopFacts) -> list[dict[str, Any]]:
    began = {"at": facts.started_at, "seq": facts.journal_range[0], "what": "the task was submitted"}
    between = [{"at": moment.at, "seq": moment.seq, "what": moment.what} for moment in facts.timeline]
    ended = {"at": facts.at, "seq": facts.journal_range[1], "what": "emergency stop"}
    return [began, *between, ended]


def _impact(facts: StopFacts) -> dict[str, Any]:
    changing = [step for step in facts.history if step.tool in CHANGING_TOOLS and not _kept_out(step)]
    return {
        "files_affected": sorted({step.summary for step in changing}),
        "files_are": f"those that the last {LAST_ACTIONS} actions named; the whole list follows once all processes have gone",
        "resources": {name: value for name, value in facts.usage._asdict().items() if value is not None},
        "duration_seconds": round(facts.at - facts.started_at, 3),
        "refused": facts.counts.get("reviews", {}).get("block", 0),
    }


def _kept_out(step: PastCall) -> bool:
    return step.failed or step.decision == "block"


def _root_cause(facts: StopFacts) -> dict[str, Any]:
    """Return the beginning of the trouble. The sentence is the detector's; no model was asked for the reason."""
    issue = facts.intervention.issue
    earlier = [other for other in facts.issues if other.began < issue.began]
    first = min(earlier, key=lambda other: other.began, default=None)
    said = f"{issue.sentence} It began at event {issue.began}."
    if first is not None:
        said += f" Open before it, since event {first.began}: {first.sentence}"
    return {"sentence": said, "began": issue.began, "earliest": (first or issue).type}


def _contributing(facts: StopFacts) -> list[str]:
    issue = facts.intervention.issue
    found = [
        f"Also open: {other.sentence}" for other in facts.issues if (other.type, other.key) != (issue.type, issue.key)
    ]
    interventions = facts.counts.get("interventions", {})
    before = {kind: number for kind, number in interventions.items() if kind != facts.intervention.kind}
    if before:
        found.append(
            "Earlier interventions did not end it: " + ", ".join(f"{kind} ({n})" for kind, n in before.items()) + "."
        )
    failed = sum(step.failed for step in facts.history)
    if facts.history and failed * 3 >= len(facts.history):
        found.append(f"{failed} of the last {len(facts.history)} actions failed.")
    refused = sum(step.decision == "block" for step in facts.history)
    if refused:
        found.append(f"{refused} of the last {len(facts.history)} actions were blocked.")
    if not facts.task.expected_paths:
        found.append("The task did not say which paths it is about.")
    if not facts.task.goals:
        found.append("The task did not say when it is done.")
    return found


_PREVENTIVE = {
    "scope_creep": "Give the task its expected paths (expected_paths), so that work outside is seen at the first step.",
    "resource_spiral": "Give the task limits near what it needs, so that growth is seen before it is felt.",
    "runaway_execution": "Give the task limits near what it needs, so that growth is seen before it is felt.",
    "goal_drift": "Give the task goals, most important first.",
    "test_tampering": "Say in the constraints that tests stay as they are.",
    "critical_action": "If the task really needs this action, do it yourself: no agent is excused from its rule.",
    "gate_bypassed": "Run it in a sandbox (agent.launcher), or as another user: a program of the agent could write into its CLI.",
    "hallucination": "Name the files and interfaces that the task is about in its prompt.",
}


def _recommendations(facts: StopFacts) -> dict[str, list[Any]]:
    issue = facts.intervention.issue
    immediate = [
        f"Look at what changed: git -C {facts.workspace} status",
        f"Read the last actions below, and the journal from event {issue.began} on: chaperon show {facts.agent}",
        "Choose one of the recovery options.",
    ]
    preventive = [_PREVENTIVE.get(issue.type, "Say more exactly in the prompt what is to be done and where.")]
    if not facts.intervention.details.get("checkpoint"):
        preventive.append("There was no safe checkpoint: take one before unattended work (chaperon checkpoint NAME).")
    configuration = [
        {"key": each.key, "value": each.value, "because": each.because}
        for each in advice.suggestions(facts.intervention, facts.task.limits, facts.usage)
    ]
    return {"immediate": immediate, "preventive": preventive, "configuration": configuration}


def completed(whole: Mapping[str, Any], found: Aftermath) -> dict[str, Any]:
    """Return a report with the findings after the end of the agent's processes, in place of the earlier ones.

    Args:
        whole: The report, as its file holds it; parts that a person removed are not put back.
        found: The findings.
    """
    files = [*found.files, *([f"and {found.more_files} more"] if found.more_files else [])]
    shared = f" {', '.join(found.shared_with)} worked there too: some may be theirs." if found.shared_with else ""
    unseen = [what for what in found.not_looked if what.startswith("files")]
    impact = dict(whole.get("impact") or {})
    if not unseen:
        impact["files_affected"] = files
        impact["files_are"] = f"those of the workspace that are not as they were when the agent started.{shared}"
    clean_up = [asdict(each) for each in found.leftovers]
    options = [
        {**row, "clean_up": clean_up, "not_looked_at": list(found.not_looked)}
        if isinstance(row, Mapping) and row.get("option") == recovery_options.ABORT
        else row
        for row in (whole.get("recovery_options") or ())
    ]
    clean = sanitise.data({**whole, "impact": impact, "recovery_options": options})
    assert isinstance(clean, dict)
    return clean
