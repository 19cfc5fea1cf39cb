"""The budgets of a day, over all agents and of the account: once one is used up, all are held until the day is over."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import anyio

from monitors.contract.words import Severity
from supervisor.core.fold.summary import DAY
from supervisor.core.registers.costs import DayBudget, DayLimits
from supervisor.core.tasks.queue import AccountFacts
from supervisor.protocol.kinds.orders import OrderControl, OrderGiven
from supervisor.runtime.daemon.usage_turns import UsageTurns, utc
from supervisor.runtime.daemon_parts import FaultParts, TimeParts
from supervisor.runtime.log import log
from supervisor.runtime.services.people import orders
from supervisor.runtime.services.people.orders import OrderParts

LOOK_SECONDS = 2.0
"""Between two looks at what was spent: a call of the model takes about as long."""

BY = "chaperon"
"""The author of these orders."""

PREFIX = "day-budget-"
"""The beginning of their ids; that of the budget follows."""

KEYS = "resources.max_cost_per_day_usd, max_tokens_per_day, max_account_cost_per_day_usd and max_account_tokens_per_day"
"""The keys of the configuration that set budgets of a day."""


class BudgetParts(OrderParts, TimeParts, FaultParts, Protocol):
    """The parts of the daemon that the budgets need."""

    usage_turns: UsageTurns
    """Agents that wait for a usage limit to end."""

    @property
    def account(self) -> str:
        """The account in force."""
        ...


def account_facts(daemon: BudgetParts) -> AccountFacts:
    """Return the limits of the account in force: a budget or a usage limit of it holds stored tasks."""
    board, account = daemon.board, daemon.account
    pause = next((each for each in board.orders.pauses.values() if each.id.startswith(PREFIX)), None)
    others = {one.agent for one in board.at_work() if one.account not in ("", account)}
    return AccountFacts(pause.reason if pause is not None else daemon.usage_turns.reason(account), others)


class Budgets:
    """Holds all agents while a budget of the day is used up, and lets those go on whose usage limit is over.

    A person who resumes agents that a budget holds is obeyed: they are not held again for the same one of the same day.

    Args:
        daemon: Gives the spending, and takes orders.
        limits: Returns the budgets.
        has_another: Whether another credential is about to be taken because the one in force is at a limit; the account
            in force then holds no agent.
    """

    def __init__(
        self,
        daemon: BudgetParts,
        limits: Callable[[], DayLimits],
        has_another: Callable[[], bool] = lambda: False,
    ) -> None:
        self._daemon = daemon
        self._limits = limits
        self._has_another = has_another

    async def run(self) -> None:
        """Look again and again."""
        while True:
            self._daemon.usage_turns.look()
            await self.look()
            await anyio.sleep(LOOK_SECONDS)

    def known(self) -> list[DayBudget]:
        """The budgets of today that are set."""
        return self._budgets(self._limits())

    def _budgets(self, limits: DayLimits) -> list[DayBudget]:
        return self._daemon.board.costs.day_budgets(limits, int(self._daemon.wall() // DAY), self._daemon.account)

    async def look(self) -> None:
        """Hold the agents if a budget is used up, or let them go on if none is any more."""
        standing = self._daemon.board.orders
        used_up = {f"{PREFIX}{each.id}": each for each in self.known() if each.used_up}
        held = next((pause for pause in standing.pauses.values() if pause.id.startswith(PREFIX)), None)
        if held is not None and held.id not in used_up:
            await self._give("resume", f"{held.id}-over-{self._daemon.journal.last}", "", lifts=held.id)
            log.info("the budget of the day holds agents no longer")
        counted = set(used_up)
        if self._has_another():
            of_all = replace(self._limits(), account_cost_usd=None, account_tokens=None)
            counted = {f"{PREFIX}{each.id}" for each in self._budgets(of_all)}
        due = next((id_ for id_ in used_up if id_ in counted and id_ not in standing.given), "")
        if due and "" not in standing.pauses:
            midnight = (int(self._daemon.wall() // DAY) + 1) * DAY
            reason = f"{used_up[due].what} is used up ({used_up[due].sentence}), until {utc(midnight)}"
            await self._give("pause", due, reason)
            what = f"All agents are held at their next call: {reason}. They go on by themselves then."
            way_out = f"To go on now: chaperon resume --all, or raise what is set of {KEYS}."
            self._daemon.fault("", "budget_used_up", what, Severity.MEDIUM, way_out)

    async def _give(self, control: OrderControl, id_: str, reason: str, lifts: str = "") -> None:
        order = OrderGiven(**self._daemon.stamp(""), id=id_, control=control, by=BY, reason=reason, lifts=lifts)
        await orders.give(self._daemon, order)
