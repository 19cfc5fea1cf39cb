"""The streams that keep pages current, over plain HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import orjson
import pytest

from supervisor.panel.live import message
from tests.stages.daemon import PATIENCE_SECONDS, Base, ended, served
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
