"""A person steers by the panel in a real Chromium: the real CLI stops, does something else, is rehearsed, goes back."""

from pathlib import Path

import anyio
import pytest
from playwright.async_api import expect

from supervisor.cli.commands.agents import project_checkpoints
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import ModelScript, ScriptStep, ToolUse
from tests.end_to_end.conftest import Stage
from tests.end_to_end.test_escalation import IN_HASTE, errs
from tests.stages.daemon import PATIENCE_SECONDS, Base, ended, reached, served, until
from tests.stages.panel import browser, panel, settled, tab
from tests.supervisor.panel.test_trials import POLICY
from tests.support import names_in, processes_in

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_SECONDS * 1000)

ENDLESS = "python3 -c 'import time; time.sleep(300)'; touch too-late"


@pytest.mark.real_cli
async def test_a_person_gives_the_real_cli_something_else_to_do_and_it_leaves_what_it_did(stage: Stage) -> None:
    stage.bash(ENDLESS)
    stage.write(stage.repo / "other.txt")
    async with stage.playing(), served(stage.base) as (daemon, _), panel(stage.base) as shown, browser() as chrome:
        await daemon.submit(stage.base.submission(), by="test")
        await until(lambda: "python3" in names_in(stage.repo))
        async with tab(chrome) as page:
            await page.goto(shown.link)
            await page.get_by_role("button", name="Redirect…").click()
            dialog = page.get_by_role("dialog")
            await expect(dialog.get_by_role("heading")).to_have_text("Give a1 something else to do")
            await dialog.get_by_label("Text").fill("Write the other file.")
            await dialog.get_by_role("button", name="Redirect").click()
            await expect(page.locator("#agent-a1 .badge")).to_have_text("done")
            await expect(page.locator("#agent-a1 .task")).to_have_text("Write the other file.")
        await ended(daemon)
    assert "Write the other file." in stage.told()
    assert (stage.repo / "other.txt").exists()
    assert not (stage.repo / "too-late").exists()
    assert stage.nobody_is_left()


def comes_to_a_proposal(stage: Stage) -> None:
    """Have the model meet one error after the other, so that a rollback is due, and then wait."""
    stage.base.config.update({"interventions": {**IN_HASTE["interventions"], "auto_rollback": False}})
    stage.bash("echo good > good.txt")
    for word in ("alpha", "beta", "gamma"):
        errs(stage, word)
    stage.bash(ENDLESS)


@pytest.mark.real_cli
async def test_a_rollback_that_is_proposed_is_on_top_of_the_board_and_is_made_by_keys_once_its_plan_was_read(
    stage: Stage,
) -> None:
    comes_to_a_proposal(stage)
    stage.bash("touch after")
    async with stage.playing(), served(stage.base) as (daemon, _), panel(stage.base) as shown, browser() as chrome:
        await daemon.submit(stage.base.submission(), by="test")
        async with tab(chrome) as page:
            await page.goto(shown.link)
            await expect(page.locator("#proposals-title")).to_have_text("1 rollback waits for you")
            await settled(page)
            await until(lambda: "python3" in names_in(stage.repo))
            (proposal,) = daemon.board.summary("a1").proposed
            assert (stage.repo / "gamma.txt").exists()
            card = page.locator("#proposals .card")
            await expect(card).to_contain_text(f"a1 may go back to {proposal.checkpoint}")
            await card.focus()
            await page.keyboard.press("a")
            dialog = page.get_by_role("dialog")
            await expect(dialog).to_contain_text("gamma.txt")
            await dialog.get_by_label("to confirm").fill(proposal.checkpoint)
            await dialog.get_by_role("button", name="Go back").click()
            await expect(page.locator("#toast")).to_contain_text("This page undoes it.")
            await page.goto(shown.url)
            await expect(page.locator("#link")).to_have_text("live")
            await expect(page.locator("#proposals")).to_have_count(0)
        await ended(daemon)
    (restored,) = stage.base.events(events.CheckpointRestored)
    assert restored.checkpoint == proposal.checkpoint
    assert not (stage.repo / "gamma.txt").exists()
    assert (stage.repo / "after").exists(), "it went on from there"


@pytest.mark.real_cli
async def test_a_rollback_that_a_person_declines_is_proposed_no_more_and_what_was_said_of_its_issue_is_noted(
    stage: Stage,
) -> None:
    comes_to_a_proposal(stage)
    async with stage.playing(), served(stage.base) as (daemon, client), panel(stage.base) as shown, browser() as chrome:
        await daemon.submit(stage.base.submission(), by="test")
        async with tab(chrome) as page:
            await page.goto(shown.link)
            await page.locator("#proposals .card").focus()
            await settled(page)
            await page.keyboard.press("d")
            dialog = page.get_by_role("dialog")
            await expect(dialog).to_contain_text("Its files stay as they are")
            await dialog.get_by_label("The issue was").select_option("confirmed")
            await dialog.get_by_role("button", name="Decline").click()
            await expect(page.locator("#proposals")).to_have_count(0)
        about = daemon.board.summary("a1")
        assert (about.proposed, list(about.said.values())) == ([], ["confirmed"])
        (await client.post("/v1/agents/a1/stop", json={"force": True})).raise_for_status()
        await ended(daemon)
    assert not stage.base.events(events.CheckpointRestored)


@pytest.mark.real_cli
async def test_a_person_stops_all_and_no_process_of_the_real_cli_is_left(stage: Stage) -> None:
    endless = ScriptStep((ToolUse("Bash", {"command": ENDLESS, "description": "x"}),))
    scripts = [ModelScript((endless,), when=f"Go to {name}.") for name in ("a1", "a2")]
    async with (
        stage.playing(*scripts),
        served(stage.base) as (daemon, _),
        panel(stage.base) as shown,
        browser() as chrome,
    ):
        for name, workspace in (("a1", "in-place"), ("a2", "new")):
            wanted = stage.base.submission(name=name, workspace=workspace, prompt=f"Go to {name}.")
            await daemon.submit(wanted, by="test")
            place = Path(daemon.board.summary(name).workspace)
            await until(lambda place=place: "python3" in names_in(place))  # type: ignore[misc]
        async with tab(chrome) as page:
            await page.goto(shown.link)
            await page.get_by_role("button", name="Stop all…").click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_label("Reason").fill("The disk is full")
            await dialog.get_by_label("End all processes at once").check()
            await dialog.get_by_role("button", name="Stop all").click()
            await expect(page.locator("#toast")).to_have_text("Stop: 2 agents.")
            for name in ("a1", "a2"):
                await expect(page.locator(f"#agent-{name} .badge")).to_have_text("stopped")
                await expect(page.locator(f"#agent-{name}")).to_contain_text("The disk is full")
        for name in ("a1", "a2"):
            await reached(daemon, AgentState.STOPPED, name)
        await until(lambda: processes_in(stage.base.root) == [])
    assert not (stage.repo / "too-late").exists()


@pytest.mark.real_cli
async def test_a_rehearsal_that_a_person_starts_plays_the_real_cli_and_says_what_came_of_it(
    tmp_path: Path, real_claude: Path
) -> None:
    base = Base(tmp_path / "base")
    scenario = tmp_path / "small.yaml"
    scenario.write_text(
        "name: small\ntask: {prompt: go}\n"
        "steps: [{name: only, use: {tool: Bash, input: {command: touch made, description: A step}}}]\n"
        "expect: {decisions: [{step: only, decision: warn}], state: done}\n"
    )
    environ = {"CHAPERON_AGENT__COMMAND": str(real_claude)}
    async with (
        served(base),
        panel(base, environ=environ) as shown,
        browser() as chrome,
        tab(chrome) as page,
    ):
        await page.goto(shown.link)
        await expect(page.locator("#link")).to_have_text("live")
        await page.goto(f"{shown.url}/trials")
        await page.get_by_label("Scenario: a name, or the path of a file").fill(str(scenario))
        await page.get_by_role("button", name="Rehearse").click()
        await expect(page.locator("h1")).to_have_text("rehearse-1")
        await expect(page.locator("#trial .badge")).to_have_text("done")
        await expect(page.locator("#trial")).to_contain_text("Not all is as the scenario expects.")
        await expect(page.locator("#trial")).to_contain_text("expect.decisions[0]")
        await page.get_by_text("All of it").click()
        await expect(page.locator("#trial pre")).to_contain_text('"state": "done"')


async def test_a_person_tries_a_change_of_the_policy_on_recorded_runs_before_it_is_saved(tmp_path: Path) -> None:
    base = Base(tmp_path / "base")
    base.plan("ls", "touch one")
    async with (
        served(base) as (daemon, _),
        panel(base) as shown,
        browser() as chrome,
        tab(chrome) as page,
    ):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        before = sorted(one for one in base.home.rglob("*.yaml"))
        await page.goto(shown.link)
        await expect(page.locator("#link")).to_have_text("live")
        await page.get_by_role("link", name="Policy").click()
        await page.get_by_role("link", name="Try a change of the policy").click()
        await page.get_by_label("Keys as YAML").fill(POLICY)
        await page.wait_for_load_state()  # before it, no script has seen the form
        await page.get_by_role("button", name="Try it").click()
        await expect(page.locator("#trial")).to_contain_text("1 of 2 calls in 1 run would be decided otherwise.")
        await expect(page.locator("#trial")).to_contain_text("own.no-touch")
        moment = page.locator("#trial a[href*='/agents/a1']").first
        await moment.click()
        await expect(page.locator("h1")).to_have_text("a1")
        assert sorted(one for one in base.home.rglob("*.yaml")) == before, "nothing is saved"


async def test_a_person_goes_back_with_a_whole_project_and_undoes_it(tmp_path: Path) -> None:
    base = Base(tmp_path / "base")
    base.config["tasks"] = {"slots": 1, "max_load_per_core": 0, "min_free_memory_mb": 10_000_000}  # none is claimed
    app = base.repo / "app.py"
    app.write_text("good\n")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    await anyio.run_process(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "Begin"], cwd=base.repo)
    async with (
        served(base) as (daemon, client),
        panel(base) as shown,
        browser() as chrome,
        tab(chrome) as page,
    ):
        task = {"prompt": "Write the changelog", "repository": str(base.repo)}
        (await client.post("/v1/tasks", json={"tasks": [task]})).raise_for_status()
        (added,) = daemon.board.tasks
        kept = {"project": str(base.repo), "name": "friday", "note": ""}
        (await client.post(project_checkpoints.PATH, json=kept)).raise_for_status()
        app.write_text("bad\n")
        (await client.post(f"/v1/tasks/{added.spec.id}/cancel", json={})).raise_for_status()
        await page.goto(shown.link)
        await expect(page.locator("#link")).to_have_text("live")
        await page.goto(f"{shown.url}/projects")
        await page.get_by_role("link", name="friday").click()
        await expect(page.locator("main")).to_contain_text("app.py")
        await page.wait_for_load_state()  # before it, no script has seen the button
        await page.get_by_role("button", name="Go back with the whole project…").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("to confirm").fill("fridays")
        await dialog.get_by_role("button", name="Go back").click()
        await expect(dialog).to_contain_text("Nothing was changed")
        assert app.read_text() == "bad\n"
        await dialog.get_by_label("to confirm").fill("friday")
        await dialog.get_by_role("button", name="Go back").click()
        await expect(page.locator("h1")).not_to_have_text("friday")
        await page.wait_for_load_state()
        assert app.read_text() == "good\n"
        assert daemon.board.tasks.get(added.spec.id).state == "pending"
        undo = await page.locator("h1").inner_text()
        await page.get_by_role("button", name="Go back with the whole project…").click()
        await dialog.get_by_label("to confirm").fill(undo)
        await dialog.get_by_role("button", name="Go back").click()
        await expect(page.locator("h1")).not_to_have_text(undo)
        assert app.read_text() == "bad\n"
        assert daemon.board.tasks.get(added.spec.id).state == "cancelled"


async def test_a_card_goes_to_another_group_and_those_that_did_not_change_stay(tmp_path: Path) -> None:
    base = Base(tmp_path / "base")
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _), panel(base) as shown, browser() as chrome, tab(chrome) as page:
        for name in ("a1", "a2", "a3"):
            await daemon.submit(base.submission(name=name, prompt=f"Look at {name}"), by="test")
            await reached(daemon, AgentState.RUNNING, name)
        await page.goto(shown.link)
        await expect(page.locator("#link")).to_have_text("live")
        await page.locator("#agent-a2").get_by_role("button", name="Pause").click()
        await expect(page.locator("#section-group-held .card")).to_have_count(1)
        await expect(page.locator("#section-group-held .task")).to_have_text("Look at a2")
        await expect(page.locator("#section-group-at-work .task")).to_have_text(["Look at a1", "Look at a3"])
        await page.locator("#agent-a2").get_by_role("button", name="Resume").click()
        await expect(page.locator("#section-group-at-work .task")).to_have_text([f"Look at a{n}" for n in (1, 2, 3)])
        await expect(page.locator("[data-same]")).to_have_count(0)
