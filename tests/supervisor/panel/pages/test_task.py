"""The page of a stored task and its buttons, over plain HTTP beside a real daemon."""

import html as markup
import re
from pathlib import Path

import anyio
import orjson
import pytest

from supervisor.protocol.tasks import TaskState
from tests.stages.branches import WORKS, git
from tests.stages.daemon import PATIENCE_SECONDS, Base, served, until
from tests.stages.panel import panel
from tests.supervisor.panel.pages.test_tasks import HELD, added
from tests.supervisor.panel.test_live import messages

pytestmark = pytest.mark.slow

OPEN = {"slots": 1, "max_load_per_core": 0, "min_free_memory_mb": 0}


async def test_a_task_is_cancelled_and_tried_again_by_buttons_and_its_history_says_by_whom_and_why(base: Base) -> None:
    base.config["tasks"] = HELD
    async with served(base) as (daemon, client), panel(base) as shown, shown.person() as person:
        (first,) = await added(client, base, "Do it.", goals=["Tidy"], verify="", priority=3)
        (id_,) = await added(client, base, "Then that.", depends_on=[first])
        page = (await person.get(f"/tasks/{first}")).text
        assert f'data-target="/tasks/{first}/cancel"' in page
        assert f'data-post="/tasks/{first}/retry"' not in page
        assert "<li>Tidy</li>" in page
        assert "<dt>Verify</dt><dd>none</dd>" in page
        assert f'<dt>Needed by</dt><dd><a href="/tasks/{id_}">' in page
        assert "MiB of memory are free" in page
        assert f"it waits for {first}" in (await person.get(f"/tasks/{id_}")).text
        done = await person.post(f"/tasks/{first}/cancel", json={"reason": "not now"})
        assert done.status_code == 200, done.text
        assert done.json()["says"].startswith(f"{first} is cancelled: ")
        assert daemon.board.tasks.get(first).state is TaskState.CANCELLED
        page = (await person.get(f"/tasks/{first}")).text
        assert page.index("not now") < page.index("<h2>Prompt</h2>")
        assert "with its agent" not in page
        assert "False" not in page
        assert page.index('badge cancelled">', page.index("<h2>History</h2>")) < page.rindex('badge pending">')
        assert f'data-target="/tasks/{first}/cancel"' not in page
        assert (await person.post(f"/tasks/{first}/retry", json={})).status_code == 200
        assert daemon.board.tasks.get(first).state is TaskState.PENDING
        assert [entry.step for entry in daemon.board.tasks.get(first).history] == [
            "added",
            "be cancelled",
            "be tried again",
        ]
        for path in ("t-none", "..%2f..%2fhealth", "%ff%00"):
            assert (await person.get(f"/tasks/{path}")).status_code == 404
            assert (await person.post(f"/tasks/{path}/cancel", json={})).status_code in (404, 409, 422)


async def test_an_action_on_a_task_needs_the_sessions_token(base: Base) -> None:
    base.config["tasks"] = HELD
    async with served(base) as (daemon, client), panel(base) as shown, shown.person() as person:
        (id_,) = await added(client, base, "Do it.")
        del person.headers["x-chaperon-token"]
        for verb in (f"/tasks/{id_}/cancel", f"/tasks/{id_}/retry", "/merges/a1/carry-out"):
            assert (await person.post(verb, json={})).status_code == 403
        assert daemon.board.tasks.get(id_).state is TaskState.PENDING


async def test_a_proposed_merge_is_on_top_of_the_list_and_is_made_by_its_button(base: Base, tmp_path: Path) -> None:
    git(base.repo, "checkout", "-qb", "main")
    git(base.repo, "commit", "-q", "--allow-empty", "-m", "first")
    base.config |= {"tasks": OPEN, "workspaces": {"folder": str(tmp_path / "workspaces")}}
    base.cli(WORKS.format(program="open('made.txt', 'w').write('made')"))
    async with served(base) as (daemon, client), panel(base) as shown, shown.person() as person:
        (id_,) = await added(client, base, "Make it.", merge="propose", target="main")
        await until(lambda: daemon.board.tasks.get(id_).state is TaskState.DONE)
        listed = (await person.get("/tasks")).text
        assert listed.index("Waiting for you") < listed.index(id_)
        page = (await person.get(f"/tasks/{id_}")).text
        (run,) = daemon.board.tasks.get(id_).runs
        assert f'<a href="/agents/{run.agent}">' in page[page.index("<h2>Runs</h2>") :]
        assert f'<dt>Task</dt><dd><a href="/tasks/{id_}">' in (await person.get(f"/agents/{run.agent}")).text
        (button,) = re.findall(r"<button[^>]*>Merge…</button>", page)
        target, body = (re.findall(f'{name}="([^"]*)"', button)[0] for name in ("data-target", "data-body"))
        assert "1 commit, 1 file" in button
        assert not (base.repo / "made.txt").exists()
        done = await person.post(target, json=orjson.loads(markup.unescape(body)))
        assert done.status_code == 200, done.text
        assert " is merged: " in done.json()["says"]
        assert (base.repo / "made.txt").read_text() == "made"
        page = (await person.get(f"/tasks/{id_}")).text
        assert "Merge…" not in page
        assert 'badge merged">merged' in page
        assert "Waiting for you" not in (await person.get("/tasks")).text


async def test_the_page_of_a_task_follows_it(base: Base) -> None:
    base.config["tasks"] = HELD
    async with served(base) as (_, client), panel(base) as shown, shown.person() as person:
        (id_,) = await added(client, base, "Do it.")
        with anyio.fail_after(PATIENCE_SECONDS):
            async with person.stream("GET", f"/live/tasks/{id_}") as answer:
                stream = messages(answer)
                kind, _n, data = await anext(stream)
                assert (kind, data["id"], "pending" in data["html"]) == ("fragment", "task", True)
                await client.post(f"/v1/tasks/{id_}/cancel", json={"reason": "enough"})
                async for _kind, _n, data in stream:
                    if "enough" in data["html"]:
                        break
