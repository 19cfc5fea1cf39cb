"""The agent's own to-do list, from results as the real CLI gives them (version 2.1.329)."""

from typing import Any

import pytest

from monitors.contract.observations import ToolReturned
from monitors.contract.todo import TodoItem, TodoState
from supervisor.core.fold.conversation.todo_list import LIST_TOOLS, MOST_CHARACTERS, MOST_ITEMS, TodoList

PENDING, UNDER_WAY, DONE = TodoState


def returned(tool: str, given: dict[str, Any], result: Any = None, **more: Any) -> ToolReturned:
    facts = {"failed": False, "structured": result, **more}
    return ToolReturned(seq=1, mono=1.0, id="toolu_1", tool=tool, input=given, text="", **facts)


def made(id_: str, subject: str) -> ToolReturned:
    task = {"id": id_, "subject": subject, "description": "x"}
    return returned("TaskCreate", {"subject": subject, "description": "x"}, {"task": task})


def moved(id_: str, state: str, **more: Any) -> ToolReturned:
    change = {"from": "pending", "to": state}
    result = {"success": True, "taskId": id_, "updatedFields": ["status"], "statusChange": change, **more}
    return returned("TaskUpdate", {"taskId": id_, "status": state}, result)


def test_tasks_are_made_moved_and_deleted() -> None:
    todo = TodoList()
    for call in (made("1", "Look at the test"), made("2", "Mend the code"), moved("1", "completed")):
        assert todo.returned(call)
    assert list(todo.items) == [TodoItem("Look at the test", DONE), TodoItem("Mend the code", PENDING)]
    assert todo.returned(moved("2", "in_progress"))
    assert todo.items[1].state is UNDER_WAY
    assert todo.returned(moved("2", "deleted"))
    assert list(todo.items) == [TodoItem("Look at the test", DONE)]


def test_a_task_that_is_not_there_changes_nothing() -> None:
    todo = TodoList()
    result = {"success": False, "taskId": "9", "updatedFields": [], "error": "Task not found"}
    assert not todo.returned(returned("TaskUpdate", {"taskId": "9", "status": "completed"}, result))
    assert todo.items == ()


def test_a_list_of_all_tasks_replaces_what_was_known() -> None:
    todo = TodoList()
    todo.returned(made("1", "old"))
    rows = [{"id": "4", "subject": "new", "status": "in_progress", "blockedBy": []}]
    todo.returned(returned("TaskList", {}, {"tasks": rows}))
    assert list(todo.items) == [TodoItem("new", UNDER_WAY)]
    todo.returned(moved("4", "completed"))
    assert list(todo.items) == [TodoItem("new", DONE)]


def test_a_written_list_is_taken_whole() -> None:
    rows = [
        {"content": "Look at the test", "status": "completed", "activeForm": "Looking"},
        {"content": "Mend the code", "status": "pending", "activeForm": "Mending"},
    ]
    todo = TodoList()
    todo.returned(returned("TodoWrite", {"todos": rows}, {"oldTodos": [], "newTodos": rows}))
    assert list(todo.items) == [TodoItem("Look at the test", DONE), TodoItem("Mend the code", PENDING)]
    todo.returned(returned("TodoWrite", {"todos": rows[:1]}))
    assert list(todo.items) == [TodoItem("Look at the test", DONE)]


@pytest.mark.parametrize("about", [{"failed": True}, {"refused": True, "failed": True}, {"subagent": "toolu_9"}])
def test_calls_that_failed_and_those_of_subagents_do_not_count(about: dict[str, Any]) -> None:
    todo = TodoList()
    rows = {"todos": [{"content": "x", "status": "pending"}]}
    assert not todo.returned(returned("TodoWrite", rows, **about))


@pytest.mark.parametrize("tool", sorted(LIST_TOOLS))
@pytest.mark.parametrize(
    "result",
    [None, {}, {"task": 7}, {"task": {"id": None}}, {"tasks": "x"}, {"tasks": [7, None, {}]}, {"newTodos": {}},
     {"statusChange": 3, "taskId": []}, {"taskId": {"a": 1}, "success": True}],
)  # fmt: skip
def test_results_of_any_shape_do_no_harm(tool: str, result: Any) -> None:
    todo = TodoList()
    todo.returned(made("1", "known"))
    todo.returned(returned(tool, {"todos": [None, 7], "taskId": 1, "status": ["x"]}, result))
    assert all(isinstance(item.text, str) for item in todo.items)


def test_its_size_is_bounded() -> None:
    todo = TodoList()
    for number in range(MOST_ITEMS + 5):
        todo.returned(made(str(number), "x" * 10_000))
    assert len(todo.items) == MOST_ITEMS
    assert len(todo.items[0].text) == MOST_CHARACTERS
