"""The panel in a real Chromium, over a real daemon: what a person sees and does there."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from interventions.decisions import Intervention
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from supervisor.protocol import events
from supervisor.protocol.events import TasksAdded
from supervisor.protocol.tasks import TaskSpec
from tests.end_to_end.conftest import Stage
from tests.stages.daemon import GREETING, PATIENCE_SECONDS, Base, ended, served, until
from tests.stages.panel import browser, panel, settled, tab

pytestmark = pytest.mark.slow

WIDTHS = {"wide": (1280, 900, False), "phone": (390, 844, True)}
"""Width, height, and whether it is dark."""

HOSTILE = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>\u202e\x1b[31m"


expect.set_options(timeout=PATIENCE_SECONDS * 1000)


async def without_barriers(page: Page) -> None:
    """What axe finds wrong on the page: nothing."""
    await page.wait_for_load_state()
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(Axe().axe_script)
    found = await page.evaluate("axe.run({resultTypes: ['violations']}).then(({violations}) => violations)")
    assert [(one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"]) for one in found] == []
    assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth"), (
        "the page is wider than the screen"
    )


async def screens(page: Page) -> AsyncIterator[str]:
    """The page as it stands on each screen; it is left on the smallest, on which the next one is loaded."""
    for name, (width, height, dark) in WIDTHS.items():
        await page.set_viewport_size({"width": width, "height": height})
        await page.emulate_media(color_scheme="dark" if dark else "light")
        yield name


@pytest.mark.real_cli
async def test_a_person_approves_and_denies_what_the_real_cli_wants_to_run_and_it_does_as_told(stage: Stage) -> None:
    stage.bash("touch one")
    stage.bash("touch two")
    stage.say("Both are dealt with.")
    stage.base.config["approval"] = {"mode": "ask"}
    async with stage.playing(), served(stage.base) as (daemon, _), panel(stage.base) as shown, browser() as chrome:
        async with tab(chrome) as page:
            await page.goto(shown.link)
            await daemon.submit(stage.base.submission(prompt="Touch two files"), by="test")
            await expect(page.locator(".waits pre").first).to_have_text("touch one")
            assert shown.code not in page.url
            await page.goto(f"{shown.url}/agents/a1")
            await expect(page.locator(".waits pre").first).to_have_text("touch one")
            await without_barriers(page)
            await page.goto(shown.url)
            await page.get_by_role("button", name="Approve").click()
            await expect(page.locator(".waits pre").first).to_have_text("touch two")
            await settled(page)
            await page.keyboard.press("j")
            await page.keyboard.press("d")
            await page.get_by_role("dialog").get_by_label("What the model is told with it").fill("Leave two alone.")
            await page.keyboard.press("Enter")
            await expect(page.locator("#agent-a1 .badge")).to_have_text("done")
        await ended(daemon)
    assert (stage.repo / "one").exists()
    assert not (stage.repo / "two").exists()
    assert "Leave two alone." in stage.told()


PRESSED_AS_IT_COMES = """button => new Promise(done => new MutationObserver((_, watch) => {
  const found = document.querySelector(".waits pre");
  if (found?.textContent !== "echo two > two") return;
  watch.disconnect();
  setTimeout(() => { found.closest(".waits").querySelector(button).click(); done(); });
}).observe(document.body, { childList: true, subtree: true, characterData: true }))"""
"""Presses a button of the second action's card as soon as it is there."""


@pytest.mark.parametrize("button", ["[data-key=a]", "[data-key=d]"])
async def test_a_button_does_not_answer_an_action_that_took_the_place_of_another_just_now(
    tmp_path: Path, button: str
) -> None:
    base = Base(tmp_path / "base")
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo one > one", "echo two > two")
    async with served(base) as (daemon, client), panel(base) as shown, browser() as chrome, tab(chrome) as page:
        await page.goto(shown.link)
        await daemon.submit(base.submission(), by="test")
        await expect(page.locator(".waits pre").first).to_have_text("echo one > one")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(page.evaluate, PRESSED_AS_IT_COMES, button)
            (waiting,) = (await client.get("/v1/approvals")).json()
            answer = {"granted": True, "note": ""}
            await client.post(f"/v1/agents/a1/approvals/{waiting['request_id']}", json=answer)
        await expect(page.locator("#toast")).to_have_text("This came just now: look at it, and press again.")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        assert base.ran() == ["echo one > one"]
        await settled(page)
        await page.get_by_role("button", name="Approve").click()
        await ended(daemon)
    assert base.ran() == ["echo one > one", "echo two > two"]


async def test_a_person_says_pauses_resumes_and_stops_by_the_keyboard_alone(tmp_path: Path) -> None:
    base = Base(tmp_path / "base")
    base.cli("begin()\nwhile True:\n    open('heard', 'a').write(str(hear()))")
    async with served(base) as (daemon, _), panel(base) as shown, browser() as chrome, tab(chrome) as page:
        await daemon.submit(base.submission(), by="test")
        await page.goto(shown.link)
        badge = page.locator("#agent-a1 .badge")
        await expect(badge).to_have_text("running")
        await page.keyboard.press("j")
        await page.keyboard.press("s")
        await page.keyboard.type("Mind the gap")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await until(lambda: (base.repo / "heard").exists() and "Mind the gap" in (base.repo / "heard").read_text())
        await expect(page.get_by_role("dialog")).to_be_hidden()
        await page.keyboard.press("p")
        await expect(badge).to_have_text("paused")
        await page.keyboard.press("r")
        await expect(badge).to_have_text("running")
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("a1")
        await expect(page.locator("#link")).to_have_text("live")
        await page.keyboard.press("x")
        await page.get_by_role("dialog").get_by_label("End all its processes at once").check()
        await page.get_by_role("dialog").get_by_role("button", name="Stop").click()
        await expect(page.locator(".title .badge")).to_have_text("stopped")
        await expect(page.locator("#timeline")).to_contain_text("Mind the gap")


@pytest.mark.real_cli
async def test_a_person_keeps_a_checkpoint_breaks_things_reads_the_plan_goes_back_and_undoes_it(stage: Stage) -> None:
    stage.bash("echo good > app.py")
    stage.say("Written.")
    app = stage.repo / "app.py"
    async with stage.playing(), served(stage.base) as (daemon, _), panel(stage.base) as shown, browser() as chrome:
        await daemon.submit(stage.base.submission(), by="test")
        await ended(daemon)
        async with tab(chrome) as page:
            await page.goto(shown.link)
            await expect(page.locator("#link")).to_have_text("live")
            await page.goto(f"{shown.url}/agents/a1")
            await expect(page.locator("#link")).to_have_text("live")
            await page.get_by_role("button", name="Keep a checkpoint").click()
            await page.get_by_role("dialog").get_by_label("Name").fill("good")
            await page.get_by_role("dialog").get_by_label("Note").fill("It worked here.")
            await page.get_by_role("button", name="Keep", exact=True).click()
            await expect(page.locator("#toast")).to_have_text("good holds the workspace.")
            app.write_text("bad\n")
            await page.goto(f"{shown.url}/agents/a1")
            await page.get_by_role("link", name="Its checkpoints").click()
            await without_barriers(page)
            await page.get_by_role("link", name="good", exact=True).click()
            await expect(page.locator("main")).to_contain_text("It worked here.")
            await without_barriers(page)
            await page.get_by_role("button", name="Go back to it").click()
            dialog = page.get_by_role("dialog")
            await expect(dialog).to_contain_text("app.py")
            await without_barriers(page)
            await dialog.get_by_label("to confirm").fill("god")
            await dialog.get_by_role("button", name="Go back").click()
            await expect(dialog).to_contain_text("Nothing was changed")
            assert app.read_text() == "bad\n"
            await dialog.get_by_label("to confirm").fill("good")
            await dialog.get_by_role("button", name="Go back").click()
            await expect(page.locator("h1")).not_to_have_text("good")
            assert app.read_text() == "good\n"
            await page.wait_for_load_state()
            undo = await page.locator("h1").inner_text()
            await page.get_by_role("button", name="Go back to it").click()
            await dialog.get_by_label("to confirm").fill(undo)
            await dialog.get_by_role("button", name="Go back").click()
            await expect(page.locator("h1")).not_to_have_text(undo)
            assert app.read_text() == "bad\n"
            await page.goto(f"{shown.url}/agents/a1/diff")
            await expect(page.locator(".patch")).to_contain_text("+good")
            await without_barriers(page)


async def test_a_stop_is_an_incident_whose_ways_to_go_on_are_buttons(tmp_path: Path) -> None:
    base = Base(tmp_path / "base")
    session = "11111111-2222-3333-4444-555555555555"
    base.cli("begin()\nwhile True:\n    hear()", greeting=GREETING.replace("stand-in", session))
    async with served(base) as (daemon, _), panel(base) as shown, browser() as chrome, tab(chrome) as page:
        await daemon.submit(base.submission(), by="test")
        await until(lambda: daemon.board.summary("a1").state == "running")
        issue = Issue("data_loss", Severity.CRITICAL, 1.0, 0.3, 1, "It deletes what it should keep.")
        chosen = Intervention("i-1", InterventionKind.EMERGENCY_STOP, issue, 1.0, HOSTILE, "[chaperon] Stop.")
        daemon.happened(events.InterventionChosen(**daemon.stamp("a1"), intervention=chosen))
        await ended(daemon)
        await until(lambda: bool(daemon.board.summary("a1").incidents) and not daemon.board.summary("a1").aftermath_due)
        await page.goto(shown.link)
        await expect(page.locator("#link")).to_have_text("live")
        await page.keyboard.press("g")
        await page.keyboard.press("i")
        await expect(page.locator("h1")).to_have_text("Incidents")
        await without_barriers(page)
        await page.get_by_role("link", name="emergency_stop").click()
        await expect(page.locator("main")).to_contain_text("Ways to go on")
        await without_barriers(page)
        buttons = page.locator(".options button")
        assert await buttons.count() > 0
        await buttons.first.click()
        await page.get_by_role("button", name="Do it").click()
        await expect(page.locator("#toast")).not_to_be_empty()
        await until(lambda: bool(daemon.board.summary("a1").recovered))


async def test_a_hostile_agent_runs_nothing_in_the_browser_and_no_page_keeps_anybody_out(tmp_path: Path) -> None:
    base = Base(tmp_path / "base")
    base.config["tasks"] = {"slots": 1, "max_load_per_core": 0, "min_free_memory_mb": 10_000_000}  # none is claimed
    base.plan("ls", f"echo {HOSTILE}", "rm -rf /")
    async with served(base) as (daemon, _), panel(base) as shown, browser() as chrome, tab(chrome) as page:
        await daemon.submit(base.submission(prompt=HOSTILE), by="test")
        await ended(daemon)
        await page.goto(shown.url)
        await expect(page.locator("h1")).to_have_text("Sign in")
        async for _screen in screens(page):
            await without_barriers(page)
        await page.goto("about:blank")
        await page.goto(shown.link)
        await expect(page.locator("#link")).to_have_text("live")
        spec = TaskSpec(id="t-1", prompt=HOSTILE, repository=str(base.repo))
        daemon.happened(TasksAdded(**daemon.stamp(""), request_id="one", tasks=(spec,), by=HOSTILE))
        for path in ("/", "/agents/a1", "/policy?command=rm+-rf+/", "/report", "/tasks", "/tasks/t-1"):
            await page.goto(shown.url + path)
            await expect(page.locator("main")).to_contain_text("onerror=document.title")
            async for _screen in screens(page):
                await without_barriers(page)
            assert "owned" not in await page.title()


async def test_a_page_of_another_port_of_this_host_can_neither_read_nor_do_anything(tmp_path: Path) -> None:
    """SameSite=Strict does not separate ports: the door does."""
    base = Base(tmp_path / "base")
    base.cli("begin()\nwhile True:\n    hear()")
    async with (
        served(base) as (daemon, _),
        panel(base) as shown,
        panel(base, "--read-only") as other,
        browser() as chrome,
    ):
        await daemon.submit(base.submission(), by="test")
        async with tab(chrome) as page:
            await page.goto(shown.link)
            await expect(page.locator("#link")).to_have_text("live")
            foreign = await page.context.new_page()
            await foreign.goto(f"{other.url}/static/icon.svg")
            tried = """async (url) => {
                const answers = [];
                for (const init of [{}, {method: "POST", body: "{}"}, {method: "POST", body: "{}", mode: "no-cors"}]) {
                    try { answers.push((await fetch(url, {credentials: "include", ...init})).type) }
                    catch (error) { answers.push("refused") }
                }
                return answers }"""
            assert await foreign.evaluate(tried, f"{shown.url}/agents/a1/stop") in (
                ["refused"] * 3,
                ["refused", "refused", "opaque"],
            )
            assert not daemon.board.summary("a1").state.ended
            assert daemon.board.summary("a1").state == "running"
