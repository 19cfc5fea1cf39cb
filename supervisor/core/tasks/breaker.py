"""The breaker of stored tasks: when agents crash one after the other, whatever their task, no other is begun.

What crashes all of them is no fault of a task: a broken CLI, a full disk, a machine without memory. To go on would use
up every task's retries on it.
"""

from collections.abc import Iterable
from heapq import nlargest

from supervisor.core.fold.summary import Summary
from supervisor.protocol.words import AgentState

CRASHES = 5
"""Agents that crash one after the other until none is begun any more. With the usual two retries one bad task crashes
three; five in a row are of at least two."""

TASKS = 3
"""Tasks that these must have been of, at least: fewer may be at fault themselves."""

SECONDS = 3_600.0
"""The time within which they crashed: what lies further apart has no common cause that still holds."""


def crashed(agent: Summary) -> bool:
    """Whether an agent's CLI died or was lost in the middle of its work; a turn that ended in an error is no crash."""
    return agent.state is AgentState.LOST or (agent.state is AgentState.FAILED and not agent.failed)


def all_crash(agents: Iterable[Summary], now: float) -> str:
    """Say that agents of stored tasks crash whatever their task; empty if some end otherwise.

    Args:
        agents: All agents.
        now: Unix time in seconds.
    """
    ended = (one for one in agents if one.stored_task and one.ended_at is not None and now - one.ended_at <= SECONDS)
    last = nlargest(CRASHES, ended, key=lambda one: one.ended_at or 0.0)
    tasks = {one.stored_task for one in last}
    if len(last) < CRASHES or len(tasks) < TASKS or not all(map(crashed, last)):
        return ""
    return f"the last {CRASHES} agents crashed, of {len(tasks)} tasks; the last one: {last[0].why[:200]}"
