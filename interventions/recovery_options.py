"""The ways back from an emergency stop. Each is carried out by one command, from the incident's report alone.

`options` writes them into the report. `carry_out` reads one back, on another day and by another daemon, as a task to
start. A report may have been edited: a value that does not fit is an error that says so.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from interventions.approval import ApprovalSettings
from interventions.contract import ResourceUsage
from interventions.texts.fields import OPENING
from monitors.contract.actions import AGENT_TOOLS, SHELL_TOOLS, WEB_TOOLS
from monitors.contract.errors import UsageError
from monitors.contract.tasks import Limits, Task
from monitors.contract.words import MonitoringLevel

RESUME, ROLLBACK, APPROVE, ABORT = "resume_with_limits", "rollback_and_retry", "manual_approval", "abort"
OPTIONS = (RESUME, ROLLBACK, APPROVE, ABORT)

STRICT = 0.5
"""Share of each remaining limit that a resumed task gets: one half."""

STRICT_TOOLS = tuple(sorted(SHELL_TOOLS | WEB_TOOLS | AGENT_TOOLS))
"""Tools whose every call waits for a person after a resume with limits. Only their input bounds their effect."""

LEAST = {
    "max_file_operations": 20,
    "max_memory_mb": 1_024,
    "max_execution_time_seconds": 600,
    "max_token_usage": 200_000,
    "max_steps": 20,
}
"""Below these a resumed CLI does not get through its own start and one useful step: it holds 205 MB idle, and each of
its requests carries tens of thousands of tokens of context."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """The start that a recovery option leads to."""

    option: str
    agent: str
    """The agent that was stopped; the new one is named after it."""
    workspace: str
    task: Task | None
    """The task to start in that workspace; None if none is."""
    checkpoint: str = ""
    """The checkpoint to restore first; empty if none is."""
    approval: ApprovalSettings | None = None
    """Approval mode of the new agent; None leaves the configured one."""
    clean_up: bool = False
    """Whether the workspace is removed, once nothing in it would be lost."""


def options(incident: str, task: Task, usage: ResourceUsage, checkpoint: str) -> list[dict[str, Any]]:
    """The options as the report holds them. One that is not possible is listed with why and without a command."""
    approval = ApprovalSettings(mode="ask")
    rows: list[dict[str, Any]] = [
        {
            "option": RESUME,
            "description": "Go on in the same session, watched more closely and with stricter limits; shell, web and subagents "
            "wait for a person.",
            "changes": {
                "limits": strict_limits(task.limits, usage),
                "monitoring_level": MonitoringLevel.STRICT,
                "ask_for_tools": list(STRICT_TOOLS),
            },
        },
        {
            "option": ROLLBACK,
            "description": "Set the files back to the last safe checkpoint and try again in a new session."
            if checkpoint
            else "Not possible: there is no safe checkpoint.",
            "checkpoint": checkpoint,
        },
        {
            "option": APPROVE,
            "description": "Go on in the same session, and have a person approve each action that changes something.",
            "approval": {"ask_for": list(approval.require_approval_for), "without": list(approval.auto_approve)},
        },
        {
            "option": ABORT,
            "description": "Give the task up. A worktree that was made for it is removed if nothing in it would be lost; a repository of "
            "yours is left as it is. What the CLI printed is deleted; the journal stays.",
            "clean_up": [],  # what there is, is looked for once all processes have gone
        },
    ]
    for row in rows:
        possible = row["option"] != ROLLBACK or checkpoint
        row["command"] = f"chaperon recover {incident} {row['option'].replace('_', '-')}" if possible else ""
    return rows


def strict_limits(limits: Limits, usage: ResourceUsage) -> dict[str, float | None]:
    """Half of what remained of each limit, on top of nothing: a resumed agent counts from zero."""
    used = {
        "max_file_operations": usage.file_operations,
        "max_memory_mb": None,  # memory is given back when a process ends, so nothing of it is used up
        "max_execution_time_seconds": usage.seconds,
        "max_token_usage": usage.tokens,
        "max_steps": usage.steps,
    }
    strict: dict[str, float | None] = {}
    for name, gone in used.items():
        whole = getattr(limits, name)
        left = None if whole is None else max(0, whole - (gone or 0))
        strict[name] = None if left is None else max(LEAST[name], math.ceil(left * STRICT))
    strict["max_cost_usd"] = (
        None if limits.max_cost_usd is None else max(0.1, (limits.max_cost_usd - (usage.cost_usd or 0)) * STRICT)
    )
    return strict


def carry_out(report: Mapping[str, Any], option: str) -> Resumption:
    """Return the start that an option of a report leads to.

    Args:
        report: The report of a stop, as its file holds it.
        option: An option's name, with dashes or underscores.

    Raises:
        UsageError: There is no such option, it is not possible, or the report lacks what it needs.
    """
    name = option.replace("-", "_")
    row = next((row for row in report.get("recovery_options", ()) if row.get("option") == name), None)
    if row is None:
        raise UsageError(
            f"The incident has no recovery option {option!r}.",
            way_out=f"Options: {', '.join(option.replace('_', '-') for option in OPTIONS)}.",
        )
    if not row.get("command"):
        raise UsageError(
            f"The option {option!r} is not possible. {row.get('description', '')}", way_out="Choose another."
        )
    try:
        return _resumption(report, row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"The report lacks what {option!r} needs ({type(error).__name__}: {error}); nothing was done.",
            way_out="Start the task anew with chaperon run.",
        ) from None


def _resumption(report: Mapping[str, Any], row: Mapping[str, Any]) -> Resumption:
    name, agent, workspace = row["option"], str(report["agent"]), str(report["workspace"])
    if name == ABORT:
        return Resumption(ABORT, agent, workspace, None, clean_up=True)
    task = _task(report)
    if name == ROLLBACK:
        again = replace(task, prompt=f"{task.prompt}\n\n{_lesson(report)}")
        return Resumption(ROLLBACK, agent, workspace, again, checkpoint=str(row["checkpoint"]))
    resumed = replace(task, resume_session=str(report["session_id"]), prompt=_resuming(report, name))
    if name == APPROVE:
        return Resumption(APPROVE, agent, workspace, resumed, approval=ApprovalSettings(mode="ask"))
    limits = Limits(**row["changes"]["limits"])
    approval = ApprovalSettings(mode="ask", require_approval_for=(), tools=tuple(row["changes"]["ask_for_tools"]))
    level = MonitoringLevel(row["changes"].get("monitoring_level", MonitoringLevel.STRICT))
    watched = replace(resumed, limits=limits, monitoring_level=level)
    return Resumption(RESUME, agent, workspace, watched, approval=approval)


def _task(report: Mapping[str, Any]) -> Task:
    given = report["task"]
    return Task(
        id=str(given["id"]),
        prompt=str(given["prompt"]),
        repository=str(given["repository"]),
        expected_paths=tuple(given["expected_paths"]),
        constraints=tuple(given["constraints"]),
        goals=tuple(given["goals"]),
        limits=Limits(**given["limits"]),
        model=given["model"],
        permission_mode=str(given["permission_mode"]),
        monitoring_level=MonitoringLevel(given.get("monitoring_level", MonitoringLevel.NORMAL)),
    )


def _lesson(report: Mapping[str, Any]) -> str:
    return f"An earlier attempt was stopped: {report['root_cause']['sentence']} Do it another way this time."


def _resuming(report: Mapping[str, Any], name: str) -> str:
    how = "with stricter limits" if name == RESUME else "and a person approves each action that changes something"
    return (
        f"{OPENING}You were stopped: {report['root_cause']['sentence']} A person lets you go on, {how}. Look at where the "
        f"work stands, and go on with the task in another way: {report['task']['prompt'][:1_000]}"
    )
