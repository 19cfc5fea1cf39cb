"""Rows of the terminal's board."""

from typing import Any

from supervisor.top.reading import NEW, SETTLING_SECONDS, Shown, details, rows


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


def test_a_rollback_that_is_proposed_comes_before_all_but_what_an_agent_waits_for() -> None:
    proposal = {
        "checkpoint": "cp-7",
        "issue": "repetitive_errors",
        "sentence": "The same error 5 times. A rollback to cp-7.",
    }
    waiting = [{"agent": "w", "request_id": "1", "tool": "Bash", "input": {}, "why": "so"}]
    asks = agent("q", state="idle", words="Which one?")
    found = rows([agent("a"), asks, agent("p", proposed=[proposal]), agent("w", proposed=[proposal])], waiting)
    assert [(row.name, row.cells()[1], row.waits) for row in found] == [
        ("w", "ASKS", True),
        ("p", "ROLLBACK", True),
        ("q", "idle", True),
        ("a", "running", False),
    ]
    assert found[1].now() == "repetitive_errors: back to cp-7?"
    assert "The same error 5 times" in "\n".join(details(found[1]))


def test_a_row_fits_eighty_columns_whatever_an_agent_is_called_or_does() -> None:
    (row,) = rows([agent("n" * 200, words="w" * 500, cost_usd=123456.0, reviews={"block": 10**6, "allow": 10**7})], [])
    assert sum(len(cell) + 2 for cell in row.cells()) <= 104
    assert "\n" not in "".join(row.cells())


def test_who_asks_something_or_has_work_to_merge_comes_before_the_rest_with_the_way_to_go_on() -> None:
    merge = {"id": "m", "phase": "parked", "branch": "chaperon/m", "target": "main", "commits": 1, "files": 2}
    merges = [{**merge, "why": "main and it disagree in 1 file"}, {**merge, "id": "a", "phase": "merged"}]
    done = {"state": "done", "ended_at": 1.0}
    agents = [agent("a"), agent("q", **done, result="Which one do you want?"), agent("m", **done, result="Renamed.")]
    found = rows(agents, [], merges)
    assert [(row.name, row.waits) for row in found] == [("q", True), ("m", True), ("a", False)]
    assert [row.cells()[1] for row in found] == ["done", "MERGE", "running"]
    assert found[0].now() == "Which one do you want?"
    told = "\n".join(details(found[1]))
    assert "chaperon/m into main: 1 commit, 2 files" in told
    assert "disagree in 1 file" in told
    assert "chaperon merge m" in told


def test_what_came_under_the_cursor_by_itself_is_new_for_a_moment_and_what_a_person_moved_to_is_not() -> None:
    now = [0.0]

    def new_after(asked: tuple[str, str] | None, seconds: float = 0.0) -> bool:
        there.refreshed(asked)
        now[0] += seconds
        return there.is_new

    there = Shown(lambda: now[0])
    assert not new_after(("a", "")), "nothing of it is to be answered"
    assert new_after(("a", "1"))
    assert not new_after(("a", "1"), SETTLING_SECONDS), "it stands there"
    there.moved(("b", "2"))
    assert not new_after(("b", "2"))
    assert new_after(("a", "1")), "the other agent's row went"


def test_what_came_just_now_says_so() -> None:
    waiting = [{"agent": "a", "request_id": "1", "tool": "Bash", "input": {"command": "make"}, "why": "it builds"}]
    (row,) = rows([agent("a")], waiting)
    assert row.asked == ("a", "1")
    assert NEW in details(row, is_new=True)
    assert NEW not in details(row)
