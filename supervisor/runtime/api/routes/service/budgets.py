"""The routes of spending: of all agents, and of the day's budgets, with who waits for a usage limit to end."""

from datetime import UTC, datetime
from typing import Protocol

from fastapi import FastAPI
from pydantic import BaseModel

from supervisor.core.fold.summary import DAY, Summary
from supervisor.runtime.daemon.usage_turns import UsageTurn, utc
from supervisor.runtime.daemon_parts import BoardParts, TimeParts
from supervisor.runtime.services.budgets import BudgetParts, Budgets, account_facts
from supervisor.runtime.services.credentials import Credentials


class BudgetRow(BaseModel):
    """One budget of the day."""

    what: str
    spent: float
    """In US dollars or tokens."""
    most: float
    in_usd: bool
    used_up: bool
    sentence: str


class AccountRow(BaseModel):
    """One account, and what its agents spent today."""

    account: str
    """Its name: the place of its credential."""
    in_force: bool
    """Whether it pays for agents that are launched now."""
    cost_usd: float
    tokens: int
    agents: int
    """Its agents that have not ended."""
    notices: list[str]
    """Notices of the CLI about its usage limits."""
    passed_over: str = ""
    """Why it pays for nothing now, if it is one of `agent.credentials`; empty if it may."""


class BudgetsResponse(BaseModel):
    """Budgets, accounts and waits."""

    accounts: list[AccountRow]
    budgets: list[BudgetRow]
    waiting: list[UsageTurn]
    """The agents that wait for a usage limit to end, in the order in which they go on."""
    holds: str
    """Why no stored task is begun for the account in force now; empty if it may be."""


class CostsResponse(BaseModel):
    """Spending of all agents, live and ended."""

    total_usd: float
    """In US dollars, as the CLI says it, with an estimate of what it has not counted yet."""
    today_usd: float
    """Since midnight of UTC."""
    by_day: dict[str, float]
    """By day of UTC. Example: `2026-11-22`."""
    tokens: dict[str, int]
    """By kind: `input`, `cache_write`, `cache_read` and `output`."""


class CostParts(BoardParts, TimeParts, Protocol):
    """The parts of the daemon that the route of costs needs."""


def cost_routes(api: FastAPI, daemon: CostParts) -> None:
    """Add the route of costs."""

    @api.get("/v1/costs")
    async def costs() -> CostsResponse:
        """Return the spending of all agents, in total and by day."""
        spent = daemon.board.costs
        today = int(daemon.wall() // DAY)
        by_day = {
            datetime.fromtimestamp(day * DAY, UTC).date().isoformat(): cost
            for day, cost in sorted(spent.by_day.items())
        }
        return CostsResponse(
            total_usd=spent.cost_usd, today_usd=spent.by_day.get(today, 0.0), by_day=by_day, tokens=dict(spent.tokens)
        )


def budget_routes(api: FastAPI, daemon: BudgetParts, budgets: Budgets, credentials: Credentials) -> None:
    """Add it."""

    @api.get("/v1/budgets")
    async def of_today() -> BudgetsResponse:
        """Return the budgets of the day, spending by account, and agents that wait for a usage limit."""
        day = int(daemon.wall() // DAY)
        spent = daemon.board.costs.by_account
        live = [one for one in daemon.board.at_work() if one.account]
        names = dict.fromkeys((daemon.account, *credentials.accounts(), *(one.account for one in live)))
        names |= {name: None for name, each in spent.items() if name and (day in each.tokens or day in each.cost_usd)}
        rows = [
            AccountRow(
                account=name,
                in_force=name == daemon.account,
                cost_usd=spent[name].cost_usd.get(day, 0.0) if name in spent else 0.0,
                tokens=spent[name].tokens.get(day, 0) if name in spent else 0,
                agents=sum(one.account == name for one in live),
                notices=sorted({_notice(one) for one in live if one.account == name and one.limit}),
                passed_over=credentials.passed_over(name),
            )
            for name in names
        ]
        known = [
            BudgetRow(
                what=each.what,
                spent=each.spent,
                most=each.most,
                in_usd=each.in_usd,
                used_up=each.used_up,
                sentence=each.sentence,
            )
            for each in budgets.known()
        ]
        return BudgetsResponse(
            accounts=rows, budgets=known, waiting=daemon.usage_turns.waiting(), holds=account_facts(daemon).holds
        )


def _notice(known: Summary) -> str:
    until = f", until {utc(known.limit_resets_at)}" if known.limit_resets_at is not None else ""
    return f"{known.limit}{until}"
