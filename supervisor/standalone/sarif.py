"""The findings of a run as SARIF 2.1.0, the form of OASIS in which code scanners report."""

from hashlib import sha256
from typing import Any
from urllib.parse import quote

from monitors.contract.words import Severity
from supervisor import __version__
from supervisor.standalone.findings import RunFinding, RunFindings

LEVELS = {
    Severity.LOW: "note",
    Severity.MEDIUM: "warning",
    Severity.HIGH: "error",
    Severity.CRITICAL: "error",
}
"""The `level` of a result (SARIF 2.1.0, 3.27.10), which knows three."""


def as_sarif(run: RunFindings) -> dict[str, Any]:
    """Return the log of one run."""
    rules = list(dict.fromkeys(one.rule for one in run.found))
    driver = {
        "name": "chaperon",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": rule}} for rule in rules],
    }
    notes = (
        [{"level": "warning", "message": {"text": f"{run.dropped:,} more findings are in the journal."}}]
        if run.dropped
        else []
    )
    invocation = {"executionSuccessful": True, "toolExecutionNotifications": notes}
    results = [_result(one, rules.index(one.rule)) for one in run.found]
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "invocations": [invocation], "results": results}],
    }


def _result(finding: RunFinding, rule: int) -> dict[str, Any]:
    place: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": f"{finding.agent}: {finding.subject}"}]}
    if finding.path:
        place["physicalLocation"] = {"artifactLocation": {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}}
    same = f"{finding.rule}\0{finding.subject}".encode(errors="replace")
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": finding.text},
        "locations": [place],
        "partialFingerprints": {"call/v1": sha256(same).hexdigest()},
        "properties": {
            "agent": finding.agent,
            "severity": finding.severity.value,
            **({"decision": finding.decision} if finding.decision else {}),
        },
    }
