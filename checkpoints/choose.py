"""The choice of the checkpoint to go back to after a run went wrong.

Pure: takes checkpoints and the issue, returns a choice with its reasons.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from checkpoints.model import Checkpoint, Reason
from monitors.contract.bounds import Pause, Share
from monitors.contract.issues import Issue
from monitors.contract.wording import counted


@dataclass(frozen=True, slots=True)
class SafeCriteria:
    """Thresholds that a checkpoint must meet to be worth going back to."""

    min_success_rate: Share = 0.8
    """Least share of tool calls before it that succeeded, 0 to 1."""
    no_errors_duration_seconds: Pause = 60.0
    """How long before it no tool call may have failed, in seconds."""
    max_rollback_depth: int = 3
    """How many checkpoints before the issue are looked at, newest first: what lies further back costs too much work."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A checkpoint that was not chosen, with the reason."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The checkpoint to go back to, and the reasons against newer ones."""

    checkpoint: Checkpoint | None
    """None if no checkpoint is safe."""
    passed_over: tuple[PassedOver, ...]
    """Those newer than the chosen one, newest first."""


def choose(checkpoints: Iterable[Checkpoint], issue: Issue, criteria: SafeCriteria = SafeCriteria()) -> Choice:
    """Return the newest checkpoint from before the issue began that is safe for it.

    Args:
        checkpoints: Those of one workspace, in any order.
        issue: What went wrong; its first event and its evidence bound how new a checkpoint may be.
        criteria: What makes one safe.
    """
    began = min((issue.began, *issue.evidence))
    passed: list[PassedOver] = []
    looked_at = 0
    for checkpoint in sorted(checkpoints, key=lambda one: one.number, reverse=True):
        why = _why_no_candidate(checkpoint, began)
        if not why and looked_at == criteria.max_rollback_depth:
            why = f"it is more than {counted(criteria.max_rollback_depth, 'checkpoint')} back"
            passed.append(PassedOver(checkpoint.name, why))
            break
        if not why:
            looked_at += 1
            why = why_unsafe(checkpoint, criteria)
        if not why:
            return Choice(checkpoint, tuple(passed))
        passed.append(PassedOver(checkpoint.name, why))
    return Choice(None, tuple(passed))


def _why_no_candidate(checkpoint: Checkpoint, began: int) -> str:
    if checkpoint.facts.reason is Reason.UNDO:
        return "it holds what a rollback turned away from"
    if checkpoint.facts.seq >= began:
        return f"it was made at event {checkpoint.facts.seq}, and the issue began at event {began}"
    return ""


def why_unsafe(checkpoint: Checkpoint, criteria: SafeCriteria) -> str:
    """Say why a checkpoint is not safe; empty if it is. What was never measured speaks against nothing."""
    health = checkpoint.facts.health
    if health.success_rate is not None and health.success_rate < criteria.min_success_rate:
        return f"{health.success_rate:.0%} of actions had succeeded, less than {criteria.min_success_rate:.0%}"
    quiet = health.seconds_without_errors
    if quiet is not None and quiet < criteria.no_errors_duration_seconds:
        return f"it had been without errors for {quiet:.0f} s, less than {criteria.no_errors_duration_seconds:.0f} s"
    return ""
