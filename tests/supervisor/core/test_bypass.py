"""Calls that ran past the gate: how that is found, and that it ends the run."""

import json
from pathlib import Path
from typing import Any

import pytest

from interventions.choice.controller import Controller
from interventions.settings import InterventionSettings
from monitors.contract.words import Decision
from supervisor.core.decisions.decide import SessionSettings
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import ReportIncident
from supervisor.protocol.words import StopStep
from tests.stages.session import Play, Rules, recorded, verdict

RECORDINGS = Path(__file__).parents[2] / "recordings"
BLOCK = verdict(Decision.BLOCK)


def found(commands: list[Any]) -> list[tuple[str, str]]:
    """How calls ran past the gate, by the issues that were raised, and what became of the agent."""
    issues = [event.issue for event in recorded(commands, events.IssueSeen)]
    stopped = [event.rung for event in recorded(commands, events.RungReached)]
    return [(issue.details["how"], str(stopped[0]) if stopped else "runs on") for issue in issues]


def came_back(play: Play, call: str, event: str = "PostToolUse", **given: Any) -> list[Any]:
    given = given or {"command": call}
    return play.hook(event, tool_name="Bash", tool_input=given, tool_use_id=f"u-{call}")


def result(play: Play, call: str, *, failed: bool = False, decided: str = "") -> list[Any]:
    block = {"type": "tool_result", "tool_use_id": f"u-{call}", "content": "done", "is_error": failed}
    decision = {"permission_decision": {"decision": decided, "source": "hook"}} if decided else {}
    meta = [{"id": f"u-{call}", **decision}]
    message = {"role": "user", "content": [block]}
    return play.line({"type": "user", "uuid": f"r-{call}", "message": message, "tool_result_meta": meta})


def asked(play: Play, call: str) -> None:
    use = {"type": "tool_use", "id": f"u-{call}", "name": "Bash", "input": {"command": call}}
    play.line({"type": "assistant", "uuid": f"m-{call}", "message": {"id": f"m-{call}", "content": [use]}})


@pytest.fixture
def play() -> Play:
    return Play({"rm": BLOCK}).running()


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure"])
def test_a_blocked_call_that_came_back_from_running_freezes_the_agent_at_once(play: Play, event: str) -> None:
    play.call("rm notes")
    assert found(came_back(play, "rm notes", event)) == [("blocked_call_ran", StopStep.FREEZE)]


@pytest.mark.parametrize(("failed", "decided"), [(False, ""), (False, "accept"), (True, "accept")])
def test_the_result_of_a_blocked_call_that_ran_is_enough(play: Play, failed: bool, decided: str) -> None:
    asked(play, "rm notes")
    play.call("rm notes")
    assert found(result(play, "rm notes", failed=failed, decided=decided)) == [("blocked_call_ran", StopStep.FREEZE)]


@pytest.mark.parametrize("decided", ["", "reject"])
def test_a_blocked_call_that_did_not_run_is_as_it_should_be(play: Play, decided: str) -> None:
    asked(play, "rm notes")
    play.call("rm notes")
    assert found(result(play, "rm notes", failed=True, decided=decided)) == []


def test_a_blocked_call_is_known_however_many_calls_came_between(play: Play) -> None:
    play.call("rm notes")
    for number in range(200):
        play.call(f"ls {number}")
    assert found(came_back(play, "rm notes")) == [("blocked_call_ran", StopStep.FREEZE)]


def test_a_call_that_ran_before_the_gate_had_answered_was_let_run_by_somebody_else(play: Play) -> None:
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    play.call("ls")
    assert found(came_back(play, "ls")) == [("unreviewed_call", StopStep.FREEZE)]


def test_a_call_that_ran_and_was_never_reviewed_ends_the_run(play: Play) -> None:
    asked(play, "ls")
    assert found(result(play, "ls")) == [("unreviewed_call", StopStep.FREEZE)]


def test_a_call_that_was_reviewed_or_never_ran_is_no_hole_in_the_gate(play: Play) -> None:
    asked(play, "ls")
    play.call("ls")
    assert found(came_back(play, "ls") + result(play, "ls")) == []
    asked(play, "cat")
    assert found(result(play, "cat", failed=True)) == []


@pytest.mark.parametrize("ran", [{"command": "rm notes"}, {"command": "ls", "run_in_background": True}, {"timeout": 5}])
def test_a_call_that_ran_with_another_input_than_was_reviewed_ends_the_run(play: Play, ran: dict[str, Any]) -> None:
    play.call("ls")
    assert found(came_back(play, "ls", **ran)) == [("ran_otherwise", StopStep.FREEZE)]


@pytest.mark.parametrize("ran", [{"command": "ls "}, {"command": "ls", "timeout": 120, "run_in_background": False}])
def test_defaults_and_blanks_that_the_cli_adds_change_nothing(play: Play, ran: dict[str, Any]) -> None:
    play.call("ls")
    assert found(came_back(play, "ls", **ran)) == []


@pytest.mark.parametrize(("ran", "how"), [("other", [("ran_otherwise", StopStep.FREEZE)]), ("new", [])])
def test_the_whole_input_is_compared_and_not_a_commands_text_alone(
    play: Play, ran: str, how: list[tuple[str, str]]
) -> None:
    write = {"file_path": "notes", "content": "new"}
    play.call("write", tool_name="Write", tool_input=write)
    given = {"file_path": "/repo/notes", "content": ran}
    commands = play.hook("PostToolUse", tool_name="Write", tool_input=given, tool_use_id="u-write")
    assert found(commands) == how


def test_a_call_that_ran_as_the_reviewer_changed_it_ran_as_reviewed() -> None:
    play = Play({"push": verdict(Decision.MODIFY, updated_input={"command": "git push --dry-run"})}).running()
    play.call("push")
    assert found(came_back(play, "push", command="git push --dry-run")) == []
    assert found(came_back(play, "push")) == [("ran_otherwise", StopStep.FREEZE)]


def test_one_incident_tells_of_it_and_names_the_call(play: Play) -> None:
    asked(play, "rm notes")
    play.call("rm notes")
    commands = came_back(play, "rm notes") + result(play, "rm notes")
    (incident,) = [command.incident for command in commands if isinstance(command, ReportIncident)]
    assert (incident.type, incident.issue, str(incident.severity)) == ("emergency_stop", "gate_bypassed", "critical")
    assert "`rm notes`" in incident.summary


class Unstopped(Play):
    """A session that nothing stops."""

    def make(self, submitted: events.TaskSubmitted) -> Session:
        controller = Controller(InterventionSettings(enabled=False), self.task)
        return Session(submitted, Rules(self.rules), [], controller, SessionSettings())


def test_where_nothing_may_be_stopped_a_person_is_told_once_of_each_way() -> None:
    play = Unstopped({"rm": BLOCK}).running()
    commands = []
    for call in ("rm a", "rm b", "ls"):
        play.call(call)
        commands += came_back(play, call, command=f"{call} x")
    incidents = [command.incident for command in commands if isinstance(command, ReportIncident)]
    ways = [
        (incident.type, str(incident.severity)) for incident in incidents if incident.type != "no_intervention_allowed"
    ]
    assert ways == [("blocked_call_ran", "critical"), ("ran_otherwise", "critical")]


@pytest.mark.parametrize("recording", sorted(RECORDINGS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_real_cli_asked_the_gate_about_every_call_that_ran(recording: Path) -> None:
    play = Play(keep_open=True)
    play.submit()
    play.launched()
    spoken = [json.loads(line) for line in recording.read_text().splitlines()]
    frames = [one["frame"] for one in spoken if one["direction"] == "out" and "frame" in one]
    assert frames
    how = {how for frame in frames for how, _ in found(play.line(frame))}
    # What was recorded as modified was reviewed by somebody else; here everything is allowed as it is.
    assert how == ({"ran_otherwise"} if recording.stem == "modified" else set())
