"""The report of a stretch without a person, as plain text: what agents and tasks came to, and how to go on."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from monitors.contract.wording import counted, dollars, duration
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol.events import AutopilotBegan
from supervisor.protocol.tasks import TaskState

MOST_ROWS = 200
"""Agents and tasks that are named, each; the rest is counted."""

LONGEST = 200
"""Characters of a text of others in a line."""

WHY = {"time": "its end was reached", "budget": "its budget is spent", "person": "a person ended it"}


def report_text(board: Board, began: AutopilotBegan, why: str, spent: float, now: float) -> str:
    """Return the report.

    Args:
        board: All agents and tasks.
        began: The begin of the stretch.
        why: A key of `WHY`.
        spent: Its cost in US dollars.
        now: Unix time in seconds.
    """
    return "\n".join(_lines(board, began, why, spent, now)) + "\n"


def _lines(board: Board, began: AutopilotBegan, why: str, spent: float, now: float) -> Iterator[str]:
    yield f"Autopilot of {plain(began.by)}, from {_time(began.at)} to {_time(now)} ({duration(max(0.0, now - began.at))})"
    yield f"It is over: {WHY[why]}."
    most = f" of {dollars(began.max_cost_usd)}" if began.max_cost_usd is not None else ""
    yield f"Cost: {dollars(spent)}{most}"
    agents = [one for one in board.summaries() if one.ended_at is None or one.ended_at >= began.at]
    yield ""
    yield from _named([*map(_agent, agents)], "agent")
    tasks = [task for task in board.tasks if task.changed_at >= began.at]
    states = Counter(str(task.state) for task in tasks)
    told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    yield ""
    yield from _named([f"  {task.id}  {task.state}: {plain(task.why)}" for task in tasks], "task", told)
    looks = [one for one in agents if one.waiting]
    parked = [task.id for task in tasks if task.state in (TaskState.PARKED, TaskState.FAILED)]
    if looks or parked:
        yield ""
        yield "For you to decide:"
        yield from (f"  {one.agent} waits for an answer: chaperon approvals" for one in looks[:MOST_ROWS])
        yield from (f"  chaperon task show {id_}" for id_ in parked[:MOST_ROWS])
    yield ""
    yield f"All of it: chaperon report --since {datetime.fromtimestamp(began.at, UTC).strftime('%Y-%m-%dT%H:%M:%SZ')}"
    yield from (f"Checkpoint before it: {plain(name)}" for name in began.checkpoints)
    if why != "person":
        yield "Agents stand still as their turns end. To go on: chaperon resume --all"


def _agent(one: Summary) -> str:
    calls = one.reviews.total() if isinstance(one.reviews, Counter) else sum(one.reviews.values())
    why = f": {plain(one.why)}" if one.why else ""
    return f"  {one.agent}  {one.state}{why}  ({counted(calls, 'call')}, {dollars(one.cost_usd or 0.0)})"


def _named(rows: list[str], what: str, about: str = "") -> Iterator[str]:
    yield counted(len(rows), what) + (f": {about}" if about else "")
    yield from rows[:MOST_ROWS]
    if len(rows) > MOST_ROWS:
        yield f"  and {len(rows) - MOST_ROWS} more"


def plain(text: str) -> str:
    """Return a text of others as one line without control characters."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
