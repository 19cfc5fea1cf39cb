"""The facts about a stored task's earlier attempts that its next agent is told."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import anyio.to_thread

from host.apart import ApartError, run_apart
from interventions.recovery.crash_context import LastAttempt
from monitors.contract.actions import CHANGING_TOOLS
from monitors.contract.errors import ChaperonError
from supervisor.core.fold.summary import Summary
from supervisor.core.tasks.records import StoredTask
from supervisor.protocol.words import AgentState
from supervisor.runtime.assembly.workspace_facts import told_by_git
from supervisor.runtime.log import log

CRASHED = frozenset({AgentState.FAILED, AgentState.LOST})
"""States of agents that ended in the middle of their work."""


class ChangedFiles(Protocol):
    """Compares a workspace with an agent's first checkpoint."""

    async def __call__(self, workspace: str, agent: str, since: float) -> Sequence[str]:
        """Return the paths that differ; raises as `CheckpointManager.changed_since_start`."""
        ...


async def last_attempt(task: StoredTask, before: Summary, changed: ChangedFiles) -> LastAttempt:
    """Return the facts of the attempts before the run that has the task now.

    Args:
        task: The task, already claimed.
        before: The last agent that worked on it.
        changed: Tells the files changed by whatever means, a shell too. If it cannot, those of reviewed calls are told.
    """
    runs = task.runs[:-1]
    uncommitted, last_commit = await anyio.to_thread.run_sync(_told_by_git, before.workspace)
    mid_turn = before.unanswered or (before.state in CRASHED and not before.failed)
    told_by_how = len(runs) == 1 and runs[0].agent == before.agent
    return LastAttempt(
        number=task.runs_before + len(runs),
        how=f"{before.state}: {before.why}",
        ends=() if told_by_how else [run.why or run.outcome for run in runs],
        started=datetime.fromtimestamp(before.started_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        turns=before.turns,
        during_turn=before.turns + 1 if mid_turn else 0,
        history=before.recent,
        files_modified=await _modified(before, changed),
        uncommitted=uncommitted,
        done=[item.text for item in before.todo if item.done],
        still_open=[item.text for item in before.todo if not item.done],
        tests=before.tests,
        last_commit=last_commit,
        unanswered=[f"{call.tool} {call.summary}".rstrip() for call in before.unanswered],
        stderr=before.stderr_tail if before.state in CRASHED else "",
        same_session=False,
    )


async def _modified(before: Summary, changed: ChangedFiles) -> Sequence[str]:
    try:
        return await changed(before.workspace, before.agent, before.started_at)
    except (ChaperonError, OSError) as error:
        log.warning("the files that agent %s modified are told by its calls alone: %s", before.agent, error)
        written = (step.summary for step in before.recent if step.tool in CHANGING_TOOLS and not step.failed)
        return list(dict.fromkeys(written))


def _told_by_git(workspace: str) -> tuple[Sequence[str] | None, str]:
    try:
        return run_apart(told_by_git, workspace) if Path(workspace).is_dir() else (None, "")
    except ApartError as error:
        log.warning("what git knows of %s is not told: %s", workspace, error)
        return None, ""
