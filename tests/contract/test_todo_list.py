"""The agent's own to-do list, as the real CLI keeps it."""

from pathlib import Path

import pytest

from monitors.contract.todo import TodoItem, TodoState
from supervisor.protocol import events
from supervisor.rehearsal.script import Say, ToolUse
from tests.stages.live import live, make_repository

DONE, PENDING = TodoState.COMPLETED, TodoState.PENDING


@pytest.mark.real_cli
async def test_the_real_clis_list_is_followed_and_shown(tmp_path: Path) -> None:
    steps = (
        ToolUse("TaskCreate", {"subject": "Look at the test", "description": "x"}),
        ToolUse("TaskCreate", {"subject": "Mend the code", "description": "x"}),
        ToolUse("TaskUpdate", {"taskId": "1", "status": "completed"}),
        Say("done"),
    )
    make_repository(tmp_path / "repo", {"README": "read me\n"})
    (tmp_path / "home").mkdir(exist_ok=True)
    switched_on = {"agent": {"environment": {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}}}
    async with live(tmp_path, steps, switched_on) as stage:
        await stage.submit("the task")
        await stage.event(events.StateChanged, lambda event: event.after.ended)
        known = stage.daemon.board.summary("a1").todo
        assert known == (TodoItem("Look at the test", DONE), TodoItem("Mend the code", PENDING))
        shown = await stage.chaperon("show", "a1")
        assert "1 of 2 done, by its own list; next: Mend the code" in shown.stdout


@pytest.mark.real_cli
async def test_a_list_that_is_written_whole_is_followed_as_well(tmp_path: Path) -> None:
    rows = [
        {"content": "Look at the test", "status": "completed", "activeForm": "Looking"},
        {"content": "Mend the code", "status": "pending", "activeForm": "Mending"},
    ]
    make_repository(tmp_path / "repo", {"README": "read me\n"})
    (tmp_path / "home").mkdir(exist_ok=True)
    written = {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1", "CLAUDE_CODE_ENABLE_TASKS": "0"}
    async with live(
        tmp_path, (ToolUse("TodoWrite", {"todos": rows}), Say("done")), {"agent": {"environment": written}}
    ) as stage:
        await stage.submit("the task")
        await stage.event(events.StateChanged, lambda event: event.after.ended)
        known = stage.daemon.board.summary("a1").todo
        assert known == (TodoItem("Look at the test", DONE), TodoItem("Mend the code", PENDING))
