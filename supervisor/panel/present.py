"""The present as the board shows it, kept current: after an event, only the agents that it was about are asked for."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import anyio

from supervisor.cli.common import told_of
from supervisor.panel.feed import Feed
from supervisor.panel.link import PanelLink
from supervisor.panel.task_groups import DUE
from supervisor.runtime.clock import Clock

Data = Mapping[str, Any]

MOST_CHANGED = 50
"""Agents that are asked for by name; if more changed, all are. Fifty names fit into an address."""

WHOLE_SECONDS = 60.0
"""Between two questions for all agents: those that ended long ago leave the list without an event."""


class BoardData(NamedTuple):
    """Everything that the board shows."""

    agents: list[Data]
    """Oldest first. The row of an agent that did not change is the same object as before."""
    waiting: list[Data]
    """Actions that wait for a person."""
    costs: Data
    orders: Data
    """Orders that stand."""
    merges: list[Data]
    """Merges of agents' branches that wait for a person."""
    told: list[str]
    """Sentences about the daemon as a whole, as `chaperon ps` has them."""


class Present:
    """Keeps it. Used from one event loop.

    Args:
        link: The daemon.
        feed: Says which agents events were about.
    """

    def __init__(self, link: PanelLink, feed: Feed) -> None:
        self._link, self._feed, self._clock = link, feed, Clock()
        self._turn = anyio.Lock()
        self._agents: dict[str, Data] = {}
        self._waiting: list[Data] = []
        self._costs: Data = {}
        self._health: Data = {}
        self._merges: list[Data] = []
        self._seen = -1
        """The last event that is in all of these; -1 if nothing is known."""
        self._whole_at = 0.0

    async def read(self, *, fresh: bool = False) -> BoardData:
        """Return the present; raises like `PanelLink.get`.

        Args:
            fresh: Whether all is asked for: the feed may not yet know of what a page that is loaded now is to show.
        """
        async with self._turn:
            last, merged = self._feed.last, self._feed.merged > self._seen
            behind = fresh or self._seen < 0 or last < self._seen or self._feed.away
            old = self._clock.mono() - self._whole_at >= WHOLE_SECONDS
            changed = set() if behind or old else self._feed.changed_after(self._seen)
            fleet = "" in changed
            named = sorted(changed - {""})
            if behind or old or fleet or len(named) > MOST_CHANGED:
                await self._all()
            else:
                await self._some(named)
                if merged:
                    self._merges = await self._due()
            self._seen = last
            agents, orders = list(self._agents.values()), self._health["orders"]
            return BoardData(agents, self._waiting, self._costs, orders, self._merges, told_of(self._health))

    async def _all(self) -> None:
        self._seen = -1  # if one of these fails, all are asked for again
        rows = await self._link.get("/v1/agents", recent="true")
        known = self._agents
        self._agents = {str(row["agent"]): _same(known.get(str(row["agent"])), row) for row in rows}
        self._whole_at = self._clock.mono()
        self._waiting = await self._link.get("/v1/approvals")
        self._costs = await self._link.get("/v1/costs")
        self._health = await self._link.get("/v1/health")
        self._merges = await self._due()

    async def _due(self) -> list[Data]:
        return [one for one in await self._link.get("/v1/merges") if one["phase"] in DUE]

    async def _some(self, names: list[str]) -> None:
        if not names:
            return
        before = {name: self._agents.get(name, {}) for name in names}
        rows = await self._link.get("/v1/agents", recent="true", name=names)
        found = {str(row["agent"]): row for row in rows}
        for name in names:
            if name in found:
                self._agents[name] = _same(self._agents.get(name), found[name])
            else:
                self._agents.pop(name, None)
        if any(row.get("waiting") or before.get(name, {}).get("waiting") for name, row in found.items()):
            self._waiting = await self._link.get("/v1/approvals")
        if any(row.get("cost_usd") != before.get(name, {}).get("cost_usd") for name, row in found.items()):
            self._costs = await self._link.get("/v1/costs")


def _same(known: Data | None, row: Mapping[str, object]) -> Data:
    """Return the row that is known already, if the new one is equal."""
    return known if known is not None and known == row else row
