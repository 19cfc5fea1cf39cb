"""Each page of the panel in a real Chromium, at two widths: it keeps nobody out, and its picture can go to the docs."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Page, expect

from interventions.decisions import Intervention
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from supervisor.protocol import events
from supervisor.protocol.events import ResourcesSeen, TasksAdded
from supervisor.protocol.tasks import TaskSpec
from supervisor.runtime.daemon.daemon import Daemon
from tests.end_to_end.test_panel import screens, without_barriers
from tests.stages.daemon import PATIENCE_SECONDS, Base, served, until
from tests.stages.panel import PanelProcess, browser, panel, tab

pytestmark = pytest.mark.slow

expect.set_options(timeout=PATIENCE_SECONDS * 1000)

ROOT = Path(__file__).parents[2]

PICTURES = os.environ.get("CHAPERON_PICTURES", "")
"""A folder that takes the pictures, as `make pictures` wants; empty for none."""

PAGES = {
    "board": ("/", "Mend the failing test"),
    "agent": ("/agents/a1", "Mend the failing test"),
    "use": ("/agents/a1/use", "Memory"),
    "diff": ("/agents/a1/diff", "app.py"),
    "tasks": ("/tasks", "Write the changelog"),
    "task": ("/tasks/t-1", "Write the changelog"),
    "checkpoints": ("/checkpoints", "good"),
    "checkpoint": ("/checkpoints/good?agent=a1", "app.py"),
    "projects": ("/projects", "friday"),
    "project": ("/projects/friday", "What going back would do now"),
    "discoveries": ("/discoveries", "noted"),
    "incidents": ("/incidents", "emergency_stop"),
    "policy": ("/policy?command=git+push+--force", "git.push-force"),
    "trials": ("/trials", "Rehearse a scenario"),
    "report": ("/report", "Rules that fired"),
}
"""Pages by the name of their picture: the address, and a text that it has."""

CLI = """\
import time
begin()
usage = {"input_tokens": 900, "output_tokens": 120, "cache_creation_input_tokens": 4000, "cache_read_input_tokens": 0}
for number, words in enumerate(("I read the failing test first.", "The parser drops the last line.", "Now the mend.")):
    usage = {**usage, "cache_read_input_tokens": 4000 * (number + 1), "output_tokens": 120 * (number + 1)}
    content = [{"type": "text", "text": words}]
    say({"type": "assistant", "uuid": f"u{number}", "message": {"id": f"m{number}", "model": "claude-sonnet-4-5", "content": content, "usage": usage}})
open("app.py", "w").write("def last(lines):\\n    return lines[-1]\\n")
while True:
    hear()
"""


async def played(daemon: Daemon, base: Base) -> None:
    """Have something on every page: an agent at work, one that was stopped, tasks, checkpoints."""
    base.cli(CLI)
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    await anyio.run_process(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "Begin"], cwd=base.repo)
    (base.repo / "app.py").write_text("def last(lines):\n    return lines[0]\n")
    await daemon.submit(base.submission(prompt="Mend the failing test"), by="ada")
    await daemon.submit(base.submission(prompt="Publish the release", name="a2", workspace="new"), by="ada")
    for agent in ("a1", "a2"):
        await until(lambda agent=agent: bool(daemon.board.summary(agent).words))  # type: ignore[misc]
    for number, memory in enumerate((180.0, 240.0, 410.0, 390.0)):
        more: dict[str, Any] = {
            "cpu_seconds": 2.0 * number,
            "processes": 3 + number,
            "open_files": 30,
            "io_bytes": 1_000,
        }
        daemon.happened(ResourcesSeen(**daemon.stamp("a1"), memory_mb=memory, **more))
    issue = Issue("data_loss", Severity.CRITICAL, 1.0, 0.3, 1, "It deletes what it should keep.")
    daemon.happened(events.IssueSeen(**daemon.stamp("a2"), issue=issue))
    chosen = Intervention("i-1", InterventionKind.EMERGENCY_STOP, issue, 1.0, "it is critical", "[chaperon] Stop.")
    daemon.happened(events.InterventionChosen(**daemon.stamp("a2"), intervention=chosen))
    await until(lambda: daemon.board.summary("a2").state.ended and not daemon.board.summary("a2").aftermath_due)
    spec = TaskSpec(id="t-1", prompt="Write the changelog", repository=str(base.repo))
    daemon.happened(TasksAdded(**daemon.stamp(""), request_id="one", tasks=(spec,), by="ada"))


async def kept(page: Page, shown: PanelProcess, base: Base) -> None:
    """Keep a checkpoint of an agent and one of the project, by the forms."""
    await page.goto(f"{shown.url}/agents/a1")
    await page.get_by_role("button", name="Keep a checkpoint").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("good")
    await page.get_by_role("button", name="Keep", exact=True).click()
    await expect(page.locator("#toast")).to_have_text("good holds the workspace.")
    (base.repo / "app.py").write_text("broken\n")
    await page.goto(f"{shown.url}/projects")
    await page.get_by_role("button", name="Keep a whole project").click()
    await page.get_by_role("dialog").get_by_label("Repository, as a whole path").fill(str(base.repo))
    await page.get_by_role("dialog").get_by_label("Name").fill("friday")
    await page.get_by_role("button", name="Keep", exact=True).click()
    await expect(page.locator("h1")).to_have_text("friday")


async def test_each_page_fits_each_screen_and_keeps_nobody_out(tmp_path: Path) -> None:
    base = Base(tmp_path / "base")
    base.config["tasks"] = {"slots": 1, "max_load_per_core": 0, "min_free_memory_mb": 10_000_000}  # none is claimed
    async with served(base) as (daemon, _), panel(base) as shown, browser() as chrome, tab(chrome) as page:
        await played(daemon, base)
        await page.goto(shown.link)
        await expect(page.locator("#link")).to_have_text("live")
        await kept(page, shown, base)
        for name, (path, text) in PAGES.items():
            await page.goto(shown.url + path)
            await expect(page.locator("main")).to_contain_text(text)
            if name == "agent":
                await expect(page.locator("#use .chart").first).to_be_visible()
            async for screen in screens(page):
                await without_barriers(page)
                if PICTURES:
                    await page.screenshot(path=ROOT / PICTURES / f"{name}-{screen}.png", full_page=False)
