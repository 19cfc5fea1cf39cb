"""The budgets of a day, over all agents and of an account, and the turns of agents at a usage limit."""

import pytest

from supervisor.core.fold.summary import DAY
from supervisor.core.registers.costs import AccountSpending, DayLimits
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.services import budgets
from supervisor.runtime.services.budgets import Budgets
from tests.stages.daemon import Base, ended, reached, served, until

WAITS = "begin()\nwhile True:\n    hear()"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon's own budgets, of which none is set, look once and not again."""
    monkeypatch.setattr(budgets, "LOOK_SECONDS", 3_600.0)


class Money:
    """A budget, and what was spent today."""

    def __init__(self, daemon: Daemon, most: float) -> None:
        self.most: float | None = most
        self.budget = Budgets(daemon, lambda: DayLimits(cost_usd=self.most))


@pytest.mark.usefixtures("alone")
async def test_all_agents_are_held_while_the_budget_is_used_up_and_go_on_by_themselves_the_next_day(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        money = Money(daemon, 5.0)
        for name in ("a1", "own"):
            await daemon.submit(base.submission(name=name), by="test")
            await reached(daemon, AgentState.RUNNING, name)
        await daemon.request(events.PauseRequested(**daemon.stamp("own"), by="ann"))
        day = int(daemon.wall() // DAY)
        daemon.board.costs.by_day[day] = 4.99
        await money.budget.look()
        assert daemon.board.summary("a1").state is AgentState.RUNNING
        daemon.board.costs.by_day[day] = 5.01
        await money.budget.look()
        await money.budget.look()
        known = daemon.board.summary("a1")
        assert known.state is AgentState.PAUSED
        assert "the budget of the day is used up ($5.01 of $5.00)" in known.why
        await daemon.submit(base.submission(name="late"), by="test")
        await reached(daemon, AgentState.PAUSED, "late")
        assert [each["type"] for each in base.incidents() if each["type"] == "budget_used_up"] == ["budget_used_up"]
        monkeypatch.setattr(daemon, "wall", lambda: (day + 1) * DAY + 1.0)
        await money.budget.look()
        assert daemon.board.summary("a1").state is AgentState.RUNNING
        assert daemon.board.summary("late").state is AgentState.RUNNING
        assert daemon.board.summary("own").state is AgentState.PAUSED, "a person holds it for a reason of their own"
        assert daemon.board.orders.pauses == {}


@pytest.mark.usefixtures("alone")
async def test_a_person_who_resumes_them_is_obeyed_and_a_higher_budget_lets_them_go_on(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        money = Money(daemon, 5.0)
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        daemon.board.costs.by_day[int(daemon.wall() // DAY)] = 6.0
        await money.budget.look()
        assert daemon.board.summary("a1").state is AgentState.PAUSED
        await client.post("/v1/orders/resume")
        await money.budget.look()
        assert daemon.board.summary("a1").state is AgentState.RUNNING
        money.most = 5.5
        await money.budget.look()
        assert daemon.board.summary("a1").state is AgentState.PAUSED
        money.most = None
        await money.budget.look()
        assert daemon.board.summary("a1").state is AgentState.RUNNING


SPENDS = """
begin()
say({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "num_turns": 1, "total_cost_usd": 7.5})
hear()
"""


async def test_what_a_real_run_costs_counts_and_the_configured_budget_holds_the_next_agent(base: Base) -> None:
    base.config["resources"] = {"max_cost_per_day_usd": 5.0}
    base.cli(SPENDS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="first"), by="test")
        await ended(daemon, "first")
        base.cli(WAITS)
        await until(lambda: bool(daemon.board.orders.pauses))
        await daemon.submit(base.submission(name="second"), by="test")
        await reached(daemon, AgentState.PAUSED, "second")


@pytest.mark.usefixtures("alone")
async def test_tokens_count_over_all_and_by_account_and_another_account_has_a_budget_of_its_own(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        limits = DayLimits(account_tokens=1_000, tokens=10_000)
        budget, day = Budgets(daemon, lambda: limits), int(daemon.wall() // DAY)
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        daemon.board.costs.by_account["file:/other"] = AccountSpending(tokens={day: 8_999})
        await budget.look()
        assert daemon.board.summary("a1").state is AgentState.RUNNING, "another account spent it"
        daemon.board.costs.by_account[daemon.account] = AccountSpending(tokens={day: 1_000})
        await budget.look()
        known = daemon.board.summary("a1")
        assert known.state is AgentState.PAUSED
        assert f"the day's budget of {daemon.account} is used up (1,000 of 1,000 tokens)" in known.why
        shown = (await client.get("/v1/budgets")).json()
        assert known.account == daemon.account
        assert [(row["account"], row["in_force"], row["tokens"]) for row in shown["accounts"]] == [
            (daemon.account, True, 1_000),
            ("file:/other", False, 8_999),
        ]
        assert "used up" in shown["holds"], "no stored task is begun either"
        await client.post("/v1/orders/resume")
        await budget.look()
        assert daemon.board.summary("a1").state is AgentState.RUNNING, "a person is obeyed"
        daemon.board.costs.by_account[daemon.account].tokens[day] = 1_001
        await budget.look()
        assert "the budget of the day is used up (10,000 of 10,000 tokens)" in daemon.board.summary("a1").why, (
            "which is another budget"
        )


@pytest.mark.usefixtures("alone")
async def test_an_account_that_is_about_to_be_replaced_holds_nobody_and_the_budget_of_all_does(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        day = int(daemon.wall() // DAY)
        daemon.board.costs.by_account[daemon.account] = AccountSpending(cost_usd={day: 9.0})
        daemon.board.costs.by_day[day] = 9.0
        limits = [DayLimits(account_cost_usd=5.0)]
        budget = Budgets(daemon, lambda: limits[0], lambda: True)
        await budget.look()
        assert daemon.board.orders.pauses == {}
        limits[0] = DayLimits(account_cost_usd=5.0, cost_usd=8.0)
        await budget.look()
        assert len(daemon.board.orders.pauses) == 1
