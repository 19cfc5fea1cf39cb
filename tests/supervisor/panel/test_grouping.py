"""Agents as a board has them."""

from typing import Any

import pytest

from supervisor.core.states import TABLE, Transition
from supervisor.panel.grouping import (
    GROUPS,
    MOST_ENDED,
    attention,
    grouped,
    labels_of,
    question,
    steps,
    verbs,
    with_label,
)
from supervisor.protocol.words import AgentState


def agent(state: str, **more: Any) -> dict[str, Any]:
    ended = 1.0 if AgentState(state).ended else None
    return {"agent": "a1", "state": state, "ended_at": ended, "why": "so", "reviews": {}, **more}


@pytest.mark.parametrize("state", AgentState)
def test_each_state_is_in_one_group(state: AgentState) -> None:
    assert [state in states for states in GROUPS.values()].count(True) == 1


@pytest.mark.parametrize("state", AgentState)
def test_what_a_state_refuses_is_not_offered(state: AgentState) -> None:
    offered = set(verbs(agent(state)))
    assert (Transition.PAUSE in TABLE[state]) >= ("pause" in offered and state not in ("starting", "finishing"))
    assert (Transition.RESUME in TABLE[state]) == ("resume" in offered)
    assert not (state.ended and offered)


def test_the_agents_that_ended_last_come_first_and_are_few() -> None:
    ended = [agent("done", ended_at=float(at)) for at in range(1, MOST_ENDED + 10)]
    found = grouped([*ended, agent("idle"), agent("running")])
    assert list(found) == ["At work", "Idle", "Ended"]
    assert [one["ended_at"] for one in found["Ended"]][:2] == [MOST_ENDED + 9.0, MOST_ENDED + 8.0]
    assert len(found["Ended"]) == MOST_ENDED


def test_a_state_of_a_newer_daemon_is_shown_with_those_at_work() -> None:
    assert list(grouped([{"agent": "a1", "state": "dreaming", "ended_at": None}])) == ["At work"]


def test_what_needs_a_look_is_told() -> None:
    assert attention(agent("running")) == ""
    assert "Nobody watches" in attention(agent("running", unwatched=True))
    assert attention(agent("running", api="overloaded")) == "overloaded"
    assert "error" in attention(agent("idle", failed=True))
    assert attention(agent("failed", failed=True)) == ""
    assert steps(agent("idle", reviews={"allow": 2, "block": 1})) == 3


def test_a_label_chooses_the_agents_that_have_it() -> None:
    agents: list[dict[str, Any]] = [{"task": {"labels": labels}} for labels in (["web", "ui"], [], ["docs"])]
    assert labels_of(one["task"]["labels"] for one in agents) == ("docs", "ui", "web")
    assert with_label(agents, "ui") == agents[:1]
    assert with_label(agents, "") == agents
    assert with_label(agents, "u") == []


WHICH = "I can use SQLite or PostgreSQL. Which of the two do you want? I need your decision before I go on."


@pytest.mark.parametrize(
    ("one", "asks"),
    [
        (agent("idle", words=WHICH), "Which of the two do you want?"),
        (agent("done", words="Done.", result=WHICH), "Which of the two do you want?"),
        (agent("done", result=WHICH, removed_at=2.0), ""),
        (agent("running", words=WHICH), ""),
        (agent("failed", words=WHICH), ""),
        (agent("done", result="See https://example.org/?page=2 for it."), ""),
        (agent("done", result=WHICH + " It works. " * 40), ""),
        (agent("done", result="All done."), ""),
    ],
)  # fmt: skip
def test_a_question_at_the_end_of_an_agents_words_is_one_to_a_person(one: dict[str, Any], asks: str) -> None:
    assert question(one) == asks
