"""A run as a test suite, of which CI shows what failed."""

from xml.etree.ElementTree import Element, fromstring

from monitors.contract.words import Severity
from supervisor.standalone.findings import RunFindings
from supervisor.standalone.junit import as_junit
from tests.supervisor.standalone.runs import incident, reviewed


def suite(fail_on: Severity | None) -> Element:
    run = RunFindings()
    for record in (
        reviewed("a1", "ls", "allow"),
        reviewed("a1", "echo \x1b[31m\x00\ud800 <&>", "block", "some.rule"),
        incident("a1", Severity.LOW, "A trifle."),
        incident("a1", Severity.CRITICAL, "Stopped \x07."),
    ):
        run.take(record)
    return fromstring(as_junit(run, fail_on))


def test_incidents_fail_from_the_severity_on_and_refused_calls_are_skipped() -> None:
    whole = suite(Severity.HIGH)
    assert (whole.get("tests"), whole.get("failures"), whole.get("skipped")) == ("4", "1", "1")
    assert [one.get("type") for one in whole.iter("failure")] == ["critical"]
    assert len(list(whole.iter("skipped"))) == 1


def test_without_a_severity_nothing_fails() -> None:
    whole = suite(None)
    assert whole.get("failures") == "0"
    assert list(whole.iter("failure")) == []


def test_calls_that_were_let_through_are_one_case() -> None:
    [case] = [one for one in suite(None).iter("testcase") if one.get("classname") == "chaperon.calls"]
    assert case.get("name") == "1 call let through"
