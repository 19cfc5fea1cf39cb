"""`chaperon budgets` shows accounts, budgets and turns, as words and as JSON."""

from supervisor.cli.commands.agents.budgets import budget_lines

KNOWN = {
    "accounts": [
        {"account": "login", "in_force": True, "cost_usd": 1.5, "tokens": 12_000, "agents": 2, "notices": ["near\x1b[0m"]},
        {"account": "file:/k", "in_force": False, "cost_usd": 0.0, "tokens": 0, "agents": 0, "notices": []},
    ],
    "budgets": [{"what": "the budget of the day", "sentence": "$1.50 of $1.00", "used_up": True}],
    "waiting": [
        {"agent": "a1", "priority": 5, "due": True, "until": 1.0},
        {"agent": "a2", "priority": 0, "due": False, "until": 86_400.0 * 3},
    ],
    "holds": "agents go first",
}  # fmt: skip


def test_each_account_budget_and_turn_has_its_line_and_nothing_steers_the_terminal() -> None:
    shown = "\n".join(budget_lines(KNOWN))
    assert "account login, which pays for agents that start now\n  today $1.50 and 12,000 tokens, 2 agents" in shown
    assert "account file:/k\n" in shown
    assert "the budget of the day: $1.50 of $1.00, used up" in shown
    assert "turn 1: a1, priority 5, goes on in its turn" in shown
    assert "turn 2: a2, priority 0, waits until 1970-01-0" in shown
    assert "No stored task is begun: agents go first" in shown
    assert "\x1b" not in shown


def test_without_budgets_it_says_where_they_are_set() -> None:
    assert "No budget is set" in "\n".join(budget_lines({**KNOWN, "budgets": [], "waiting": [], "holds": ""}))
