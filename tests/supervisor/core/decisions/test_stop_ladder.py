import pytest

from supervisor.core.decisions.stop_ladder import StopLadder
from supervisor.protocol.words import Rung


def climbed(first: Rung) -> list[tuple[Rung, float]]:
    ladder, found, rung = StopLadder(1, 2, 4, 8), [], first
    while following := ladder.after(rung):
        found.append(following)
        rung = following[0]
    return found


def test_the_gentle_way_asks_before_it_makes() -> None:
    assert climbed(Rung.INTERRUPT) == [(Rung.END_OF_INPUT, 1), (Rung.TERMINATE, 2), (Rung.KILL, 4)]


def test_in_a_hurry_the_end_follows_the_freeze() -> None:
    assert climbed(Rung.FREEZE) == [(Rung.KILL, 8)]


@pytest.mark.parametrize("rung", Rung)
def test_every_way_ends_with_a_kill_behind_which_nothing_comes(rung: Rung) -> None:
    assert [rung, *(after for after, _ in climbed(rung))][-1] is Rung.KILL
