"""The panel in a real browser over a busy daemon: first paint, and how soon a page shows what happened.

usage: python -m tests.bench --only panel

Two hundred stand-ins for the CLI are at work, and the journal has a past of so many events; `CHAPERON_BENCH_EVENTS` says
how many. Times are the browser's own: first contentful paint (Paint Timing), and the moment of a change in the document,
beside the time at which the event was made on the same clock.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
from playwright.async_api import Page, async_playwright

from supervisor.cli.client import Client, connect
from tests.bench.bench_fleet import over, prepare, start
from tests.bench.bench_many import EVENTS, recorded, write
from tests.bench.bench_start import command_seconds, environment, serving
from tests.bench.figures import Figure, middle, percentile
from tests.stages.panel import LINK, chromium

AGENTS = int(os.environ.get("CHAPERON_BENCH_AGENTS", "200"))

PAST_DAYS = 20.0
"""Over which the past is spread: less than the 30 days that the journal keeps, and more than the hour for which ended
agents stay on the board."""

ROUNDS = 15

LONGEST_SECONDS = 900.0

PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"

AT = re.compile(rb'"at":([0-9.]+)')

WATCH = """(name) => {
  window.seen = new Promise((done) => {
    const place = document.getElementById("board");
    const look = () => {
      const badge = document.querySelector(`#agent-${CSS.escape(name)} .badge`);
      if (badge && badge.textContent === "paused") { watcher.disconnect(); done(Date.now()); }
    };
    const watcher = new MutationObserver(look);
    watcher.observe(place, { subtree: true, childList: true, characterData: true });
  });
}"""


@contextmanager
def panel_link(base: Path) -> Iterator[str]:
    """A panel beside the daemon of a base; yields the link that signs in."""
    command = [sys.executable, "-m", "supervisor.cli", "panel", "--port", "0"]
    with (base / "panel.log").open("ab") as log:
        process = subprocess.Popen(
            command, env=environment(base), stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True
        )
    with process:
        try:
            assert process.stdout is not None
            found = next(match for line in process.stdout if (match := LINK.search(line)))
            yield re.sub(r".*(http://\S+).*", r"\1", found[0])
        finally:
            process.terminate()


@asynccontextmanager
async def signed_in(link: str) -> AsyncIterator[Page]:
    """A page of a browser that has signed in."""
    async with async_playwright() as play:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await play.chromium.launch(executable_path=chromium(), args=options)
        page = await browser.new_page()
        page.set_default_timeout(LONGEST_SECONDS * 1000)
        await page.goto(link)
        await page.wait_for_selector("#link[data-state=live]")
        yield page
        await browser.close()


async def paints(page: Page, url: str) -> list[float]:
    """First contentful paint of a page, again and again, in milliseconds."""
    found = []
    for _ in range(ROUNDS):
        await page.goto(url)
        await page.wait_for_selector("main")
        while not await page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
            await anyio.sleep(0.02)
        found.append(float(await page.evaluate(PAINT)))
    return found


async def updates(page: Page, daemon: Client, url: str, names: list[str]) -> list[float]:
    """Milliseconds from the journal's event of a pause to its place in the document."""
    await page.goto(url)
    await page.wait_for_selector("#link[data-state=live]")
    found = []
    for name in names:
        await page.evaluate(WATCH, name)
        await anyio.to_thread.run_sync(lambda name=name: daemon.post(f"/v1/agents/{name}/pause"))  # type: ignore[misc]
        seen = float(await page.evaluate("window.seen"))
        lines = await anyio.to_thread.run_sync(lambda name=name: list(daemon.lines("/v1/events", agent=name)))  # type: ignore[misc]
        at = max(float(match[1]) for line in lines if b'"paused"' in line and (match := re.search(AT, line)))
        found.append(seen - at * 1000.0)
    return found


async def measured(base: Path, link: str, daemon: Client) -> tuple[list[float], list[float], list[float]]:
    """First paints of the board and of an agent, and updates of the board."""
    async with signed_in(link) as page:
        url = link.partition("/#")[0]
        names = [str(one["agent"]) for one in await anyio.to_thread.run_sync(daemon.get, "/v1/agents")]
        live = names[-AGENTS:]
        return (
            await paints(page, url),
            await paints(page, f"{url}/agents/{live[0]}"),
            await updates(page, daemon, url, live[:ROUNDS]),
        )


def main() -> list[Figure]:
    """Measure."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        one, base = Path(place) / "one", Path(place) / "all"
        one.mkdir()
        base.mkdir()
        life = recorded(one)
        (base / "state").mkdir()
        anyio.run(write, base / "state" / "journal", life, EVENTS, PAST_DAYS)
        repositories = prepare(base, AGENTS, 3, 1.0)
        with serving(base, CHAPERON_AGENT__COMMAND=str(base / "claude")), panel_link(base) as link:
            daemon = connect(base / "run" / "chaperon.sock")

            async def play() -> tuple[list[float], list[float], list[float]]:
                with anyio.fail_after(LONGEST_SECONDS):
                    await start(daemon, repositories)
                    found = await measured(base, link, daemon)
                    daemon.post("/v1/orders/resume")
                    os.close(os.open(base / "gate", os.O_WRONLY))
                    await over(daemon)
                    return found

            board, agent, update = anyio.run(play)
            listing = command_seconds(base, "ps")
    about = f"{AGENTS} agents, a journal of {EVENTS:,} events"
    return [
        Figure(f"panel, {about}: first paint of the board, median", middle(board), "ms", 300),
        Figure(f"panel, {about}: first paint of an agent, median", middle(agent), "ms", 300),
        Figure(f"panel, {about}: from an event to the page that shows it, median", middle(update), "ms", 100),
        Figure(
            f"panel, {about}: from an event to the page that shows it, 90th percentile", percentile(update, 0.9), "ms"
        ),
        Figure(f"chaperon ps, {about}", listing * 1e3, "ms", 150),
    ]


if __name__ == "__main__":
    print(*main(), sep="\n")
