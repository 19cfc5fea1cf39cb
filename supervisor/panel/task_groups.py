"""Stored tasks as a list has them: by what a person would do about them, one page at a time. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from supervisor.panel.asked import TaskQuery
from supervisor.panel.grouping import labels_of
from supervisor.protocol.merges import MergePhase
from supervisor.protocol.tasks import TaskState

TaskRow = Mapping[str, Any]

WAITING = "Waiting for you"

GROUPS: Mapping[str, tuple[TaskState, ...]] = {
    WAITING: (TaskState.WAITING, TaskState.PARKED),
    "At work": (TaskState.ACTIVE, TaskState.VERIFYING, TaskState.MERGING),
    "Held": (TaskState.PAUSED,),
    "In the queue": (TaskState.PENDING,),
    "Failed": (TaskState.FAILED,),
    "Done": (TaskState.DONE,),
    "Cancelled": (TaskState.CANCELLED,),
}
"""The sections of the list, and the states in each."""

DUE = (MergePhase.PROPOSED, MergePhase.PARKED)
"""Phases in which a merge waits for a person."""

ROWS = 100
"""Tasks on a page: some screens, and 60 kB of HTML."""

MOST_REPOSITORIES = 200
"""Repositories that a list offers to choose from; the address takes any."""


@dataclass(frozen=True, slots=True)
class TaskSection:
    """A group of tasks on a page.

    Args:
        name: Of the group.
        total: How many tasks the group has on all pages.
        tasks: Those on this page.
    """

    name: str
    total: int
    tasks: tuple[TaskRow, ...]


@dataclass(frozen=True, slots=True)
class TaskListPage:
    """A page of the list.

    Args:
        query: What it shows; its page is one that there is.
        pages: How many there are, 1 at least.
        sections: Those with a task on the page.
        counts: How many tasks of the repository each state has, of the states that have any.
        repositories: The worktrees that have tasks, the first by name.
        labels: The labels that tasks have, the first by name.
    """

    query: TaskQuery
    pages: int
    sections: tuple[TaskSection, ...]
    counts: Mapping[str, int]
    repositories: tuple[str, ...]
    labels: tuple[str, ...]


def listed(tasks: Sequence[TaskRow], merges: Iterable[TaskRow], query: TaskQuery) -> TaskListPage:
    """Return a page of all tasks: what waits for a person first, and the longest wait before the others.

    Args:
        tasks: All of them.
        merges: Merges of agents' branches.
        query: What is asked for.
    """
    due = {str(one["task"]) for one in merges if one["phase"] in DUE}
    here = [
        one
        for one in tasks
        if query.repository in ("", one["repository"]) and (not query.label or query.label in one["labels"])
    ]
    groups: dict[str, list[TaskRow]] = {name: [] for name in GROUPS}
    for one in here:
        if query.state in ("", one["state"]):
            groups[group_of(one, due)].append(one)
    for name, those in groups.items():
        those.sort(key=_PLACES.get(name, _latest_first))
    pages = max(1, -(-sum(map(len, groups.values())) // ROWS))
    number = min(query.page, pages)
    first, sections = (number - 1) * ROWS, []
    for name, those in groups.items():
        shown = tuple(those[max(0, first) : max(0, first + ROWS)])
        first -= len(those)
        if shown:
            sections.append(TaskSection(name, len(those), shown))
    repositories = sorted({str(one["repository"]) for one in tasks})[:MOST_REPOSITORIES]
    counts = Counter(str(one["state"]) for one in here)
    labels = labels_of(one["labels"] for one in tasks)
    return TaskListPage(replace(query, page=number), pages, tuple(sections), counts, tuple(repositories), labels)


def group_of(task: TaskRow, due: Collection[str]) -> str:
    """Return the section of a task; one that is done waits for a person if its merge does.

    Args:
        task: The task.
        due: Ids of tasks whose merge waits for a person.
    """
    state = str(task["state"])
    if state == TaskState.DONE and task["task"] in due:
        return WAITING
    return _GROUP_OF.get(state, "At work")


def verbs(task: TaskRow) -> Sequence[str]:
    """Return what can be done with a task in its state; the daemon has the last word."""
    state = str(task["state"])
    delayed = state == TaskState.PENDING and (task.get("tries") or task.get("not_before"))
    retry = state in (TaskState.FAILED, TaskState.PARKED, TaskState.CANCELLED) or delayed
    cancel = state not in (TaskState.DONE, TaskState.CANCELLED)
    return [*(["retry"] if retry else []), *(["cancel"] if cancel else [])]


def _latest_first(task: TaskRow) -> tuple[float, ...]:
    return (-task["changed_at"],)


_GROUP_OF = {str(state): name for name, states in GROUPS.items() for state in states}

_PLACES: Mapping[str, Callable[[TaskRow], tuple[float, ...]]] = {
    WAITING: lambda task: (task["changed_at"],),
    "In the queue": lambda task: (-task["priority"], task["rank"]),
}
"""The order within a group; in the others, those come first that took a step last."""
