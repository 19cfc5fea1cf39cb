"""The list of stored tasks, over plain HTTP beside a real daemon."""

from typing import Any

import anyio
import httpx
import pytest

from supervisor.panel.task_groups import ROWS
from tests.stages.daemon import PATIENCE_SECONDS, Base, served
from tests.stages.panel import panel
from tests.supervisor.panel.test_app import HOSTILE
from tests.supervisor.panel.test_live import messages

pytestmark = pytest.mark.slow

HELD = {"slots": 1, "max_load_per_core": 0, "min_free_memory_mb": 10_000_000}
"""No machine has that much memory, so that no task is claimed."""


async def added(client: httpx.AsyncClient, base: Base, *prompts: str, **about: Any) -> list[str]:
    """The ids of tasks with these prompts."""
    wanted = [{"prompt": prompt, "repository": str(base.repo), **about} for prompt in prompts]
    answer = await client.post("/v1/tasks", json={"tasks": wanted})
    assert answer.status_code == 201, answer.text
    return [str(one["task"]) for one in answer.json()["tasks"]]


async def test_many_tasks_are_a_page_of_few_whose_address_says_which(base: Base) -> None:
    base.config["tasks"] = HELD
    async with served(base) as (_, client), panel(base) as shown, shown.person() as person:
        assert "No stored task is like this" in (await person.get("/tasks")).text
        ids = await added(client, base, *(f"Number {number}." for number in range(2 * ROWS + 1)))
        first, last = (await person.get("/tasks")).text, (await person.get("/tasks?page=99999")).text
        assert first.count("<tr id=") == ROWS
        assert last.count("<tr id=") == 1
        assert "Page 1 of 3" in first
        assert "Page 3 of 3" in last
        assert ids[0] in first
        assert ids[-1] in last
        assert '<a href="/tasks" aria-current="page" data-go="t">Tasks</a>' in first
        await client.post(f"/v1/tasks/{ids[7]}/cancel", json={})
        one = (await person.get("/tasks", params={"state": "cancelled", "repository": str(base.repo)})).text
        assert one.count("<tr id=") == 1
        assert f'href="/tasks/{ids[7]}"' in one
        assert "<tr id=" not in (await person.get("/tasks", params={"repository": "/elsewhere"})).text


async def test_no_text_of_a_task_is_markup_or_acts_on_its_pages(base: Base) -> None:
    base.config["tasks"] = HELD
    hostile = HOSTILE.replace("\0", "")
    async with served(base) as (_, client), panel(base) as shown, shown.person() as person:
        about = {"goals": [hostile], "labels": ["<b>"], "verify": "echo '<script>alert(3)'", "target": "<i>"}
        (id_,) = await added(client, base, hostile, **about)
        await client.post(f"/v1/tasks/{id_}/cancel", json={"reason": hostile})
        for path in ("/tasks", f"/tasks/{id_}", "/tasks?state=%3Cscript%3E&repository=%3Cscript%3Ealert(1)%E2%80%AE"):
            html = (await person.get(path)).text
            assert "&lt;script&gt;alert(1)" in html, path
            assert "<script>alert" not in html
            assert "<img src=x" not in html
            assert "<b></" not in html
            assert [c for c in html if not c.isprintable() and c not in "\n\t"] == []


async def test_the_list_follows_what_happens_and_keeps_to_its_choice(base: Base) -> None:
    base.config["tasks"] = HELD
    async with served(base) as (_, client), panel(base) as shown, shown.person() as person:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with person.stream("GET", "/live/tasks?state=cancelled") as answer:
                stream = messages(answer)
                kind, _n, data = await anext(stream)
                assert (kind, data["id"]) == ("fragment", "tasks")
                kept, taken_back = await added(client, base, "Keep it.", "Take it back.")
                await client.post(f"/v1/tasks/{taken_back}/cancel", json={})
                async for _kind, _n, data in stream:
                    assert kept not in data["html"]
                    if f"task-{taken_back}" in data["html"]:
                        break
