"""The table of ladders."""

import pytest

from interventions.ladders import DEFAULT, LADDERS, ladder_of
from interventions.words import InterventionKind
from tests.interventions.runs import REINFORCE, ROLLBACK, SOFT, STOP, THROTTLE


@pytest.mark.parametrize("ladder", [*LADDERS.values(), DEFAULT])
def test_a_ladder_only_goes_up(ladder: tuple[InterventionKind, ...]) -> None:
    ranks = [kind.rank for kind in ladder]
    assert ranks == sorted(set(ranks))


@pytest.mark.parametrize(
    ("type_", "ladder"),
    [
        ("repetitive_errors", (SOFT, REINFORCE, ROLLBACK)),
        ("scope_creep", (REINFORCE, THROTTLE, STOP)),
        ("resource_spiral", (THROTTLE, ROLLBACK, STOP)),
        ("goal_drift", (SOFT, REINFORCE, ROLLBACK)),
        ("hallucination", (REINFORCE, ROLLBACK, STOP)),
    ],
)
def test_the_stated_ladders_are_kept(type_: str, ladder: tuple[InterventionKind, ...]) -> None:
    assert LADDERS[type_] == ladder


def test_a_stop_stands_behind_each_ladder_but_those_of_a_run_which_waits_for_a_person() -> None:
    spared = {"blocked_on_human", "limit_reached"}
    assert all(ladder_of(type_)[-1] is STOP for type_ in {*LADDERS, "unknown"} - spared)
    assert all(ladder_of(type_) == (SOFT,) for type_ in spared)
