"""The report of a stop: what it must hold, and that it can be kept."""

from typing import Any

import orjson
import pytest

from interventions.aftermath import Aftermath, Leftover
from interventions.contract import ResourceUsage
from interventions.decisions import Intervention
from interventions.stop_report import LAST_ACTIONS, StopFacts, TimelineEntry, completed, report
from interventions.words import InterventionKind
from monitors.contract.actions import PastCall
from monitors.contract.words import Decision, Severity
from supervisor.testing.samples import TASK, issue, step


def made(**more: Any) -> dict[str, Any]:
    chosen = Intervention(
        "i-9",
        InterventionKind.EMERGENCY_STOP,
        issue("scope_creep", Severity.CRITICAL, began=40),
        1.2,
        "the sum",
        details={"checkpoint": "cp-3"},
    )
    given: dict[str, Any] = {
        "incident": "a1-41-emergency_stop",
        "intervention": chosen,
        "task": TASK,
        "agent": "a1",
        "workspace": "/w/a1",
        "session_id": "s-1",
        "started_at": 1_000.0,
        "at": 1_090.0,
        "history": (step("Edit", "src/a.py"), step("Write", "src/b.py", failed=True), step(failed=True)),
        "timeline": (TimelineEntry(1_050.0, 30, "soft_correction: because"),),
        "issues": (issue("goal_drift", began=12, sentence="It drifts."), chosen.issue),
        "usage": ResourceUsage(tokens=5_000, seconds=90.0),
        "counts": {"reviews": {"block": 2}, "interventions": {"soft_correction": 3, "emergency_stop": 1}},
        "journal_range": (1, 41),
    }
    return report(StopFacts(**{**given, **more}))


def test_a_report_has_all_its_parts_and_is_plain_json() -> None:
    parts = {
        "timeline",
        "impact",
        "root_cause",
        "contributing_factors",
        "recommendations",
        "recovery_options",
        "last_actions",
    }
    assert parts <= orjson.loads(orjson.dumps(made())).keys()


def test_the_timeline_goes_from_the_submission_to_the_stop() -> None:
    assert [moment["what"] for moment in made()["timeline"]] == [
        "the task was submitted",
        "soft_correction: because",
        "emergency stop",
    ]


def test_the_impact_names_files_that_were_changed_and_not_those_that_were_not() -> None:
    impact = made()["impact"]
    assert impact["files_affected"] == ["src/a.py"]
    assert impact["resources"] == {"tokens": 5_000, "seconds": 90.0}
    assert (impact["duration_seconds"], impact["refused"]) == (90.0, 2)


def test_the_root_cause_is_where_it_began_and_what_was_open_before() -> None:
    cause = made()["root_cause"]
    assert (cause["began"], cause["earliest"]) == (40, "goal_drift")
    assert "Open before it, since event 12: It drifts." in cause["sentence"]


def test_contributing_factors_are_facts() -> None:
    factors = made()["contributing_factors"]
    assert "Also open: It drifts." in factors
    assert "Earlier interventions did not end it: soft_correction (3)." in factors
    assert "2 of the last 3 actions failed." in factors


def test_recommendations_are_for_now_for_later_and_for_the_configuration() -> None:
    advice = made()["recommendations"]
    assert set(advice) == {"immediate", "preventive", "configuration"}
    assert advice["immediate"]
    assert advice["preventive"]
    assert all(set(each) == {"key", "value", "because"} for each in advice["configuration"])
    assert any("expected_paths" in line for line in advice["preventive"])


def test_a_report_is_completed_with_what_was_found_once_all_processes_had_gone() -> None:
    found = Aftermath(
        ("one.txt (added)", "src/a.py (modified)"),
        7,
        ("a2",),
        (Leftover("branch", "the branch try-2, made at 14:03", "git branch -D try-2"),),
        ("branches: no reflogs",),
    )
    whole = orjson.loads(orjson.dumps(made()))
    done = completed(whole, found)
    assert done["impact"]["files_affected"] == ["one.txt (added)", "src/a.py (modified)", "and 7 more"]
    assert "a2 worked there too" in done["impact"]["files_are"]
    (abort,) = [row for row in done["recovery_options"] if row["option"] == "abort"]
    assert abort["clean_up"] == [
        {"kind": "branch", "what": "the branch try-2, made at 14:03", "way_out": "git branch -D try-2"}
    ]
    assert abort["not_looked_at"] == ["branches: no reflogs"]
    assert done["timeline"] == whole["timeline"]
    assert [row for row in done["recovery_options"] if row["option"] != "abort"] == [
        row for row in whole["recovery_options"] if row["option"] != "abort"
    ]


def test_files_that_could_not_be_looked_at_stay_as_they_were_told_before() -> None:
    whole = orjson.loads(orjson.dumps(made()))
    done = completed(whole, Aftermath(not_looked=("files of the workspace: it is gone",)))
    assert done["impact"]["files_affected"] == ["src/a.py"]


@pytest.mark.parametrize("whole", [{}, {"impact": None, "recovery_options": None}, {"recovery_options": ["odd", 7]}])
def test_a_report_that_somebody_edited_is_completed_all_the_same(whole: dict[str, Any]) -> None:
    assert completed(whole, Aftermath(("a (added)",)))["impact"]["files_affected"] == ["a (added)"]


def test_only_the_last_actions_are_kept() -> None:
    history = tuple(PastCall("Bash", f"echo {n}", failed=False, decision=Decision.ALLOW) for n in range(90))
    actions = made(history=history)["last_actions"]
    assert len(actions) == LAST_ACTIONS
    assert actions[-1]["what"] == "echo 89"


def test_secrets_are_hidden_wherever_they_stand() -> None:
    secret = "ghp_" + "x7" * 18
    text = orjson.dumps(made(history=(step("Bash", f"curl -H 'token: {secret}'"),)))
    assert secret.encode() not in text
