"""Spending of all agents together, updated with their summaries: in total, by day, and by account; and its budgets."""

from dataclasses import dataclass, field
from typing import TypeVar

from monitors.contract.wording import dollars
from supervisor.core.fold.summary import Summary

N = TypeVar("N", int, float)


@dataclass(slots=True)
class AccountSpending:
    """The spending of one account's agents, by how many whole days of UTC passed since the beginning of 1970."""

    cost_usd: dict[int, float] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)
    """Of all kinds."""


@dataclass(frozen=True, slots=True)
class DayLimits:
    """The budgets of a day of UTC; None is no limit."""

    cost_usd: float | None = None
    """Over all agents."""
    tokens: int | None = None
    """The same, of all kinds."""
    account_cost_usd: float | None = None
    """Over the agents of one account."""
    account_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class DayBudget:
    """One budget of one day, and what of it is spent."""

    id: str
    """Its name with its size, for orders that follow from it. Example: `20779-cost-5`."""
    what: str
    """Its subject, for people."""
    spent: float
    most: float
    in_usd: bool

    @property
    def used_up(self) -> bool:
        """Whether nothing of it is left."""
        return self.spent >= self.most

    @property
    def sentence(self) -> str:
        """The spent part of it. Example: `$5.01 of $5.00`."""
        if self.in_usd:
            return f"{dollars(self.spent)} of {dollars(self.most)}"
        return f"{self.spent:,.0f} of {self.most:,.0f} tokens"


@dataclass(slots=True)
class _Counted:
    """The counted part of one live agent's spending."""

    tokens: dict[str, int] = field(default_factory=dict)
    days: dict[int, float] = field(default_factory=dict)
    costs: dict[str, dict[int, float]] = field(default_factory=dict)
    by_account: dict[str, dict[int, int]] = field(default_factory=dict)


class TotalCosts:
    """Totals over all agents, live and ended, of the state directory's whole life."""

    def __init__(self) -> None:
        self.cost_usd = 0.0
        self.by_day: dict[int, float] = {}
        """By how many whole days of UTC passed since the beginning of 1970."""
        self.tokens = {"input": 0, "cache_write": 0, "cache_read": 0, "output": 0}
        self.by_account: dict[str, AccountSpending] = {}
        """By the account's name; under an empty one that of agents of an older chaperon."""
        self._counted: dict[str, _Counted] = {}

    def tokens_of_day(self, day: int) -> int:
        """Return the tokens of all accounts on one day."""
        return sum(each.tokens.get(day, 0) for each in self.by_account.values())

    def day_budgets(self, limits: DayLimits, day: int, account: str) -> list[DayBudget]:
        """Return the budgets of a day that are set.

        Args:
            limits: The settings.
            day: How many whole days of UTC passed since the beginning of 1970.
            account: The account in force.
        """
        own = self.by_account.get(account, AccountSpending())
        each = (
            ("cost", "the budget of the day", self.by_day.get(day, 0.0), limits.cost_usd, True),
            ("tokens", "the budget of the day", self.tokens_of_day(day), limits.tokens, False),
            (f"cost-{account}", f"the day's budget of {account}", own.cost_usd.get(day, 0.0), limits.account_cost_usd, True),
            (f"tokens-{account}", f"the day's budget of {account}", own.tokens.get(day, 0), limits.account_tokens, False),
        )  # fmt: skip
        return [
            DayBudget(f"{day}-{name}-{most:g}", what, spent, most, in_usd)
            for name, what, spent, most, in_usd in each
            if most is not None
        ]

    def saw(self, summary: Summary) -> None:
        """Count the agent's spending since the last call for it."""
        counted = self._counted.get(summary.agent) or _Counted()
        now = summary.tokens_by_kind
        if counted.tokens == now and counted.days == summary.cost_by_day:
            return
        for kind, count in now.items():
            self.tokens[kind] += count - counted.tokens.get(kind, 0)
        for day, cost in summary.cost_by_day.items():
            more = cost - counted.days.get(day, 0.0)
            self.by_day[day] = round(self.by_day.get(day, 0.0) + more, 9)
            self.cost_usd = round(self.cost_usd + more, 9)
        for account, costs in summary.account_costs.items():
            _add(self._of(account).cost_usd, costs, counted.costs.get(account, {}))
        for account, tokens in summary.account_tokens.items():
            _add(self._of(account).tokens, tokens, counted.by_account.get(account, {}))
        self._counted[summary.agent] = _Counted(
            now, dict(summary.cost_by_day), _copied(summary.account_costs), _copied(summary.account_tokens)
        )

    def ended(self, summary: Summary) -> None:
        """Count what an agent has spent that has ended, which spends nothing more."""
        self.saw(summary)
        self._counted.pop(summary.agent, None)

    def _of(self, account: str) -> AccountSpending:
        return self.by_account.setdefault(account, AccountSpending())


def _add(totals: dict[int, N], now: dict[int, N], before: dict[int, N]) -> None:
    for day, spent in now.items():
        more = spent - before.get(day, 0)
        totals[day] = round(totals.get(day, 0) + more, 9)


def _copied(by_account: dict[str, dict[int, N]]) -> dict[str, dict[int, N]]:
    return {account: dict(days) for account, days in by_account.items()}
