from typing import Any

import pytest

from interventions.decisions import Incident
from monitors.contract.words import Decision, Severity
from supervisor.protocol import events
from supervisor.protocol.commands import ReportIncident
from tests.stages.session import Play, verdict


def told(commands: list[Any]) -> Incident:
    (report,) = [command for command in commands if isinstance(command, ReportIncident)]
    return report.incident


def begun() -> Play:
    play = Play()
    play.submit()
    play.launched()
    return play


def test_a_launch_that_failed_is_told_in_the_launchers_words() -> None:
    play = Play()
    play.submit()
    incident = told(play.feed(events.LaunchFailed(**play.stamp(), error="There is no CLI. Install one.")))
    assert (incident.type, incident.summary) == ("launch_failed", "There is no CLI. Install one.")
    assert "chaperon doctor" in incident.way_out


def test_an_agent_that_vanished_can_be_taken_up_again_by_its_session() -> None:
    play = Play().running()
    incident = told(play.feed(events.AgentVanished(**play.stamp(), reason="its shim was killed")))
    assert (incident.type, incident.severity) == ("agent_lost", Severity.HIGH)
    assert incident.way_out.endswith('chaperon run "Go on." --resume-session s-1 --repo /repo.')


def test_the_session_of_an_attached_cli_is_for_its_person_to_open_again() -> None:
    play = Play()
    play.feed(events.TaskSubmitted(**play.stamp(), task=play.task, workspace="/repo", session_id="s-1", origin="cli"))
    play.launched()
    play.taken(play.task.prompt)
    play.init()
    incident = told(play.feed(events.AgentVanished(**play.stamp(), reason="its CLI was killed")))
    assert incident.way_out.endswith("claude --resume s-1 in /repo.")


@pytest.mark.parametrize(("code", "signal", "says"), [(3, None, "exit code 3"), (None, 11, "signal 11")])
def test_a_cli_that_ended_too_early_is_told_with_how_and_its_last_words(
    code: int | None, signal: int | None, says: str
) -> None:
    play = begun()
    exited = events.AgentExited(**play.stamp(), code=code, signal=signal, stderr_tail="x" * 9000 + "last words\n")
    incident = told(play.feed(exited))
    assert says in incident.summary
    assert incident.summary.endswith("last words")
    assert len(incident.summary) < 1000


@pytest.mark.parametrize(
    "said",
    [
        "Not logged in · Please run /login",
        "Failed to authenticate. API Error: 403 The key may not use this resource.",
        "Failed to authenticate. API Error: 401 The key is not valid.",
    ],
)
def test_a_sign_in_that_failed_is_an_incident_of_its_own_with_how_to_sign_in(said: str) -> None:
    play = Play().running()
    play.result(is_error=True, result=said)
    incident = told(play.feed(events.AgentExited(**play.stamp(), code=0, signal=None, stderr_tail="")))
    assert (incident.type, incident.severity) == ("sign_in_failed", Severity.HIGH)
    assert said in incident.summary
    assert "ANTHROPIC_API_KEY" in incident.way_out


def test_a_turn_that_only_speaks_of_signing_in_has_failed_as_any_other() -> None:
    play = Play().running()
    play.result(is_error=True, result="API Error: 400 In the log stands: Failed to authenticate.")
    incident = told(play.feed(events.AgentExited(**play.stamp(), code=0, signal=None, stderr_tail="")))
    assert incident.type == "turn_failed"


@pytest.mark.parametrize(
    ("status", "type_", "says"),
    [(401, "sign_in_failed", "refuses the key or login (401)"), (529, "api_outage", "overloaded (529)")],
)
def test_retries_for_a_key_that_is_refused_are_told_as_a_sign_in_that_failed(
    status: int, type_: str, says: str
) -> None:
    play = Play().running()
    frame = {"type": "system", "subtype": "api_retry", "attempt": 5, "max_retries": 10, "error_status": status}
    incident = told(play.line(frame))
    assert incident.type == type_
    assert says in incident.summary
    assert ("ANTHROPIC_API_KEY for" in incident.way_out) == (type_ == "sign_in_failed")


def test_no_session_is_offered_that_never_began() -> None:
    play = begun()
    incident = told(play.feed(events.AgentExited(**play.stamp(), code=1, signal=None, stderr_tail="")))
    assert incident.way_out == "chaperon doctor says whether the CLI works here."


def test_processes_that_could_not_be_ended_are_told() -> None:
    play = Play().running()
    incident = told(play.feed(events.TreeEnded(**play.stamp(), micros=1, left=2)))
    assert (incident.type, "2 processes" in incident.summary) == ("processes_left", True)


def test_a_stop_has_a_report_that_its_line_names() -> None:
    play = Play({"hooks": verdict(Decision.BLOCK, "hands off", stop=True)}).running()
    (report,) = [command for command in play.call("echo > hooks") if isinstance(command, ReportIncident)]
    assert report.report is not None
    assert report.incident.report == f"incidents/{report.incident.id}.json"


def test_ids_tell_incidents_of_one_agent_apart_and_can_name_a_file() -> None:
    play = Play().running()
    first = told(play.feed(events.TreeEnded(**play.stamp(), micros=1, left=2)))
    second = told(play.feed(events.TreeEnded(**play.stamp(), micros=1, left=1)))
    assert first.id != second.id
    assert "/" not in first.id


def test_a_mode_that_the_cli_refuses_to_root_is_told_with_what_to_set() -> None:
    play = begun()
    tail = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n"
    incident = told(play.feed(events.AgentExited(**play.stamp(), code=1, signal=None, stderr_tail=tail)))
    assert 'agent.environment: {IS_SANDBOX: "1"}' in incident.way_out
