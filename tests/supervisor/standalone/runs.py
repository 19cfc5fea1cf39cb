"""Events of a run as the journal has them, for the tests of its reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from monitors.contract.words import Severity

Record = Mapping[str, Any]


def submitted(agent: str, workspace: str = "/repo") -> Record:
    return {"kind": "task_submitted", "agent": agent, "workspace": workspace}


def reviewed(
    agent: str,
    command: str,
    decision: str,
    rule: str = "",
    severity: Severity = Severity.HIGH,
    touches: Sequence[str] = (),
) -> Record:
    review = {
        "decision": decision,
        "severity": severity.value,
        "rule": rule,
        "reasoning": f"Because of {command}.",
        "touches": [{"path": path, "access": "write"} for path in touches],
    }
    action = {"tool": "Bash", "input": {"command": command}}
    return {"kind": "review_made", "agent": agent, "action": action, "review": review}


def incident(agent: str, severity: Severity, text: str = "It went wrong.") -> Record:
    about = {"id": f"{agent}-{severity}", "type": "emergency_stop", "severity": severity.value, "summary": text}
    return {"kind": "incident_opened", "agent": agent, "incident": about}
