"""A repository whose every text is an attack, in a real Chromium and on a terminal: all is shown, and nothing runs."""

import subprocess
from functools import partial

import anyio.to_thread
import pytest
from playwright.async_api import Page, expect

from supervisor.cli.commands.agents import project_checkpoints
from tests.end_to_end.conftest import Stage
from tests.stages.daemon import PATIENCE_SECONDS, ended, served
from tests.stages.panel import browser, panel, tab
from tests.support import acting

pytestmark = [pytest.mark.slow, pytest.mark.real_cli]

expect.set_options(timeout=PATIENCE_SECONDS * 1000)

MARK = "onerror=owned=1"
"""The part of each attack by which it is found again on a page."""

ACTS = "\x1b[31m\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\u202e\u2066"

ATTACK = (
    f"<img src=//evil.example/x {MARK}><script>owned=1</script>"
    f"<a href='javascript:owned=1'>x</a><iframe srcdoc='<script>parent.owned=1</script>'></iframe>{ACTS}"
)

NAME = f"<img src=x {MARK}>\x1b[31m\u202e\n.txt"
"""A file's; it has no slash."""

BRANCH = f"<img/src=x/{MARK}>"
"""A branch's; git refuses blanks and control characters."""

EDIT = f"from pathlib import Path\nPath({NAME!r}).write_text({ATTACK!r})\nprint({ATTACK!r})\n"

PAGES = {
    "/": MARK,
    "/agents/a1": MARK,
    "/agents/a1/diff": MARK,
    "/agents/a1/use": "Tokens",
    "/checkpoints": MARK,
    "/checkpoints/kept?agent=a1": MARK,
    "/projects": MARK,
    "/projects/friday": MARK,
    "/discoveries": MARK,
    "/incidents": MARK,
    "/tasks": MARK,
    "/tasks/{task}": MARK,
    "/policy?command=rm+-rf+/+%23+%3Cimg+src=x+onerror=owned=1%3E": MARK,
    "/trials": "Rehearse",
    "/report": "a1",
}
"""A text that each page must have: of the attack, where the repository or its agent has a say."""


def attack(stage: Stage) -> None:
    """Have the attack in names, contents, commits and branches, and play it by the model."""
    for name, content in ((NAME, "before\n"), ("edit.py", EDIT), ("CLAUDE.md", ATTACK)):
        (stage.repo / name).write_text(content)
    for words in (["switch", "--quiet", "-c", BRANCH], ["add", "-A"], ["commit", "--quiet", "-m", ATTACK]):
        subprocess.run(["git", "-C", str(stage.repo), *words], check=True, env={"PATH": "/usr/bin:/bin"})
    stage.bash("python3 edit.py")
    stage.bash(f"rm -rf /etc # <img src=x {MARK}>")
    stage.say(f"{ATTACK}\n[discovery: repository] {ATTACK}")


async def ran_nothing(page: Page, url: str, asked: list[str]) -> None:
    """Assert that no text became markup, acted, or had anything fetched."""
    assert await page.evaluate("typeof owned") == "undefined"
    made = "main img, main script, main iframe, main [onerror], main a[href^='javascript:'], main a[href*='evil']"
    assert await page.locator(made).count() == 0
    assert acting(await page.locator("body").inner_text()) <= {"\n", "\t"}, page.url
    assert [one for one in asked if not one.startswith(f"{url}/")] == []


async def test_all_that_a_hostile_repository_and_its_agent_say_is_shown_as_text_and_nothing_runs(stage: Stage) -> None:
    attack(stage)
    base = stage.base
    base.config["tasks"] = {"slots": 1, "max_load_per_core": 0, "min_free_memory_mb": 10_000_000}  # none is claimed
    async with stage.playing(), served(base) as (daemon, client), panel(base) as shown, browser() as chrome:
        await daemon.submit(base.submission(prompt=f"Look. {ATTACK}", goals=[ATTACK]), by="test")
        await ended(daemon)
        daemon.fault("a1", "grounds_shaken", ATTACK, way_out=ATTACK)
        task = {"prompt": ATTACK, "repository": str(base.repo)}
        added = (await client.post("/v1/tasks", json={"tasks": [task]})).raise_for_status().json()
        for path, body in (
            ("/v1/agents/a1/checkpoints", {"name": "kept", "note": ATTACK}),
            (project_checkpoints.PATH, {"project": str(base.repo), "name": "friday", "note": ATTACK}),
        ):
            (await client.post(path, json=body)).raise_for_status()
        async with tab(chrome) as page:
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            await page.goto(shown.link)
            await expect(page.locator("#link")).to_have_text("live")
            for path, text in PAGES.items():
                await page.goto(shown.url + path.format(task=added["tasks"][0]["task"]))
                await expect(page.locator("main")).to_contain_text(text)
                await page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
                await ran_nothing(page, shown.url, asked)
            await page.goto(f"{shown.url}/checkpoints/kept?agent=a1")
            await page.wait_for_load_state()
            await page.get_by_role("button", name="Go back to it").click()
            await expect(page.get_by_role("dialog")).to_be_visible()
            await ran_nothing(page, shown.url, asked)
        for words in ("ps", "show a1", "show a1 --timeline", "diff a1", "tail", "checkpoints", "incidents", "discoveries",
                      "task list", "report --week", "checkpoints show kept --agent a1", "rollback kept --agent a1 --dry-run"):  # fmt: skip
            done = await anyio.to_thread.run_sync(partial(stage.chaperon, *words.split()))
            assert acting(done.stdout + done.stderr) <= {"\n", "\t"}, words
            assert done.returncode == 0, (words, done.stderr)
    assert stage.nobody_is_left()
