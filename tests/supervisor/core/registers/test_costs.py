"""What all agents spent together."""

from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.core.registers.costs import AccountSpending, DayLimits, TotalCosts
from supervisor.core.registers.past import KnownEnd
from supervisor.protocol import events
from supervisor.protocol.claude.prices import Spent
from tests.stages.session import Play
from tests.supervisor.core.test_board import failed, play_of

DAY = 20_779


def spends(summary: Summary, cost: float, day: int = DAY) -> Summary:
    summary.spends(Spent(input=1, cache_write=2, cache_read=3, output=4, cost_usd=cost), day * 86_400.0)
    return summary


def made(agent: str) -> Summary:
    return Summary.of(play_of(agent))


def test_each_agent_counts_by_what_it_spent_since_it_was_counted_last() -> None:
    costs, one, other = TotalCosts(), made("a"), made("b")
    for each in (spends(one, 0.25), spends(other, 1.0), spends(one, 0.75, DAY + 1), one):
        costs.saw(each)
    assert costs.cost_usd == 1.75
    assert costs.by_day == {DAY: 1.25, DAY + 1: 0.5}
    assert costs.tokens == {"input": 2, "cache_write": 4, "cache_read": 6, "output": 8}


def test_agents_that_ended_stay_counted_and_one_of_a_snapshot_counts_once() -> None:
    board = Board(lambda submitted: Play().make(submitted))
    board.restore([KnownEnd(1, spends(made("old"), 0.5))])
    board.see(1, play_of("a"))
    result = {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.25}
    board.see(2, events.LineReceived(agent="a", at=DAY * 86_400.0, mono=1.0, end=1, frame=result))
    assert board.costs.cost_usd == 0.75
    board.see(3, failed("a"))
    assert (board.costs.cost_usd, board.costs.by_day) == (0.75, {DAY: 0.75})


def test_what_an_agent_spends_belongs_to_the_account_of_its_launch() -> None:
    costs, one = TotalCosts(), made("a")
    one.account = "login"
    costs.saw(spends(one, 0.25))
    one.account = "file:/key"
    one.spends(Spent(input=11, cache_write=2, cache_read=3, output=4, cost_usd=1.0), (DAY + 1) * 86_400.0)
    costs.saw(one)
    costs.ended(one)
    assert costs.by_account["login"] == AccountSpending({DAY: 0.25}, {DAY: 10})
    assert costs.by_account["file:/key"] == AccountSpending({DAY + 1: 0.75}, {DAY + 1: 10})
    assert (costs.tokens_of_day(DAY), costs.tokens_of_day(DAY + 1)) == (10, 10)


def test_a_budget_that_is_not_set_is_none_and_each_has_an_id_of_its_day_and_size() -> None:
    costs, one = TotalCosts(), made("a")
    one.account = "login"
    costs.saw(spends(one, 5.0))
    found = costs.day_budgets(DayLimits(cost_usd=5.0, account_tokens=11), DAY, "login")
    assert [(each.id, each.used_up) for each in found] == [(f"{DAY}-cost-5", True), (f"{DAY}-tokens-login-11", False)]
    assert [each.sentence for each in found] == ["$5.00 of $5.00", "10 of 11 tokens"]
    assert not any(
        each.spent for each in costs.day_budgets(DayLimits(cost_usd=5.0, account_tokens=11), DAY, "other")[1:]
    )
    assert costs.day_budgets(DayLimits(), DAY, "login") == []
