"""When a pause that a person asked for is carried out."""

import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.stages.session import Play, answers, lines


def pause(play: Play, *, at_turn_end: bool = False) -> None:
    play.feed(events.PauseRequested(**play.stamp(), by="ann", reason="lunch", at_turn_end=at_turn_end))


def resume(play: Play) -> None:
    play.feed(events.ResumeRequested(**play.stamp(), by="ann"))


def state(play: Play) -> AgentState:
    assert play.session is not None
    return play.session.state


def test_an_agent_that_starts_is_held_at_its_first_call() -> None:
    play = Play()
    play.submit()
    pause(play)
    assert state(play) is AgentState.STARTING
    play.launched()
    play.taken("do it")
    play.init()
    assert state(play) is AgentState.PAUSED
    assert answers(play.call("ls")) == []


def test_why_it_is_held_names_the_person_and_the_reason() -> None:
    play = Play().running()
    pause(play)
    assert play.session is not None
    assert play.session.summary.why == "paused by ann: lunch"


def test_a_pause_at_the_turns_end_lets_the_turn_end_first() -> None:
    play = Play(keep_open=True).running()
    pause(play, at_turn_end=True)
    assert len(answers(play.call("ls"))) == 1
    assert state(play) is AgentState.RUNNING
    play.result()
    assert state(play) is AgentState.PAUSED


def test_a_task_that_ends_with_its_turn_ends_all_the_same() -> None:
    play = Play().running()
    pause(play, at_turn_end=True)
    play.result()
    assert state(play) is AgentState.FINISHING


def test_a_turn_that_follows_at_once_is_held_at_its_first_call() -> None:
    play = Play().running()
    pause(play, at_turn_end=True)
    play.result(queued_turn_count=1)
    assert state(play) is AgentState.PAUSED
    assert answers(play.call("ls")) == []


def test_a_pause_at_once_counts_over_an_earlier_one_at_the_turns_end() -> None:
    play = Play().running()
    pause(play, at_turn_end=True)
    pause(play)
    assert state(play) is AgentState.PAUSED


@pytest.mark.parametrize("at_turn_end", [False, True])
def test_a_pause_that_was_not_carried_out_yet_is_taken_back(at_turn_end: bool) -> None:
    play = Play()
    play.submit()
    pause(play, at_turn_end=at_turn_end)
    resume(play)
    play.launched()
    play.taken("do it")
    play.init()
    assert state(play) is AgentState.RUNNING
    assert len(answers(play.call("ls"))) == 1


def test_an_agent_that_is_resumed_is_not_held_again_by_the_same_pause() -> None:
    play = Play(keep_open=True).running()
    pause(play)
    resume(play)
    play.result()
    assert state(play) is AgentState.IDLE
    assert play.session is not None
    assert play.session.summary.pause is None
    assert lines(play.say("more"))
