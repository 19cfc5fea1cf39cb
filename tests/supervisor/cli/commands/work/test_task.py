import json
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.cli.commands.work.task import PAGE, portrait
from supervisor.protocol.events import TasksAdded
from supervisor.protocol.tasks import TaskSpec, TaskState
from tests.stages.house import House, house, say
from tests.supervisor.runtime.tasks.conftest import state_of

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]

HELD = {"tasks": {"slots": 1, "max_load_per_core": 0, "min_free_memory_mb": 10_000_000}}
"""No machine has that much memory, so that no task is claimed."""
OPEN = {"tasks": {"max_load_per_core": 0, "min_free_memory_mb": 0}}
ROW = {"task", "state", "priority", "repository", "agent", "depends_on", "prompt"}


async def listed(stage: House, *arguments: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(await stage.chaperon("task", "list", "--json", *arguments))
    return rows


async def test_tasks_are_added_listed_changed_reordered_cancelled_and_tried_again(tmp_path: Path) -> None:
    async with house(tmp_path, say("done"), policy=HELD) as stage:
        repo = str(stage.workspace)
        assert "no stored task" in await stage.chaperon("task", "list")
        assert await stage.chaperon("task", "list", "--label", "x") == "There is no such task.\n"
        first = (await stage.chaperon("task", "add", "First.", "--repo", repo, "--priority", "2")).strip()
        options = ("--depends-on", first, "--label", "web", "--verify", "make test", "--max-minutes", "2")
        second = json.loads(await stage.chaperon("task", "add", "Second.", "--repo", repo, *options, "--json"))["task"]
        rows = await listed(stage)
        assert [row["task"] for row in rows] == [first, second]
        assert rows[0].keys() >= ROW
        assert (rows[1]["state"], rows[1]["depends_on"], rows[1]["agent"]) == ("pending", [first], None)
        assert [row["task"] for row in await listed(stage, "--label", "web", "--state", "pending")] == [second]
        assert [row["task"] for row in await listed(stage, "--after", first, "--repo", repo)] == [second]
        assert "First." in await stage.chaperon("task", "list")

        shown = json.loads(await stage.chaperon("task", "show", second, "--json"))
        assert shown["spec"]["limits"] == {"max_execution_time_seconds": 120}
        assert shown["held_back"] == f"it waits for {first}, which is pending"
        assert "MiB of memory are free" in await stage.chaperon("task", "show", first)

        changed = json.loads(
            await stage.chaperon("task", "edit", second, "--priority", "0", "--prompt", "Better.", "--json")
        )
        assert (changed["priority"], changed["prompt"], changed["history"][-1]["why"]) == (
            0,
            "Better.",
            "changed: prompt",
        )
        await stage.chaperon("task", "reorder", second, "--before", first)
        assert json.loads(await stage.chaperon("task", "show", second, "--json"))["priority"] == 2

        assert "cancelled" in await stage.chaperon("task", "cancel", first, "--reason", "not now")
        assert [row["task"] for row in await listed(stage, "--open")] == [second]
        assert (await stage.chaperon("task", "retry", first)).startswith(f"{first} is pending")


async def test_a_plan_is_added_whole_and_worked_on_in_its_order(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "defaults: {repository: workspace, permission_mode: bypassPermissions, labels: [night]}\n"
        "tasks:\n"
        "  - {name: build, prompt: Build it.}\n"
        "  - {name: ship, prompt: Ship it., depends_on: build, priority: 9}\n"
    )
    async with house(tmp_path, say("done"), policy=OPEN) as stage:
        rows = json.loads(await stage.chaperon("submit", str(plan), "--request-id", "night-1", "--json"))
        again = json.loads(await stage.chaperon("submit", str(plan), "--request-id", "night-1", "--json"))
        assert [row["task"] for row in again] == [row["task"] for row in rows]
        build, ship = (str(row["task"]) for row in rows)
        await state_of(stage, ship, TaskState.DONE)
        for agent, stored in (("echo-001", build), ("echo-002", ship)):
            assert json.loads(await stage.chaperon("show", agent, "--json"))["stored_task"] == stored
        assert [row["agent"] for row in await listed(stage, "--label", "night")] == ["echo-001", "echo-002"]


async def test_a_run_takes_limits_approval_and_permission_mode_from_its_options(tmp_path: Path) -> None:
    async with house(tmp_path, say("done"), policy=OPEN) as stage:
        options = (
            "--max-minutes", "5", "--max-tokens", "1000", "--max-memory-mb", "700", "--max-file-operations", "3",
            "--max-cost", "1.5", "--approval", "risky", "--permission-mode", "bypassPermissions",
        )  # fmt: skip
        name = await stage.chaperon("run", "Do it.", "--repo", str(stage.workspace), "--detach", *options)
        task = stage.daemon.board.summary(name.strip()).task
        limits = task.limits
    assert (limits.max_execution_time_seconds, limits.max_token_usage, limits.max_memory_mb) == (300, 1000, 700)
    assert (limits.max_file_operations, limits.max_cost_usd) == (3, 1.5)
    assert (task.permission_mode, (task.approval or {})["mode"]) == ("bypassPermissions", "risky")


def test_a_reason_of_several_lines_is_shown_in_one() -> None:
    why = "the check failed:\n\n  \x1b[31mline one\n  line two"
    run = {"run_id": "r-1", "agent": "echo-001", "began_at": 0.0, "outcome": "fail", "why": why}
    entry = {"at": 0.0, "state": "active", "why": why, "by": "chaperon"}
    spec = dict.fromkeys(("verify", "merge", "target"), "") | dict.fromkeys(
        ("goals", "constraints", "expected_paths"), ()
    )
    about = dict.fromkeys(("depends_on", "waits_for", "needed_by", "labels"), ()) | {"held_back": "", "priority": 0}
    known = {"task": "t-1", "state": "failed", "why": why, "by": "chaperon", "changed_at": 0.0, "prompt": "Go."}
    lines = list(portrait({**known, **about, "repository": "/r", "spec": spec, "runs": [run], "history": [entry]}))
    assert [line for line in lines if not line.isprintable()] == []
    assert sum("the check failed: [31mline one line two" in line for line in lines) == 3


async def test_a_table_has_a_page_of_rows_unless_more_are_asked_for(tmp_path: Path) -> None:
    async with house(tmp_path, policy=HELD) as stage:
        spec = TaskSpec(id="", prompt="p", repository=str(stage.workspace))
        specs = tuple(replace(spec, id=f"t-{number:04}") for number in range(PAGE + 3))
        stage.daemon.happened(TasksAdded(**stage.stamp(""), request_id="many", tasks=specs, by="ann"))
        first = (await stage.chaperon("task", "list")).splitlines()
        assert (len(first), first[-1].split()[0]) == (PAGE + 1, f"t-{PAGE - 1:04}")
        rest = (await stage.chaperon("task", "list", "--after", f"t-{PAGE - 1:04}")).splitlines()
        assert [line.split()[0] for line in rest[1:]] == [f"t-{PAGE + number:04}" for number in range(3)]
        assert len((await stage.chaperon("task", "list", "--limit", str(PAGE + 3))).splitlines()) == PAGE + 4
        assert len(await listed(stage)) == PAGE + 3
