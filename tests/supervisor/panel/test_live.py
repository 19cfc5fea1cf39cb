"""The streams that keep pages current, over plain HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import orjson
import pytest
from starlette.requests import Request

from supervisor.cli.client import connect
from supervisor.panel.feed import Feed
from supervisor.panel.link import PanelLink
from supervisor.panel.live import FURTHEST, Live, message
from supervisor.panel.pages.agents.board import Cards
from supervisor.panel.present import Present
from supervisor.runtime.clock import Clock
from tests.stages.daemon import PATIENCE_SECONDS, Base, ended, served, until
from tests.stages.panel import panel

pytestmark = pytest.mark.slow


async def messages(answer: httpx.Response) -> AsyncIterator[tuple[str, int | None, dict[str, Any]]]:
    """Each message of a stream: its kind, its number, its data."""
    kind, number = "", None
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            kind, number = value, None
        elif name == "id":
            number = int(value)
        elif name == "data":
            yield kind, number, orjson.loads(value)


def test_a_message_is_one_line_of_data_whatever_is_in_it() -> None:
    made = message("rows", 7, html="a\nb\r\n\u2028data: x")
    assert made.splitlines()[:2] == ["event: rows", "id: 7"]
    assert made.count("\n") == 4
    assert "\r" not in made


async def test_the_board_follows_what_happens(base: Base) -> None:
    base.plan("ls")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with person.stream("GET", "/live/board") as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                stream = messages(answer)
                assert "No agent runs" in (await anext(stream))[2]["html"]
                await daemon.submit(base.submission(prompt="List it"), by="test")
                async for kind, _n, data in stream:
                    if kind == "fragment" and "List it" in data["html"] and ">done<" in data["html"]:
                        break


async def test_a_card_that_the_browser_has_is_not_sent_again(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, client), panel(base) as shown, shown.person() as person:
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name, prompt=f"Look at {name}"), by="test")
            await until(lambda name=name: daemon.board.summary(name).state == "running")  # type: ignore[misc]
        with anyio.fail_after(PATIENCE_SECONDS):
            async with person.stream("GET", "/live/board") as answer:
                stream = messages(answer)
                first = (await anext(stream))[2]["html"]
                assert "Look at a1" in first
                assert "Look at a2" in first
                await client.post("/v1/agents/a1/pause")
                async for _kind, _n, data in stream:
                    if ">paused<" in data["html"]:
                        break
        assert "Look at a1" in data["html"]
        assert "Look at a2" not in data["html"]
        assert '<article id="agent-a2" data-same></article>' in data["html"]


async def test_a_timeline_goes_on_behind_the_event_that_the_browser_saw_last(base: Base) -> None:
    base.plan("ls", "pwd")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        rows: list[str] = []
        for headers in ({"last-event-id": "0"}, {"last-event-id": "nonsense"}, {"last-event-id": "9" * 5_000}):
            with anyio.fail_after(PATIENCE_SECONDS):
                async with person.stream("GET", "/live/agents/a1", headers=headers) as answer:
                    async for kind, n, data in messages(answer):
                        if kind == "rows":
                            rows.append(data["html"])
                            assert n == daemon.journal.last
                            break
        assert rows[0] == rows[1] == rows[2]
        assert rows[0].index("Bash pwd") < rows[0].index("Bash ls")
        (seen,) = [
            record.n for record in base.records() if record.event.kind == "review_made" and "pwd" in str(record.event)
        ]
        with anyio.fail_after(PATIENCE_SECONDS):
            async with person.stream("GET", "/live/agents/a1", headers={"last-event-id": str(seen - 1)}) as answer:
                async for kind, _n, data in messages(answer):
                    if kind == "rows":
                        assert "Bash pwd" in data["html"]
                        assert "Bash ls" not in data["html"]
                        break


async def test_streams_live_through_a_restart_of_the_daemon(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with panel(base) as shown, shown.person() as person, person.stream("GET", "/live/agents/a1") as answer:
        stream = messages(answer)
        with anyio.fail_after(PATIENCE_SECONDS):
            kind, _n, data = await anext(stream)
            assert (kind, "No daemon listens" in data["away"]) == ("daemon", True)
            async with served(base) as (daemon, _):
                await daemon.submit(base.submission(), by="test")
                async for kind, _n, data in stream:
                    if kind == "fragment" and "running" in data["html"]:
                        break
            async for kind, _n, data in stream:
                if kind == "daemon" and data["away"]:
                    break


async def test_a_browser_that_slept_while_more_happened_than_is_sent_loads_its_page_anew(base: Base) -> None:
    """So does one whose page is of a journal that was begun anew since."""
    base.plan("ls")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        link = PanelLink(lambda: connect(base.places.socket))
        feed = Feed(link)
        for seen, last in ((1, FURTHEST + 2), (1_000_000, daemon.journal.last)):
            feed.last, feed.version = last, 1
            scope = {"type": "http", "headers": [(b"last-event-id", b"%d" % seen)], "query_string": b""}
            live = Live(link, feed, Present(link, feed), Cards())
            request = Request({**scope, "path_params": {"agent": "a1"}})
            with anyio.fail_after(PATIENCE_SECONDS):
                sent = [str(part) async for part in take(live.agent(request).body_iterator)]
            assert sent[-1].startswith("event: reload\n")


async def take(parts: Any) -> AsyncIterator[Any]:
    """The messages of a stream up to one that says to load the page."""
    async for part in parts:
        yield part
        if "reload" in part:
            return


async def test_what_is_done_by_one_panel_shows_in_another_and_is_refused_there_then(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo 1 > one")
    async with (
        served(base) as (daemon, _),
        panel(base) as one,
        one.person() as ada,
        panel(base, "--name", "other:443") as two,
        two.person() as eva,
    ):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: bool(daemon.board.summary("a1").waiting))
        (waits,) = daemon.board.summary("a1").waiting
        with anyio.fail_after(PATIENCE_SECONDS):
            async with eva.stream("GET", "/live/board") as answer:
                stream = messages(answer)
                while "waits for you" not in (await anext(stream))[2].get("html", ""):
                    pass
                path = f"/agents/a1/approvals/{waits.request_id}"
                assert (await ada.post(path, json={"granted": True})).status_code == 200
                while "waits for you" in (await anext(stream))[2].get("html", "waits for you"):
                    pass
        assert (await eva.post(path, json={"granted": False})).status_code == 409
        await ended(daemon)
    assert base.ran() == ["echo 1 > one"]


class DaysLater(Clock):
    """The clock on the wall has gone on."""

    def wall(self) -> float:
        return super().wall() + 10 * 86_400


async def test_a_timeline_goes_on_while_the_journal_begins_new_files_and_after_old_ones_are_gone(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervisor.runtime.clock.SETTLING_SECONDS", 0.0)
    calls = [f"touch file-{n}-" for n in range(8)]
    base.plan(*calls)
    async with panel(base) as shown, shown.person() as person:
        async with served(base, segment_bytes=4_000) as (daemon, _):
            rows = ""
            with anyio.fail_after(PATIENCE_SECONDS):
                async with person.stream("GET", "/live/agents/a1") as answer:
                    await daemon.submit(base.submission(), by="test")
                    async for kind, _n, data in messages(answer):
                        rows += data["html"] if kind == "rows" else ""
                        if all(f"Bash {call}" in rows for call in calls):
                            break
            await ended(daemon)
        files = sorted(base.places.journal.glob("*.jsonl"))
        assert len(files) > 3
        base.config["audit"] = {"retain_days": 1}
        async with served(base, clock=DaysLater(), segment_bytes=4_000) as (daemon, _):
            await until(lambda: not files[0].exists())
            page = await person.get("/agents/a1")
            assert (page.status_code, ">done<" in page.text) == (200, True)
            older = await person.get("/agents/a1?before=5")
            assert (older.status_code, "Bash touch" in older.text) == (200, False)
            with anyio.fail_after(PATIENCE_SECONDS):
                async with person.stream("GET", "/live/agents/a1", headers={"last-event-id": "1"}) as answer:
                    async for kind, _n, _data in messages(answer):
                        assert kind != "gone"
                        if kind in ("fragment", "rows", "reload"):
                            break
