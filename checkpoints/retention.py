"""The choice of checkpoints to keep. Pure: takes checkpoints and the time, returns the names to delete."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from checkpoints.model import Checkpoint, Reason

SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How many checkpoints stay, and how long."""

    keep_last: int = 3
    """The newest of each workspace that stay whatever their age: as many as a rollback looks at."""
    max_count: int = 50
    """Of each workspace, those that must stay included."""
    max_age_days: float = 30.0
    checkpoint_retention_minutes: float = 30.0
    """For those that a run makes by itself, turn by turn."""
    quota_bytes: int | None = None
    """How large a store may be before more is dropped; None for no quota."""


FLEETING = frozenset({Reason.TURN, Reason.RISKY_ACTION, Reason.TESTS_PASSED})
"""Reasons of checkpoints that a run makes as it goes. Those of its start, of an unattended stretch, of a milestone,
and before a rollback live longer."""


def to_drop(
    checkpoints: Iterable[Checkpoint],
    now: float,
    policy: RetentionPolicy = RetentionPolicy(),
    *,
    held: Collection[str] = (),
    over_quota: bool = False,
) -> tuple[str, ...]:
    """Return the names of checkpoints that need not be kept, oldest first.

    Args:
        checkpoints: Those of one store, of any number of workspaces, in any order.
        now: Unix time in seconds.
        policy: What stays.
        held: Names that must stay for another reason, such as a restore that is under way.
        over_quota: Whether the store is too large: then the older half of what may go, goes.
    """
    by_workspace: dict[str, list[Checkpoint]] = {}
    for checkpoint in sorted(checkpoints, key=lambda one: one.number, reverse=True):
        by_workspace.setdefault(checkpoint.workspace, []).append(checkpoint)
    dropped: list[Checkpoint] = []
    for newest_first in by_workspace.values():
        dropped += _of_workspace(newest_first, now, policy, held, over_quota=over_quota)
    return tuple(checkpoint.name for checkpoint in sorted(dropped, key=lambda one: one.number))


def _of_workspace(
    newest_first: list[Checkpoint], now: float, policy: RetentionPolicy, held: Collection[str], *, over_quota: bool
) -> list[Checkpoint]:
    may_go = [
        checkpoint
        for checkpoint in newest_first[policy.keep_last :]
        if checkpoint.facts.reason is not Reason.PERSON and checkpoint.name not in held
    ]
    dropped = [checkpoint for checkpoint in may_go if _is_old(checkpoint, now, policy)]
    left = [checkpoint for checkpoint in may_go if checkpoint not in dropped]
    too_many = len(newest_first) - len(dropped) - policy.max_count
    if over_quota:
        too_many = max(too_many, (len(left) + 1) // 2)
    return dropped + (left[-too_many:] if too_many > 0 else [])


def _is_old(checkpoint: Checkpoint, now: float, policy: RetentionPolicy) -> bool:
    age = now - checkpoint.facts.at
    if checkpoint.facts.reason in FLEETING and age > policy.checkpoint_retention_minutes * 60:
        return True
    return age > policy.max_age_days * SECONDS_PER_DAY
