"""The stages of degradation."""

import itertools

import pytest

from interventions.kinds.degradation import STAGES, stage_of


@pytest.mark.parametrize(
    ("share", "name"),
    [
        (0.0, "full"),
        (0.79, "full"),
        (0.8, "lower_effort"),
        (0.9, "smaller_model"),
        (2.0, "smaller_model"),
        (-1.0, "full"),
        (float("nan"), "full"),
    ],
)
def test_a_stage_holds_from_its_share_on(share: float, name: str) -> None:
    assert STAGES[stage_of(share)].name == name


def test_each_stage_keeps_what_the_one_before_it_took() -> None:
    for before, after in itertools.pairwise(STAGES):
        assert before.least < after.least
        assert before.effort is None or after.effort == before.effort
        assert after.smaller_model >= before.smaller_model
