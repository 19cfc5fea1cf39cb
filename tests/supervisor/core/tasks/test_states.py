import pytest

from supervisor.core.tasks.states import TABLE, IllegalTaskStepError, draw_tasks, take_step
from supervisor.protocol.tasks import TaskState, TaskStep


def reachable(begin: TaskState) -> set[TaskState]:
    known: set[TaskState] = set()
    waiting = [begin]
    while waiting:
        state = waiting.pop()
        if state not in known:
            known.add(state)
            waiting += TABLE[state].values()
    return known


def test_every_state_is_in_the_table_and_can_be_reached() -> None:
    assert set(TABLE) == set(TaskState) == reachable(TaskState.PENDING)


def test_every_step_is_taken_somewhere() -> None:
    assert {step for steps in TABLE.values() for step in steps} == set(TaskStep)


@pytest.mark.parametrize("state", [state for state in TaskState if state.held])
def test_a_task_that_a_run_has_can_always_be_given_back_parked_and_cancelled(state: TaskState) -> None:
    assert {TaskStep.GIVE_BACK, TaskStep.PARK, TaskStep.FAIL, TaskStep.CANCEL} <= TABLE[state].keys()


def test_only_a_claim_brings_a_task_to_an_agent() -> None:
    into = {
        (before, step)
        for before, steps in TABLE.items()
        for step, after in steps.items()
        if after.held and not before.held
    }
    assert into == {(TaskState.PENDING, TaskStep.CLAIM), (TaskState.PARKED, TaskStep.MERGE)}


def test_a_step_that_is_not_in_the_table_is_refused_with_what_a_person_can_type() -> None:
    says = r"Task t-1 is failed and cannot be claimed.* now: chaperon task show t-1, chaperon task retry t-1, "
    with pytest.raises(IllegalTaskStepError, match=says):
        take_step("t-1", TaskState.FAILED, TaskStep.CLAIM)


def test_the_picture_has_every_step_of_the_table() -> None:
    picture = draw_tasks()
    for state, steps in TABLE.items():
        assert all(f"    {state} --> {after}: {step}" in picture for step, after in steps.items())
