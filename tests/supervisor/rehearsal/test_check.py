from typing import Any

import pytest

from interventions.decisions import Incident, Intervention
from interventions.words import InterventionKind
from monitors.contract.actions import Review
from monitors.contract.issues import Issue
from monitors.contract.words import Decision, Severity
from supervisor.protocol.words import AgentState
from supervisor.rehearsal import scenario as scenarios
from supervisor.rehearsal.check import RehearsalOutcome, check
from supervisor.rehearsal.model_requests import Request
from supervisor.rehearsal.scenario import Scenario

STEPS = """\
name: n
task: {prompt: p}
steps:
  - name: look
    use: [{tool: Bash, input: {command: ls}}, {tool: Bash, input: {command: pwd}}]
  - name: end
    say: done
"""


def scenario(expect: str) -> Scenario:
    return scenarios.read(f"{STEPS}expect: {expect}\n")


def request(step: int, *told: str, script: int = 0) -> Request:
    messages = [{"role": "assistant", "content": "mine"}, *({"role": "user", "content": text} for text in told)]
    return Request(step, 0.0, script, step, 0, {}, {"messages": messages})


def review(decision: Decision, rule: str = "") -> Review:
    return Review(decision, 0.0, 1.0, Severity.LOW, "because", rule)


ISSUE = Issue("repetitive_errors", Severity.MEDIUM, 1.0, 0.5, 1, "the same three times")


def outcome(**changed: Any) -> RehearsalOutcome:
    usual: dict[str, Any] = {
        "reviews": {"toolu_0001": review(Decision.ALLOW), "toolu_0002": review(Decision.BLOCK, "fs.outside")},
        "requests": [request(0, "p"), request(1, "a.txt b.txt")],
        "files": {"a.txt": b"hello\n", "gone.txt": None},
        "incidents": [Incident("i", 0.0, "a", "emergency_stop", Severity.CRITICAL, "stopped")],
        "issues": [ISSUE],
        "interventions": [Intervention("i-1", InterventionKind.SOFT_CORRECTION, ISSUE, 1.0, "why", "look first")],
        "state": AgentState.STOPPED,
        "exit_code": None,
    }
    return RehearsalOutcome(**{**usual, **changed})


@pytest.mark.parametrize(
    "expect",
    [
        "{decisions: [{step: look, call: 1, decision: allow}]}",
        "{decisions: [{step: look, call: 2, decision: block, rule: fs.outside}]}",
        "{told: [{at: look, contains: [a.txt, b.txt], lacks: c.txt}]}",
        "{told: [{after: look, contains: a.txt}, {contains: p}]}",
        "{files: [{path: a.txt, content: \"hello\\n\", contains: hell, lacks: heaven}, {path: gone.txt, exists: false}]}",
        "{incidents: [{type: emergency_stop, severity: critical}]}",
        "{issues: [{type: repetitive_errors}]}",
        "{interventions: [{kind: soft_correction, issue: repetitive_errors}]}",
        "{last_step: end, state: stopped}",
    ],
)  # fmt: skip
def test_what_is_as_expected_is_passed_over(expect: str) -> None:
    assert check(scenario(expect), outcome()) == []


@pytest.mark.parametrize(
    ("expect", "place", "says"),
    [
        ("{decisions: [{step: look, decision: allow}]}", "expect.decisions[0]", "call 2: expected allow, but it was block by fs.outside: because"),
        ("{decisions: [{step: look, call: 2, decision: block, rule: x}]}", "expect.decisions[0]", "expected block by x"),
        ("{told: [{at: look, contains: c.txt}]}", "expect.told[0]", "'c.txt' in answer to step 'look'; it was told 'a.txt b.txt'"),
        ("{told: [{after: look, lacks: a.txt}]}", "expect.told[0]", "was told 'a.txt' after step 'look'"),
        ("{told: [{at: end, lacks: x}]}", "expect.told[0]", "not asked again in answer to step 'end'"),
        ("{told: [{contains: mine}]}", "expect.told[0]", "not told 'mine' in the run"),
        ("{files: [{path: a.txt, content: other}]}", "expect.files[0]", "a.txt should be 'other' and is 'hello\\n'"),
        ("{files: [{path: a.txt, contains: x}]}", "expect.files[0]", "a.txt lacks 'x'"),
        ("{files: [{path: a.txt, lacks: hello}]}", "expect.files[0]", "a.txt has 'hello'"),
        ("{files: [{path: a.txt, exists: false}]}", "expect.files[0]", "should not be there and has 6 bytes"),
        ("{files: [{path: gone.txt}]}", "expect.files[0]", "should be there and is not"),
        ("{incidents: []}", "expect.incidents", "there were: emergency_stop (critical)"),
        ("{incidents: [{type: emergency_stop, severity: low}]}", "expect.incidents[0]", "emergency_stop (low) was expected"),
        ("{issues: [{type: repetitive_errors}, {type: repetitive_errors}]}", "expect.issues[1]", "was expected"),
        ("{interventions: [{kind: emergency_stop}]}", "expect.interventions[0]", "there were: soft_correction (repetitive_errors)"),
        ("{interventions: [{kind: soft_correction, told: true}]}", "expect.interventions[0]", "never received it"),
        ("{last_step: look}", "expect.last_step", "should be 'look' and was 'end'"),
        ("{state: done}", "expect.state", "should end as done and is stopped"),
        ("{exit: 0}", "expect.exit", "should exit with 0, and its exit code is None"),
    ],
)  # fmt: skip
def test_what_is_not_as_expected_is_said_with_its_place(expect: str, place: str, says: str) -> None:
    findings = check(scenario(expect), outcome())
    assert [finding.place for finding in findings] == [place]
    assert says in findings[0].says
    assert findings[0].fails


def test_a_call_that_was_never_reviewed_is_a_finding() -> None:
    findings = check(scenario("{decisions: [{step: look, call: 1, decision: allow}]}"), outcome(reviews={}))
    assert "never reviewed" in findings[0].says


def test_a_message_that_reached_the_model_word_for_word_counts_as_told() -> None:
    expect = "{interventions: [{kind: soft_correction, told: true}]}"
    told = [request(0, "p"), request(1, "a.txt", "A message: look first, please")]
    assert check(scenario(expect), outcome(requests=told)) == []


def test_a_scenario_that_expects_nothing_says_so_without_failing() -> None:
    findings = check(scenarios.read(STEPS), outcome())
    assert [(finding.place, finding.fails) for finding in findings] == [("expect", False)]
    assert "nothing was checked" in findings[0].says
