"""Scores: the formula and its bands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.choice.scoring import score
from interventions.words import InterventionKind
from monitors.contract.words import Severity
from supervisor.testing.samples import issue
from tests.interventions.runs import REINFORCE, ROLLBACK, SOFT, STOP, THROTTLE


@pytest.mark.parametrize(
    ("severity", "base"), [(Severity.LOW, 0.2), (Severity.MEDIUM, 0.5), (Severity.HIGH, 0.8), (Severity.CRITICAL, 1.0)]
)
def test_the_base_is_severity_times_confidence_times_one_and_the_impact(severity: Severity, base: float) -> None:
    assert score(issue(severity=severity, confidence=0.5, impact_factor=0.5)).base == pytest.approx(base * 0.75)


@pytest.mark.parametrize(
    ("confidence", "kind"),
    [
        (0.299, SOFT),
        (0.3, REINFORCE),
        (0.499, REINFORCE),
        (0.5, THROTTLE),
        (0.7, ROLLBACK),
        (0.899, ROLLBACK),
        (0.9, STOP),
    ],
)
def test_a_band_begins_exactly_at_its_edge(confidence: float, kind: InterventionKind) -> None:
    assert score(issue(severity=Severity.CRITICAL, confidence=confidence, impact_factor=0.0)).ceiling is kind


def test_each_step_adds_three_tenths_exactly() -> None:
    assert score(issue(severity=Severity.CRITICAL, confidence=0.3, impact_factor=0.0), steps=2).total == 0.9


def test_the_sum_is_said() -> None:
    said = score(issue(), risk=0.5, steps=1).sentence()
    assert said == (
        "medium 0.5 * confidence 0.7 * (1 + impact 0.2) + 0.2 * risk 0.5 of the last refused action"
        " + 0.3 * 1 intervention in 5 minutes = 0.82"
    )


@pytest.mark.parametrize("wrong", [float("nan"), 7.0, -1.0])
def test_figures_out_of_range_count_as_the_nearest_end(wrong: float) -> None:
    worth = score(issue(confidence=wrong))
    assert 0 <= worth.confidence <= 1


@given(st.sampled_from(Severity), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 9))
def test_more_of_anything_never_lowers_the_ceiling(
    severity: Severity, confidence: float, impact: float, risk: float, steps: int
) -> None:
    given_ = issue(severity=severity, confidence=confidence, impact_factor=impact)
    here = score(given_, risk=risk, steps=steps)
    assert score(given_, risk=risk, steps=steps + 1).ceiling.rank >= here.ceiling.rank
    assert score(given_, risk=1.0, steps=steps).ceiling.rank >= here.ceiling.rank
