"""The message after a compaction: the task, its constraints, and what was decided meanwhile, said again, small."""

from collections.abc import Sequence

from interventions.texts.fields import OPENING, cut
from monitors.contract.tasks import Task
from monitors.contract.todo import TodoItem

LONGEST = 1_500
"""Characters of the whole message: some 400 tokens, against the tens of thousands that a compaction frees."""

REQUEST = 500
"""Characters of the request that are repeated; its beginning says what is wanted."""

MOST_LINES = 5
"""Constraints, goals, decisions and open items each, at most."""

LINE = 200
"""Characters of each of them."""


def restated(task: Task, decided: Sequence[str], todo: Sequence[TodoItem], number: int) -> str:
    """Return the message.

    Args:
        task: The task as it is now.
        decided: Decisions of people so far, oldest first.
        todo: The agent's own list.
        number: Number of the compaction, from 1.
    """
    lines = [
        f"{OPENING}Your conversation was shortened (time {number}). This still holds.",
        f"What was asked: {cut(' '.join(task.prompt.split()), REQUEST)}",
        *_listed("Constraints", task.constraints[:MOST_LINES]),
        *_listed("Goals, most important first", task.goals[:MOST_LINES]),
        *_listed("Files", [", ".join(task.expected_paths[:MOST_LINES])] if task.expected_paths else []),
        *_listed("Decided by people", decided[-MOST_LINES:]),
        *_listed("Open, by your own list", [item.text for item in todo if not item.done][:MOST_LINES]),
    ]
    return cut("\n".join(lines), LONGEST)


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"- {cut(' '.join(line.split()), LINE)}" for line in lines)] if lines else []
