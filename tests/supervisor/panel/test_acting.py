"""The routes of the panel's actions, over plain HTTP and a real daemon."""

import anyio
import pytest

from supervisor.protocol.words import AgentState
from tests.stages.daemon import PATIENCE_SECONDS, Base, reached, served, until
from tests.stages.panel import panel


@pytest.mark.slow
async def test_orders_to_all_reach_each_agent_and_stand_on_the_board(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        made = await person.post("/agents", json={"prompt": "Look around", "repository": str(base.repo)})
        assert made.json()["go"] == "/agents/a1"
        await until(lambda: daemon.board.summary("a1").state == "running")
        assert (await person.post("/orders/pause", json={"reason": "lunch"})).json()["says"] == "Pause: 1 agent."
        await until(lambda: daemon.board.summary("a1").pause is not None)
        assert "All agents are paused" in (await person.get("/")).text
        assert (await person.post("/orders/resume", json={})).json()["says"] == "Resume: 1 agent."
        assert (await person.post("/drain", json={"on": True, "reason": "late"})).json()["says"] == (
            "No new task is taken."
        )
        assert "No new task is taken, says" in (await person.get("/")).text
        assert (await person.post("/orders/stop", json={"force": True})).json()["says"] == "Stop: 1 agent."
        await reached(daemon, AgentState.STOPPED)


@pytest.mark.slow
async def test_a_board_of_one_label_shows_and_steers_the_agents_with_it_alone(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        for name, label in (("a1", "docs"), ("a2", "web")):
            await daemon.submit(base.submission(name=name, prompt=f"Look at {label}", labels=(label,)), by="test")
            await until(lambda name=name: daemon.board.summary(name).state == "running")  # type: ignore[misc]
        whole = (await person.get("/")).text
        assert '<option value="docs">docs</option><option value="web">web</option>' in whole
        assert "Look at docs" in whole
        assert "Look at web" in whole
        part = (await person.get("/?label=docs")).text
        assert 'data-live="/live/board?label=docs"' in part
        assert "Look at docs" in part
        assert "Look at web" not in part
        assert "Pause all agents with the label docs" in part
        paused = {"label": "docs", "reason": "lunch"}
        assert (await person.post("/orders/pause", json=paused)).json()["says"] == "Pause: 1 agent."
        await until(lambda: daemon.board.summary("a1").pause is not None)
        assert daemon.board.summary("a2").pause is None
        assert "All agents with the label docs are paused" in (await person.get("/?label=web")).text
        assert ">Resume all<" in (await person.get("/?label=docs")).text
        assert ">Resume all<" not in (await person.get("/?label=web")).text
        assert (await person.post("/orders/resume", json={"label": "docs"})).json()["says"] == "Resume: 1 agent."
        assert (await person.post("/drain", json={"on": True, "label": "docs"})).status_code == 200
        assert "No new task with the label docs is taken" in (await person.get("/")).text
        assert "No agent has the label none." in (await person.get("/?label=none")).text
        async with person.stream("GET", "/live/board?label=web") as answer:
            with anyio.fail_after(PATIENCE_SECONDS):
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        assert "Look at web" in line
                        assert "Look at docs" not in line
                        break


@pytest.mark.slow
async def test_what_a_rule_blocked_can_be_allowed_once_where_it_fired(base: Base) -> None:
    base.plan("rm -rf /tmp/../home/other")
    async with served(base) as (daemon, client), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        await until(lambda: bool(daemon.board.summary("a1").reviews.get("block")))
        page = (await person.get("/policy")).text
        assert "fired last" in page
        assert "Allow once" in page
        base.cli("begin()\nwhile True:\n    hear()")
        await daemon.submit(base.submission(name="a2"), by="test")
        given = {"text": "rm -rf /tmp/../home/other", "tool": "Bash"}
        said = (await person.post("/agents/a2/allowances", json=given)).json()["says"]
        assert said == "a2 may do that once."
        (allowed,) = (await client.get("/v1/allowances")).json()
        assert (allowed["text"], allowed["uses"]) == ("rm -rf /tmp/../home/other", 1)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/checkpoints/good/rollback", "/projects/good/rollback"])
async def test_going_back_wants_the_name_typed(base: Base, path: str) -> None:
    async with served(base), panel(base) as shown, shown.person() as person:
        refused = await person.post(path, json={"confirm": "god", "agent": "a1", "project": str(base.repo)})
        assert (refused.status_code, refused.json()["what"]) == (
            422,
            "Nothing was changed: what was typed is not good.",
        )


@pytest.mark.slow
async def test_a_task_is_added_changed_and_put_first_and_a_project_kept(base: Base) -> None:
    base.config["tasks"] = {"slots": 1, "max_load_per_core": 0, "min_free_memory_mb": 10_000_000}  # none is claimed
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        for prompt in ("One", "Two"):
            await person.post("/tasks", json={"prompt": prompt, "repository": str(base.repo)})
        first, second = [task.spec.id for task in daemon.board.tasks]
        assert (await person.post(f"/tasks/{second}/reorder", json={"place": "first"})).status_code == 200
        assert (await person.post(f"/tasks/{first}/edit", json={"prompt": "Other"})).status_code == 200
        assert daemon.board.tasks.get(first).spec.prompt == "Other"
        kept = {"project": str(base.repo), "name": "friday", "note": "before the weekend"}
        made = (await person.post("/projects", json=kept)).json()
        page = (await person.get(made["go"])).text
        assert "before the weekend" in page
        assert "What going back would do now" in page
        assert "friday" in (await person.get("/projects")).text
        assert (await person.post("/projects/friday/forget", json={"project": str(base.repo)})).status_code == 200
        assert "There is none." in (await person.get("/projects")).text
