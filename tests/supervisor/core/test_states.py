from contextlib import suppress

import pytest

from monitors.contract.errors import IllegalStepError
from supervisor.core.decisions.validation import refuse_illegal
from supervisor.core.states import COMMANDS, TABLE, Transition, draw, take
from supervisor.protocol import events
from supervisor.protocol.kinds.stamp import EventStamp
from supervisor.protocol.words import AgentState


def reachable(begin: AgentState) -> set[AgentState]:
    known: set[AgentState] = set()
    waiting = [begin]
    while waiting:
        state = waiting.pop()
        if state not in known:
            known.add(state)
            waiting += TABLE[state].values()
    return known


def test_every_state_is_in_the_table_and_can_be_reached() -> None:
    assert set(TABLE) == set(AgentState) == reachable(AgentState.STARTING)


@pytest.mark.parametrize("state", AgentState)
def test_a_state_ends_exactly_where_no_step_leads_on(state: AgentState) -> None:
    assert state.ended == (not TABLE[state])


@pytest.mark.parametrize("state", [state for state in AgentState if not state.ended])
def test_from_every_living_state_an_agent_can_end_and_vanish(state: AgentState) -> None:
    assert any(after.ended for after in reachable(state))
    assert take("a1", state, Transition.VANISH) is AgentState.LOST


def test_a_step_that_is_not_in_the_table_is_refused_with_what_a_person_can_type() -> None:
    with pytest.raises(IllegalStepError, match=r"'a1' is paused and cannot finish.*can do now: chaperon resume a1, "):
        take("a1", AgentState.PAUSED, Transition.FINISH)


STAMP: EventStamp = {"agent": "a1", "at": 1.0, "mono": 1.0}
ASKED: dict[str, events.AnyEvent] = {
    "say": events.SayRequested(**STAMP, id="1", text="x", by="ann"),
    "pause": events.PauseRequested(**STAMP, by="ann"),
    "resume": events.ResumeRequested(**STAMP, by="ann"),
    "stop": events.StopRequested(**STAMP, by="ann"),
}


@pytest.mark.parametrize("state", AgentState)
def test_the_commands_that_a_refusal_names_are_those_that_the_state_allows(state: AgentState) -> None:
    allowed = set()
    for command, request in ASKED.items():
        with suppress(IllegalStepError):
            refuse_illegal("a1", state, request)
            allowed.add(command)
    assert {command.split()[1] for command in COMMANDS[state]} & ASKED.keys() == allowed


def test_an_agent_that_ended_can_nothing_more() -> None:
    with pytest.raises(IllegalStepError, match="It has ended"):
        take("a1", AgentState.DONE, Transition.STOP)


def test_the_picture_has_every_step_of_the_table() -> None:
    picture = draw()
    for state, steps in TABLE.items():
        for step, after in steps.items():
            assert f"    {state} --> {after}: {step}" in picture
        assert (f"{state} --> [*]" in picture) == state.ended
