"""When another turn is to be expected."""

import pytest

from supervisor.core.fold.conversation.turns import Turns
from supervisor.protocol.claude.messages import BackgroundTask, Result, parse_frame
from supervisor.protocol.words import AgentState


def result() -> Result:
    message = parse_frame({"type": "result", "subtype": "success", "is_error": False, "result": "Done."})
    assert isinstance(message, Result)
    return message


def work(status: str, kind: str = "local_agent") -> BackgroundTask:
    return BackgroundTask(task_id="b1", status=status, task_type=kind)


def test_a_message_that_no_turn_took_is_owed_one_until_it_has_settled() -> None:
    turns = Turns()
    turns.sent("m1", "and the tests")
    owed = [turns.owed]
    turns.ended = result()
    owed.append(turns.owed)
    turns.settled()
    owed.append(turns.owed)
    turns.sent("m2", "hello?")
    owed.append(turns.owed)
    assert owed == [False, True, False, True], "the turn that goes on may take it; a new message is waited for anew"


@pytest.mark.parametrize("how", ["taken", "prompted"])
def test_a_message_that_was_taken_owes_nothing_and_is_not_carried_over(how: str) -> None:
    turns = Turns()
    turns.sent("m1", "and the tests", by_a_person=True)
    turns.taken("m1") if how == "taken" else turns.prompted("and the tests")
    turns.ended = result()
    assert not turns.owed
    assert turns.said == {}


def test_of_two_messages_that_say_the_same_each_is_taken_by_itself() -> None:
    turns = Turns()
    turns.sent("m1", "go on", by_a_person=True)
    turns.sent("m2", "go on", by_a_person=True)
    turns.prompted("go on")
    assert turns.said == {"m2": "go on"}


def test_work_that_has_ended_wakes_the_model() -> None:
    turns = Turns()
    turns.work(work("started"))
    turns.ended = result()
    assert (turns.background, turns.owed) == ({"b1"}, False)
    turns.work(work("completed"))
    assert (turns.background, turns.owed) == (set(), True)
    turns.began(AgentState.RUNNING)
    turns.ended = result()
    assert not turns.owed


@pytest.mark.parametrize("task", [work("started", "local_bash"), work("completed")])
def test_commands_of_calls_and_work_that_never_began_are_not_waited_for(task: BackgroundTask) -> None:
    turns = Turns()
    turns.work(task)
    turns.ended = result()
    assert (turns.background, turns.owed) == (set(), False)


def test_a_command_in_the_background_is_awaited_for_a_while_and_its_end_wakes_the_model() -> None:
    turns = Turns()
    turns.commands_run(frozenset({"b1", "b2"}))
    turns.forsake()
    turns.ended = result()
    assert turns.commands_awaited, "the time of an earlier turn does not count"
    turns.commands_run(frozenset({"b2"}))
    assert (turns.commands_awaited, turns.owed) == (True, True)
    turns.began(AgentState.RUNNING)
    turns.ended = result()
    turns.forsake()
    assert (turns.commands_awaited, turns.owed) == (False, False)


def test_what_ended_before_results_were_told_was_told_with_them() -> None:
    turns = Turns()
    turns.commands_run(frozenset({"b1"}))
    turns.commands_run(frozenset())
    turns.results_told()
    turns.ended = result()
    assert not turns.owed


def test_a_run_is_finished_once_its_turn_has_ended_and_nothing_starts_another() -> None:
    turns = Turns()
    finished = [turns.finished]
    turns.ended = result()
    finished.append(turns.finished)
    turns.sent("m1", "one more thing")
    finished.append(turns.finished)
    turns.taken("m1")
    finished.append(turns.finished)
    assert finished == [False, True, False, False]


def test_a_run_is_not_finished_while_a_command_in_the_background_may_wake_the_model() -> None:
    turns = Turns()
    turns.ended = result()
    turns.commands_run(frozenset({"b1"}))
    finished = [turns.finished]
    turns.forsake()
    assert [*finished, turns.finished] == [False, True]


def test_an_agent_that_waits_to_be_told_more_has_finished_until_it_is() -> None:
    turns = Turns()
    turns.ended = result()
    turns.entered(AgentState.IDLE)
    finished = [turns.finished]
    turns.sent("m1", "more")
    assert [*finished, turns.finished] == [True, False]
