"""What is not done because it would be for nothing: words after the end, and rollbacks that bring nothing back."""

from dataclasses import replace
from typing import Any

import pytest

from interventions.choice.chooser import SPENT
from interventions.ladders import CALLED_BACK, LADDERS
from interventions.settings import InterventionSettings
from monitors.contract.words import Severity
from monitors.signals.meters import KINDS
from supervisor.core.limits import LIMITED
from supervisor.testing.samples import MOMENT, Moments, issue
from tests.interventions.runs import REINFORCE, ROLLBACK, SOFT, STOP, THROTTLE, Run, needs

HELD = {"memory", "memory_mb", "processes", "open files", "disk", "context"}
"""Resources that an agent holds and gives back."""

HIGH = issue(severity=Severity.HIGH, confidence=0.9, impact_factor=0.5)
AGAIN = replace(HIGH, sentence="Again.")
BACK = InterventionSettings(auto_rollback=True)


def answered(run: Run, *seen: Any) -> tuple[Any, list[Any]]:
    """What is chosen at the last of the issues, each of which comes some minutes after the one before, and what people are asked."""
    found: list[Any] = []
    for each in seen:
        run.now += 200
        run.saw(each)
        found = run.due()
    kinds = [due.kind for due in found if hasattr(due, "message")]
    return (kinds[0] if kinds else None), needs(found)


def test_an_agent_that_has_finished_is_not_spoken_to_again() -> None:
    run = Run()
    assert run.kind(issue(), finished=True) is None
    assert run.due(finished=False)[0].kind is SOFT  # type: ignore[union-attr]


@pytest.mark.parametrize("type_", sorted(set(LADDERS) - {"critical_action", "gate_bypassed"}))
def test_only_what_it_ended_with_itself_calls_an_agent_back(type_: str) -> None:
    assert (Run().kind(issue(type_), finished=True) is not None) is (type_ in CALLED_BACK)


@pytest.mark.parametrize("type_", ["critical_action", "gate_bypassed"])
def test_an_agent_that_has_finished_is_stopped_where_it_must_be(type_: str) -> None:
    critical = issue(type_, Severity.CRITICAL, confidence=1.0, impact_factor=1.0)
    assert Run().kind(critical, finished=True) is STOP


@pytest.mark.parametrize("settings", [InterventionSettings(), BACK])
def test_a_rollback_that_would_change_no_file_is_neither_proposed_nor_done(settings: InterventionSettings) -> None:
    unchanged = Moments(replace(MOMENT, unchanged=True))
    kind, asked = answered(Run(settings, checkpoints=unchanged), HIGH, AGAIN)
    assert kind in (SOFT, REINFORCE)
    assert asked == []
    kind, asked = answered(Run(settings), HIGH, AGAIN)
    assert (kind is ROLLBACK) or len(asked) == 1


def test_a_conversation_that_went_wrong_itself_begins_anew_though_no_file_has_changed() -> None:
    unchanged = Moments(replace(MOMENT, unchanged=True))
    loop = issue("text_loop", Severity.HIGH, confidence=0.9, impact_factor=0.5)
    assert answered(Run(BACK, checkpoints=unchanged), loop)[0] is ROLLBACK


@pytest.mark.parametrize("resource", sorted(SPENT))
@pytest.mark.parametrize("settings", [InterventionSettings(), BACK])
def test_what_is_used_up_does_not_come_back_with_the_files_so_no_limit_leads_to_a_rollback(
    settings: InterventionSettings, resource: str
) -> None:
    spiral = issue("resource_spiral", Severity.HIGH, confidence=0.9, impact_factor=0.5, details={"resource": resource})
    kind, asked = answered(Run(settings), spiral)
    assert kind is THROTTLE
    assert all("rollback" not in need.sentence.lower() for need in asked)


def test_memory_that_grows_may_be_set_back() -> None:
    spiral = issue("resource_spiral", Severity.HIGH, confidence=0.9, impact_factor=0.5, details={"resource": "memory"})
    assert answered(Run(BACK), spiral)[0] is ROLLBACK


def test_every_resource_is_known_to_be_held_or_used_up() -> None:
    named = {*KINDS, *(each.used for each in LIMITED)}
    assert named <= SPENT | HELD
    assert not SPENT & HELD
