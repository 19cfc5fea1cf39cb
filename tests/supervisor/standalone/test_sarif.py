"""The log of a run as SARIF says what the findings say."""

import json
from typing import Any

from monitors.contract.words import Severity
from supervisor.standalone.findings import RunFindings
from supervisor.standalone.sarif import LEVELS, as_sarif
from tests.supervisor.standalone.runs import Record, incident, reviewed, submitted


def log(*records: Record) -> dict[str, Any]:
    run = RunFindings()
    for record in records:
        run.take(record)
    [written] = json.loads(json.dumps(as_sarif(run)))["runs"]
    return dict[str, Any](written)


def test_every_severity_has_a_level() -> None:
    assert set(LEVELS) == set(Severity)


def test_a_refused_call_is_a_result_of_its_rule_at_the_file_that_it_touches() -> None:
    call = reviewed("a1", "rm notes", "block", "files.delete-top", touches=("/repo/my notes.txt",))
    written = log(submitted("a1"), call, incident("a1", Severity.LOW))
    first, second = written["results"]
    rules = [rule["id"] for rule in written["tool"]["driver"]["rules"]]
    assert (first["level"], first["ruleId"], rules[first["ruleIndex"]]) == (
        "error",
        "files.delete-top",
        "files.delete-top",
    )
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20notes.txt"
    assert second["level"] == "note"
    assert "physicalLocation" not in second["locations"][0]


def test_the_same_call_has_the_same_fingerprint_in_each_run() -> None:
    marks = [
        log(reviewed("a1", "rm -rf /", "block", rule))["results"][0]["partialFingerprints"]
        for rule in ("one", "one", "other")
    ]
    assert marks[0] == marks[1] != marks[2]


def test_what_is_left_out_is_said() -> None:
    run = RunFindings(dropped=3)
    [note] = as_sarif(run)["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "3 more findings are in the journal."
