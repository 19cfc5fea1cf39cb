"""The table by severity."""

import pytest

from interventions.choice.strategies.pattern_specific import PatternSpecific
from interventions.contract import Past, Tried
from interventions.decisions import InterventionOutcome
from interventions.effectiveness import EffectRecord
from interventions.settings import InterventionSettings, StrategySettings
from interventions.words import InterventionKind
from monitors.contract.words import Severity
from supervisor.testing.samples import issue
from tests.interventions.runs import REINFORCE, ROLLBACK, SOFT, STOP, Run

LADDER = (SOFT, REINFORCE, ROLLBACK, STOP)


def index(severity: Severity, *tried: Tried) -> int:
    past = Past(issue(severity=severity), 0.4, 100.0, tried, EffectRecord())
    return PatternSpecific(StrategySettings()).position(LADDER, past).index


@pytest.mark.parametrize(
    ("severity", "rung"), [(Severity.LOW, 0), (Severity.MEDIUM, 1), (Severity.HIGH, 2), (Severity.CRITICAL, 3)]
)
def test_severity_names_the_rung(severity: Severity, rung: int) -> None:
    assert index(severity) == rung


def test_each_answer_in_vain_leads_one_further() -> None:
    vain = Tried(SOFT, 50.0, True, InterventionOutcome.FAILURE, 1)
    helped = Tried(SOFT, 60.0, True, InterventionOutcome.SUCCESS, 1)
    assert index(Severity.LOW, vain, helped) == 1


def test_the_ceiling_holds_for_it_too() -> None:
    settings = InterventionSettings(strategy=StrategySettings(type="pattern_specific"), auto_rollback=True)
    assert Run(settings).kind(issue(severity=Severity.HIGH, confidence=0.4)) is REINFORCE
    assert Run(settings).kind(issue(severity=Severity.HIGH, confidence=0.8)) is ROLLBACK


def test_a_low_one_begins_with_a_word() -> None:
    settings = InterventionSettings(strategy=StrategySettings(type="pattern_specific"))
    kinds: list[InterventionKind | None] = [Run(settings).kind(issue(severity=Severity.LOW))]
    assert kinds == [SOFT]
