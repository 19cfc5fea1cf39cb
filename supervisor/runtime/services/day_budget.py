"""The budget of a day over all agents: once it is used up, all are held, and go on when the day is over."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

import anyio

from monitors.contract.wording import dollars
from monitors.contract.words import Severity
from supervisor.core.fold.summary import DAY
from supervisor.protocol.kinds.orders import OrderControl, OrderGiven
from supervisor.runtime.log import log
from supervisor.runtime.services import orders
from supervisor.runtime.services.orders import OrderParts

LOOK_SECONDS = 2.0
"""Between two looks at what was spent: a call of the model takes about as long."""

BY = "chaperon"
"""The author of these orders."""

PREFIX = "day-budget-"
"""The beginning of their ids; the day and the budget follow."""


class BudgetParts(OrderParts, Protocol):
    """The parts of the daemon that the budget needs."""

    def wall(self) -> float:
        """Unix time in seconds."""
        ...

    def fault(
        self, agent: str, type_: str, summary: str, severity: Severity = Severity.HIGH, way_out: str = ""
    ) -> None:
        """Note an incident, of which people are told."""
        ...


class DayBudget:
    """Holds all agents while the budget of the day is used up.

    A person who resumes them meanwhile is obeyed: they are not held again for the same budget of the same day.

    Args:
        daemon: Gives the costs, and takes orders.
        most: Returns the budget in US dollars; None without one.
    """

    def __init__(self, daemon: BudgetParts, most: Callable[[], float | None]) -> None:
        self._daemon = daemon
        self._most = most

    async def run(self) -> None:
        """Look again and again."""
        while True:
            await self.look()
            await anyio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Hold the agents if the budget is used up, or let them go on if it is not any more."""
        standing, most = self._daemon.board.orders, self._most()
        day = int(self._daemon.wall() // DAY)
        spent = self._daemon.board.costs.by_day.get(day, 0.0)
        id_ = f"{PREFIX}{day}-{most:g}" if most is not None and spent >= most else ""
        held = next((pause for pause in standing.pauses.values() if pause.id.startswith(PREFIX)), None)
        if held is not None and held.id != id_:
            await self._give("resume", f"{held.id}-over-{self._daemon.journal.last}", "", lifts=held.id)
            log.info("the budget of the day holds agents no longer")
        if most is not None and id_ and id_ not in standing.given and "" not in standing.pauses:
            until = datetime.fromtimestamp((day + 1) * DAY, UTC).strftime("%Y-%m-%d %H:%M UTC")
            reason = f"the budget of the day is used up ({dollars(spent)} of {dollars(most)}), until {until}"
            await self._give("pause", id_, reason)
            what = f"All agents are held at their next call: {reason}. They go on by themselves then."
            way_out = "To go on now: chaperon resume --all, or raise resources.max_cost_per_day_usd."
            self._daemon.fault("", "budget_used_up", what, Severity.MEDIUM, way_out)

    async def _give(self, control: OrderControl, id_: str, reason: str, lifts: str = "") -> None:
        order = OrderGiven(**self._daemon.stamp(""), id=id_, control=control, by=BY, reason=reason, lifts=lifts)
        await orders.give(self._daemon, order)
