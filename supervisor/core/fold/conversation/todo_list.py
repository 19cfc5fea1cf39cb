"""The agent's own to-do list, followed by what its tools returned. A fold over observations.

What it says is the agent's claim; nothing is proved by it. Lists of subagents are their own, and are not followed.
"""

from collections.abc import Mapping
from typing import Any

from monitors.contract.observations import ToolReturned
from monitors.contract.todo import TodoItem, TodoState

MOST_ITEMS = 100
"""Items that are followed; the oldest is forgotten first. A list of twenty is long."""

MOST_CHARACTERS = 200
"""Of an item's text: a line of a list."""

LIST_TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"})
"""Tools whose results change what is known of the list."""


class TodoList:
    """One agent's list."""

    def __init__(self) -> None:
        self._items: dict[str, TodoItem] = {}
        """By the id that the CLI gave, or by place where it gives none."""

    @property
    def items(self) -> tuple[TodoItem, ...]:
        """The items, in their order."""
        return tuple(self._items.values())

    def returned(self, call: ToolReturned) -> bool:
        """Take in what came of a call; whether the list changed."""
        if call.tool not in LIST_TOOLS or call.failed or call.refused or call.subagent:
            return False
        before, result = dict(self._items), call.structured or {}
        match call.tool:
            case "TodoWrite":
                self._whole(result.get("newTodos", call.input.get("todos")), "content")
            case "TaskList":
                self._whole(result.get("tasks"), "subject")
            case "TaskCreate":
                self._made(result.get("task"))
            case _:
                self._changed(call.input, result)
        while len(self._items) > MOST_ITEMS:
            del self._items[next(iter(self._items))]
        return self._items != before

    def _whole(self, rows: Any, text: str) -> None:
        """Take a whole list in place of what was known."""
        if not isinstance(rows, list):
            return
        self._items = {}
        for number, row in enumerate(rows[:MOST_ITEMS]):
            if isinstance(row, Mapping):
                self._items[str(row.get("id", number))] = _item(row.get(text), row.get("status"))

    def _made(self, row: Any) -> None:
        if isinstance(row, Mapping) and "id" in row:
            self._items[str(row["id"])] = _item(row.get("subject"), row.get("status"))

    def _changed(self, asked: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        id_ = str(result.get("taskId", asked.get("taskId", "")))
        known = self._items.get(id_)
        if known is None or result.get("success") is False:
            return
        change = result.get("statusChange")
        state = change.get("to") if isinstance(change, Mapping) else asked.get("status")
        if state == "deleted":
            del self._items[id_]
            return
        self._items[id_] = _item(asked.get("subject") or known.text, state or known.state)


def _item(text: Any, state: Any) -> TodoItem:
    """An item; what is no state of ours counts as pending."""
    known = TodoState(state) if state in list(TodoState) else TodoState.PENDING
    return TodoItem(" ".join(str(text or "").split())[:MOST_CHARACTERS], known)
