"""The submission of an agent for a stored task."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.core.fold.summary import Summary
from supervisor.core.tasks.records import StoredTask
from supervisor.runtime.daemon.submission import SESSION_ID, Claim, Submission


@dataclass(frozen=True, slots=True)
class AgentStart:
    """The submission of an agent, and the claim that it is made for."""

    wanted: Submission
    claim: Claim


def agent_start(task: StoredTask, before: Summary | None, rework: str = "", recovery: str = "") -> AgentStart:
    """Return the submission for the run that has the task now. Blocks, to see whether a workspace is still there.

    Args:
        task: The task, already claimed.
        before: The agent of the run before, if there was one.
        rework: The message to the agent that goes on with that run's work; empty if it begins anew.
        recovery: The message to the agent if it begins anew where that run's agent worked.
    """
    run, spec = task.runs[-1], task.spec
    kept = before is not None and bool(before.branch) and Path(before.workspace).is_dir()
    about: dict[str, Any] = {
        "name": run.agent,
        "prompt": spec.prompt,
        "repository": spec.repository,
        "workspace": spec.workspace,
        "base": spec.base if spec.workspace == "new" else None,
        "goals": spec.goals,
        "constraints": spec.constraints,
        "expected_paths": spec.expected_paths,
        "own_limits": spec.limits,
        "max_cost_usd": spec.max_cost_usd,
        "model": spec.model,
        "permission_mode": spec.permission_mode,
        "monitoring_level": spec.monitoring_level,
        "approval": spec.approval,
        "labels": spec.labels,
    }
    claim = Claim(task.id, run.run_id)
    if before is not None and (kept or not before.branch):
        if kept:
            about |= {"repository": before.workspace, "workspace": "in-place", "base": None}
            claim = Claim(task.id, run.run_id, before.agent)
        if rework and re.match(SESSION_ID, before.session_id or ""):
            about["resume_session"] = before.session_id
        claim = Claim(claim.task, claim.run_id, claim.goes_on_for, rework or recovery)
    return AgentStart(Submission.model_validate(about), claim)
