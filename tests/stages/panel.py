"""The panel as a process of its own beside a daemon, and browsers of two kinds: plain HTTP, and a real Chromium."""

import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import anyio
import anyio.to_thread
import httpx
import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.stages import forked
from tests.stages.daemon import PATIENCE_SECONDS, Base, until

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/#(\S+)")


@dataclass
class PanelProcess:
    """A panel that runs."""

    port: int
    code: str
    pid: int
    refused: Path
    """Where it complains."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.url}/#{self.code}"

    @asynccontextmanager
    async def visitor(self, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
        """A browser of plain HTTP that has not signed in."""
        async with httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS, verify=False
        ) as client:
            yield client

    @asynccontextmanager
    async def person(self) -> AsyncIterator[httpx.AsyncClient]:
        """One that has signed in, and whose actions carry the token."""
        async with self.visitor(origin=self.url) as client:
            response = await client.post("/sign-in", data={"code": self.code})
            assert response.status_code == 303, response.text
            client.headers["x-chaperon-token"] = token_of((await client.get("/")).text)
            yield client


def token_of(html: str) -> str:
    """The token of a page."""
    (token,) = re.findall(r'<meta name="token" content="([^"]+)">', html)
    return str(token)


@asynccontextmanager
async def panel(
    base: Base, *options: str, environ: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[PanelProcess]:
    """`chaperon panel`, ended with the block; `environ` is what its environment has besides."""
    its = {"HOME": str(base.home), "RUNTIME_DIRECTORY": str(base.places.runtime), "TZ": "UTC"}
    whole = {"PATH": os.environ["PATH"], **its, **environ}
    complaints, said = base.root / f"panel-{len(options)}.err", base.root / f"panel-{len(options)}.out"
    command = ("supervisor.cli", "panel", "--port", "0", *options)
    with said.open("wb") as out, complaints.open("wb") as err:
        process = forked.Program(command, env=whole, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    try:
        await until(lambda: LINK.search(said.read_text()) is not None or process.poll() is not None)
        found = LINK.search(said.read_text())
        assert found is not None, complaints.read_text()
        yield PanelProcess(int(found[1]), found[2], process.pid, complaints)
    finally:
        process.terminate()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(process.wait)


async def settled(page: Page) -> None:
    """Wait until what came or moved on a page is taken for seen, so that it can be pressed."""
    await page.evaluate("Promise.allSettled(document.getAnimations().map((one) => one.finished)).then(() => 0)")


def chromium() -> str:
    """The distribution's browser."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium is installed here (apt-get install chromium)")
    return path


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """A Chromium without a window."""
    path = chromium()
    async with async_playwright() as play:
        started = await play.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        try:
            yield started
        finally:
            await started.close()


@asynccontextmanager
async def tab(started: Browser, *, width: int = 1280, height: int = 900, dark: bool = False) -> AsyncIterator[Page]:
    """A page of a browser that has cookies of its own. An error on its console fails the test, but for refusals."""
    errors: list[str] = []
    context = await started.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", timezone_id="UTC"
    )
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_SECONDS * 1000)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    try:
        yield page
    finally:
        await context.close()
    assert [error for error in errors if "responded with a status of 4" not in error] == []
