import pytest

from supervisor.core.decisions.stop_sequence import StopSequence
from supervisor.protocol.words import StopStep


def steps_after(first: StopStep) -> list[tuple[StopStep, float]]:
    sequence, found, step = StopSequence(1, 2, 4, 8), [], first
    while following := sequence.after(step):
        found.append(following)
        step = following[0]
    return found


def test_the_gentle_way_asks_before_it_makes() -> None:
    assert steps_after(StopStep.INTERRUPT) == [(StopStep.END_OF_INPUT, 1), (StopStep.TERMINATE, 2), (StopStep.KILL, 4)]


def test_in_a_hurry_the_end_follows_the_freeze() -> None:
    assert steps_after(StopStep.FREEZE) == [(StopStep.KILL, 8)]


@pytest.mark.parametrize("step", StopStep)
def test_every_way_ends_with_a_kill_behind_which_nothing_comes(step: StopStep) -> None:
    assert [step, *(after for after, _ in steps_after(step))][-1] is StopStep.KILL
