"""Findings from the events of a run, whatever these say."""

import pytest

from monitors.contract.words import Severity
from supervisor.standalone import findings
from supervisor.standalone.findings import RunFindings
from tests.supervisor.standalone.runs import incident, reviewed, submitted


def test_calls_are_counted_and_those_that_did_not_run_as_asked_are_kept() -> None:
    run = RunFindings()
    for record in (
        submitted("a1"),
        reviewed("a1", "ls", "allow"),
        reviewed("a1", "rm -rf /", "block", "files.delete-top"),
    ):
        run.take(record)
    assert run.calls == {"allow": 1, "block": 1}
    [found] = run.found
    assert (found.rule, found.decision, found.subject) == ("files.delete-top", "block", "Bash rm -rf /")


def test_a_path_inside_the_workspace_is_named_relative_to_it_and_no_other_is() -> None:
    run = RunFindings()
    run.take(submitted("a1", "/repo"))
    run.take(reviewed("a1", "x", "block", touches=("/etc/passwd", "/repo/src/main.py")))
    run.take(reviewed("a1", "x", "block", touches=("/etc/passwd", "/repo")))
    assert [one.path for one in run.found] == ["src/main.py", ""]


def test_incidents_count_from_a_severity_on_and_refused_calls_do_not() -> None:
    run = RunFindings()
    for severity in Severity:
        run.take(incident("a1", severity))
    run.take(reviewed("a1", "rm -rf /", "block", severity=Severity.CRITICAL))
    assert [one.severity for one in run.at_least(Severity.HIGH)] == [Severity.HIGH, Severity.CRITICAL]


def test_more_findings_than_are_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "MOST_FINDINGS", 2)
    run = RunFindings()
    for _ in range(5):
        run.take(reviewed("a1", "rm -rf /", "block"))
    assert (len(run.found), run.dropped) == (2, 3)


@pytest.mark.parametrize(
    "record", [{}, {"kind": "review_made"}, {"kind": "incident_opened", "incident": 3, "agent": 1}]
)
def test_an_event_of_another_shape_is_passed_over(record: dict[str, object]) -> None:
    run = RunFindings()
    run.take(record)
    assert run.found == []
