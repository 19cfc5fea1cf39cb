"""The present of the board, asked for in parts, over a real daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from supervisor.cli.client import connect
from supervisor.panel.feed import Feed
from supervisor.panel.link import PanelLink
from supervisor.panel.present import Present
from supervisor.protocol import events
from supervisor.runtime.daemon.daemon import Daemon
from tests.stages.daemon import PATIENCE_SECONDS, Base, served, until
from tests.supervisor.cli.commands.work.test_merge import begun


@asynccontextmanager
async def followed(base: Base) -> AsyncIterator[tuple[Feed, Present]]:
    """A feed that follows the journal, and the present by it."""
    link = PanelLink(lambda: connect(base.places.socket))
    feed = Feed(link)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(feed.run)
        yield feed, Present(link, feed)
        tasks.cancel_scope.cancel()


async def caught_up(feed: Feed, daemon: Daemon) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        while feed.last < daemon.journal.last:
            await feed.newer(feed.version)


async def test_only_what_changed_is_read_anew_and_the_rest_stays_the_same_object(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, client), followed(base) as (feed, present):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
            await until(lambda name=name: daemon.board.summary(name).state == "running")  # type: ignore[misc]
        await caught_up(feed, daemon)
        before = await present.read()
        assert [one["agent"] for one in before.agents] == ["a1", "a2"]
        await daemon.request(events.PauseRequested(**daemon.stamp("a1"), by="test"))
        await until(lambda: daemon.board.summary("a1").pause is not None)
        await caught_up(feed, daemon)
        after = await present.read()
        assert after.agents[0]["pause"] is not None
        same = after.agents[1] == before.agents[1]  # it may have come further meanwhile
        assert (after.agents[1] is before.agents[1]) == same
        await client.post("/v1/drain", json={"on": True, "reason": "late"})
        await caught_up(feed, daemon)
        assert (await present.read()).orders["drain"]["reason"] == "late"


async def test_a_daemon_whose_journal_is_another_one_is_read_whole(base: Base) -> None:
    """Its numbers begin anew: none of them is behind what was read."""
    base.plan("ls")
    async with served(base) as (daemon, _):
        async with followed(base) as (feed, present):
            await daemon.submit(base.submission(), by="test")
            await until(lambda: daemon.board.summary("a1").ended_at is not None)
            await caught_up(feed, daemon)
            await present.read()
        feed.last = 1  # which it keeps, since nothing is followed any more
        assert not feed.away
        present._agents.clear()
        assert [one["agent"] for one in (await present.read()).agents] == ["a1"]


async def test_a_branch_that_waits_to_be_merged_is_there_until_it_is_merged(base: Base) -> None:
    base.config["workspaces"] = {"folder": str(base.root / "workspaces")}
    async with served(base) as (daemon, client), followed(base) as (feed, present):
        await caught_up(feed, daemon)
        assert (await present.read()).merges == []
        await begun(base, daemon)
        await until(lambda: daemon.board.merges.find("a1").phase == "proposed")
        await caught_up(feed, daemon)
        assert [one["id"] for one in (await present.read()).merges] == ["a1"]
        assert (await client.post("/v1/merges/a1/carry-out", json={"into": "main"})).json()["phase"] == "merged"
        await caught_up(feed, daemon)
        assert (await present.read()).merges == []
