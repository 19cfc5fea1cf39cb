"""Agents that crash whatever their task, told apart from agents that fail each for its own reason."""

from collections.abc import Sequence

import pytest

from supervisor.core.fold.summary import Summary
from supervisor.core.tasks.breaker import CRASHES, SECONDS, all_crash
from supervisor.protocol.words import AgentState
from tests.supervisor.core.test_board import play_of

NOW = 10_000.0


def agent(number: int, task: str, state: AgentState = AgentState.FAILED) -> Summary:
    made = Summary.of(play_of(f"a{number}"))
    made.stored_task, made.state, made.ended_at, made.why = task, state, NOW - 100 + number, f"it ended {number}"
    return made


def crashes(*tasks: str) -> list[Summary]:
    return [agent(number, task) for number, task in enumerate(tasks)]


def turn_failed(agents: Sequence[Summary]) -> Sequence[Summary]:
    agents[-1].failed = True
    return agents


def test_five_crashes_in_a_row_of_three_tasks_have_one_cause() -> None:
    assert all_crash(crashes("t-1", "t-2", "t-3", "t-1", "t-2"), NOW) == (
        "the last 5 agents crashed, of 3 tasks; the last one: it ended 4"
    )
    lost = [agent(number, f"t-{number}", AgentState.LOST) for number in range(CRASHES)]
    assert all_crash(lost, NOW)


@pytest.mark.parametrize(
    "agents",
    [
        crashes("t-1", "t-2", "t-3", "t-4"),
        crashes("t-1", "t-2", "t-1", "t-2", "t-1"),
        [*crashes("t-1", "t-2", "t-3", "t-4"), agent(9, "t-5", AgentState.DONE)],
        [*crashes("t-1", "t-2", "t-3", "t-4"), agent(9, "t-5", AgentState.STOPPED)],
        turn_failed(crashes("t-1", "t-2", "t-3", "t-4", "t-5")),
        crashes("t-1", "t-2", "t-3", "t-4", ""),
    ],
    ids=["four", "two tasks", "one was done", "one was stopped", "a turn failed", "one has no stored task"],
)
def test_what_may_have_a_cause_of_its_own_breaks_nothing(agents: list[Summary]) -> None:
    assert all_crash(agents, NOW) == ""


def test_crashes_that_lie_far_apart_break_nothing() -> None:
    agents = crashes("t-1", "t-2", "t-3", "t-4", "t-5")
    assert all_crash(agents, NOW + SECONDS - 50) == ""
