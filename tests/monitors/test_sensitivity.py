import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitors.contract.words import Sensitivity, Severity
from monitors.sensitivity import PatternSettings, level_of


@pytest.mark.parametrize(("amount", "level"), [(0, 0), (2.9, 0), (3, 1), (5.9, 1), (6, 2), (11, 2), (12, 3), (24, 4)])
def test_the_level_rises_by_one_with_each_doubling(amount: float, level: int) -> None:
    assert level_of(amount, 3) == level


def test_low_and_high_sensitivity_scale_what_medium_leaves() -> None:
    low, medium, high = (PatternSettings(sensitivity=sensitivity) for sensitivity in Sensitivity)
    assert [one.number(12) for one in (low, medium, high)] == [18, 12, 8]
    assert [round(one.share(0.3), 2) for one in (low, medium, high)] == [0.45, 0.3, 0.2]
    assert PatternSettings().number(3) == 3
    assert PatternSettings(learned=2.0).number(3) == 6


@given(st.sampled_from([*Sensitivity, None]), st.floats(0.67, 2), st.integers(1, 1000), st.floats(0, 1))
def test_no_setting_makes_one_thing_a_pattern_or_a_share_unreachable(
    sensitivity: Sensitivity | None, learned: float, number: int, share: float
) -> None:
    settings = PatternSettings(sensitivity=sensitivity, learned=learned)
    assert settings.number(number) >= 2
    assert settings.share(share) <= 0.95


def test_severity_stops_at_high_unless_it_began_above_and_doubt_halves() -> None:
    settings = PatternSettings(severity=Severity.LOW, confidence=0.6)
    assert [settings.severity_at(level) for level in (1, 2, 3, 9)] == [
        Severity.LOW,
        Severity.MEDIUM,
        Severity.HIGH,
        Severity.HIGH,
    ]
    assert PatternSettings(severity=Severity.CRITICAL).severity_at(1) is Severity.CRITICAL
    assert [settings.confidence_at(level) for level in (1, 2, 3)] == [0.6, 0.8, 0.9]
