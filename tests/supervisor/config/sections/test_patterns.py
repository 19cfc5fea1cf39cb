from dataclasses import fields
from typing import Any

import pytest
from pydantic import ValidationError

from monitors.contract.words import Sensitivity, Severity
from monitors.detectors import DetectorSettings
from supervisor.config.model import Config
from supervisor.runtime.assembly.settings import detector_settings

PATTERNS = [
    one.name for one in fields(DetectorSettings) if hasattr(getattr(DetectorSettings(), one.name), "severity_at")
]


def settings(**patterns: Any) -> DetectorSettings:
    return detector_settings(Config.model_validate({"patterns": patterns}))


def test_the_defaults_are_those_of_the_detectors() -> None:
    assert settings() == DetectorSettings()


def test_a_pattern_has_thresholds_and_a_sensitivity_of_its_own() -> None:
    found = settings(
        sensitivity="low",
        repetitive_errors={"threshold": 5, "sensitivity": "high"},
        scope_creep={"threshold": 0.5, "critical_paths": ["deploy/**"]},
    )
    assert (found.sensitivity, found.repetitive_errors.sensitivity) == (Sensitivity.LOW, Sensitivity.HIGH)
    assert (found.repetitive_errors.threshold, found.scope_creep.threshold) == (5, 0.5)
    assert found.scope_creep.critical_paths == ("deploy/**",)


def test_a_pattern_can_be_switched_off_by_one_word() -> None:
    found = settings(goal_drift=False, no_progress=False, combinations=False)
    switched = (found.goal_drift, found.no_progress, found.combinations)
    assert [one.enabled for one in switched] == [False] * 3


def test_a_pattern_of_ones_own_is_among_the_names() -> None:
    mine = {"name": "no_sudo", "description": "It asks for root.", "match": r"\bsudo\b", "severity": "high"}
    other = {**mine, "name": "other"}
    (found,) = settings(custom_patterns=[mine, other], enabled_patterns=["no_sudo", "repetition"]).custom
    assert (found.name, found.severity, found.threshold) == ("no_sudo", Severity.HIGH, 3)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ({"name": "scope_creep", "description": "x", "match": "x"}, "built-in"),
        ({"name": "mine", "description": "x", "match": "("}, "regular expression"),
        ({"name": "mine", "description": "x", "match": "x", "threshold": 0}, "greater than or equal to 1"),
    ],
)
def test_a_pattern_that_cannot_be_is_refused(pattern: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        settings(custom_patterns=[pattern])


def test_test_output_of_ones_own_is_read_by_a_pattern_that_names_its_groups() -> None:
    given = {"progress": {"test_patterns": [r"(?P<passed>\d+) ok, (?P<failed>\d+) broken"]}}
    assert detector_settings(Config.model_validate(given)).no_progress.progress.test_patterns == (
        r"(?P<passed>\d+) ok, (?P<failed>\d+) broken",
    )
    with pytest.raises(ValidationError, match="names no group"):
        Config.model_validate({"progress": {"test_patterns": [r"(\d+) ok"]}})


@pytest.mark.parametrize("name", PATTERNS)
def test_each_pattern_has_a_severity_of_its_own_by_configuration(name: str) -> None:
    assert getattr(settings(**{name: {"severity": "critical"}}), name).severity is Severity.CRITICAL
