"""The findings of a run as JUnit's XML, which every CI service shows as tests."""

from xml.etree.ElementTree import Element, SubElement, tostring

from monitors.contract.wording import counted
from monitors.contract.words import Severity
from supervisor.standalone.findings import RunFindings


def as_junit(run: RunFindings, fail_on: Severity | None) -> bytes:
    """Return a test suite: each refused call and each incident is a case, and so are all other calls together.

    Args:
        run: The findings.
        fail_on: The severity from which on an incident is a failure; None: none is. A refused call is skipped: it did
            not run, and that is no fault of what was checked.
    """
    let_through = run.calls["allow"]
    failing = {id(one) for one in run.at_least(fail_on)} if fail_on is not None else set[int]()
    refused = sum(1 for one in run.found if one.decision)
    about = {
        "name": "chaperon",
        "tests": str(len(run.found) + 1),
        "failures": str(len(failing)),
        "skipped": str(refused),
        "errors": "0",
    }
    suites = Element("testsuites", about)
    suite = SubElement(suites, "testsuite", about)
    SubElement(
        suite, "testcase", {"classname": "chaperon.calls", "name": f"{counted(let_through, 'call')} let through"}
    )
    for one in run.found:
        kind = "calls" if one.decision else "incidents"
        case = SubElement(
            suite, "testcase", {"classname": f"chaperon.{kind}.{one.rule}", "name": f"{one.agent}: {one.subject}"}
        )
        if one.decision:
            SubElement(case, "skipped", {"message": f"{one.decision}: {one.text}"})
        elif id(one) in failing:
            SubElement(case, "failure", {"type": one.severity.value, "message": one.text})
        else:
            SubElement(case, "system-out").text = one.text
    written: bytes = tostring(suites, encoding="utf-8", xml_declaration=True)
    return written
