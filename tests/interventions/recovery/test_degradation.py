"""Stages down and up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.recovery.degradation import AT, STAGES, stage_of


@pytest.mark.parametrize(
    ("share", "stage"), [(0.0, 0), (0.79, 0), (0.8, 1), (0.9, 2), (0.97, 3), (1.0, 4), (7.0, 4), (-1.0, 0)]
)
def test_each_stage_begins_at_its_share(share: float, stage: int) -> None:
    assert stage_of(share) == stage


def test_a_stage_is_left_only_well_below_its_edge() -> None:
    assert stage_of(0.88, now=2) == 2
    assert stage_of(0.84, now=2) == 1
    assert stage_of(0.1, now=4) == 0


def test_each_stage_keeps_what_the_ones_before_took() -> None:
    taken = [(stage.effort is not None, stage.smaller_model, stage.read_only, stage.paused) for stage in STAGES]
    assert taken == sorted(taken)
    assert len(STAGES) == len(AT)


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(0, len(STAGES) - 1))
def test_any_share_gives_a_stage(share: float, now: int) -> None:
    assert 0 <= stage_of(share, now) < len(STAGES)
