"""The goals of a task that are done by the agent's own to-do list.

A goal is taken for done if an item that is done shares most of its words and no open item shares as many. That is the
agent's claim and a guess at words: it orders the goals of a message, and decides nothing.
"""

import math
from collections.abc import Sequence

from interventions.texts.wording import words_of
from monitors.contract.todo import TodoItem

SHARE = 0.6
"""Share of a goal's words that an item must have: of three words two, of five three."""


def ordered(goals: Sequence[str], items: Sequence[TodoItem]) -> list[tuple[str, bool]]:
    """Return the goals with whether each is done, those that are open first, each part in the order of the task."""
    judged = [(goal, is_done(goal, items)) for goal in goals]
    return [*(pair for pair in judged if not pair[1]), *(pair for pair in judged if pair[1])]


def is_done(goal: str, items: Sequence[TodoItem]) -> bool:
    """Whether the list says so of a goal."""
    words = words_of(goal)
    if not words:
        return False
    needed = max(1, math.ceil(len(words) * SHARE))
    best = {True: 0, False: 0}
    for item in items:
        shared = len(words & words_of(item.text))
        best[item.done] = max(best[item.done], shared)
    return best[True] >= needed and best[True] > best[False]
