"""Spending of all agents together, updated with their summaries: in total, and by day."""

from supervisor.core.fold.summary import Summary


class TotalCosts:
    """Totals over all agents, live and ended, of the state directory's whole life."""

    def __init__(self) -> None:
        self.cost_usd = 0.0
        self.by_day: dict[int, float] = {}
        """By how many whole days of UTC passed since the beginning of 1970."""
        self.tokens = {"input": 0, "cache_write": 0, "cache_read": 0, "output": 0}
        self._counted: dict[str, tuple[dict[str, int], dict[int, float]]] = {}
        """The counted part of each live agent's spending."""

    def saw(self, summary: Summary) -> None:
        """Count the agent's spending since the last call for it."""
        tokens, days = self._counted.get(summary.agent, ({}, {}))
        now = summary.tokens_by_kind
        if tokens == now and days == summary.cost_by_day:
            return
        for kind, count in now.items():
            self.tokens[kind] += count - tokens.get(kind, 0)
        for day, cost in summary.cost_by_day.items():
            more = cost - days.get(day, 0.0)
            self.by_day[day] = round(self.by_day.get(day, 0.0) + more, 9)
            self.cost_usd = round(self.cost_usd + more, 9)
        self._counted[summary.agent] = (now, dict(summary.cost_by_day))

    def ended(self, summary: Summary) -> None:
        """Count what an agent has spent that has ended, which spends nothing more."""
        self.saw(summary)
        self._counted.pop(summary.agent, None)
