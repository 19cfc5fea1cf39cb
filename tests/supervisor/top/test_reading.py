"""Rows of the terminal's board."""

from typing import Any

from supervisor.top.reading import details, rows


def agent(name: str, **more: Any) -> dict[str, Any]:
    usual = {
        "state": "running",
        "ended_at": None,
        "why": "so",
        "reviews": {},
        "cost_usd": None,
        "task": {"prompt": "Do it"},
    }
    return {"agent": name, **usual, **more}


def test_who_waits_for_a_person_comes_first_with_what_it_asks_for() -> None:
    waiting = [{"agent": "b", "request_id": "1", "tool": "Bash", "input": {"command": "make"}, "why": "it builds"}]
    first, second = rows([agent("a"), agent("b")], [*waiting, {**waiting[0], "request_id": "2"}])
    assert (first.name, second.name) == ("b", "a")
    assert first.cells()[1] == "ASKS"
    assert first.now() == "Bash make"
    assert first.waiting is not None
    assert first.waiting["request_id"] == "1"
    assert any("it builds" in line for line in details(first))


def test_a_row_fits_eighty_columns_whatever_an_agent_is_called_or_does() -> None:
    (row,) = rows([agent("n" * 200, words="w" * 500, cost_usd=123456.0, reviews={"block": 10**6, "allow": 10**7})], [])
    assert sum(len(cell) + 2 for cell in row.cells()) <= 104
    assert "\n" not in "".join(row.cells())
