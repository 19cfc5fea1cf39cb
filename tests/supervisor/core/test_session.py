"""One session: what it does about each thing that can happen."""

from pathlib import Path
from typing import Any

import pytest

from monitors.contract.actions import Review
from monitors.contract.errors import IllegalStepError, ReviewDeferredError
from monitors.contract.issues import Issue
from monitors.contract.words import Decision
from monitors.guarded import Guarded
from supervisor.protocol import events
from supervisor.protocol.commands import (
    CloseInput,
    Command,
    EndTree,
    Freeze,
    Launch,
    ReportIncident,
    ReviewElsewhere,
    SendLine,
    StartTimer,
    Terminate,
    Thaw,
    WriteEvent,
)
from supervisor.protocol.words import AgentState, StopStep
from supervisor.runtime.incidents.log import IncidentLog
from tests.stages.session import ALLOW, Play, answers, lines, recorded, verdict

STOP = verdict(Decision.BLOCK, "hands off", stop=True)


def kinds(commands: Any) -> list[type]:
    return [type(command) for command in commands]


def test_a_submitted_task_is_launched() -> None:
    assert kinds(Play().submit()) == [Launch]


def test_a_launched_cli_is_given_the_hooks_first_and_then_the_prompt() -> None:
    play = Play(prompt="mend the roof")
    play.submit()
    first, second = lines(play.launched())
    assert first["request"]["subtype"] == "initialize"
    assert "PreToolUse" in first["request"]["hooks"]
    assert second["message"]["content"] == "mend the roof"


def test_a_call_that_may_run_is_allowed_without_a_word() -> None:
    (answer,) = answers(Play().running().call("ls"))
    assert answer == {"hookEventName": "PreToolUse", "permissionDecision": "allow"}


def test_a_call_that_is_warned_runs_and_the_model_is_told() -> None:
    (answer,) = answers(Play({"pip": verdict(Decision.WARN, "mind the pins")}).running().call("pip install x"))
    assert answer["permissionDecision"] == "allow"
    assert answer["additionalContext"] == "mind the pins"


def test_a_blocked_call_is_denied_with_its_reason() -> None:
    (answer,) = answers(Play({"rm": verdict(Decision.BLOCK, "not yours")}).running().call("rm -rf /"))
    assert answer["permissionDecision"] == "deny"
    assert answer["permissionDecisionReason"] == "not yours"


def test_a_modified_call_runs_changed_and_both_forms_are_recorded() -> None:
    softer = verdict(Decision.MODIFY, "softer", updated_input={"command": "git push --force-with-lease"})
    commands = Play({"--force": softer}).running().call("git push --force")
    (answer,) = answers(commands)
    assert answer["updatedInput"] == {"command": "git push --force-with-lease"}
    (made,) = recorded(commands, events.ReviewMade)
    assert made.action.input == {"command": "git push --force"}
    assert made.review.updated_input == {"command": "git push --force-with-lease"}


def test_a_review_is_recorded_before_its_answer_is_sent() -> None:
    commands = kinds(Play().running().call("ls"))
    assert commands.index(WriteEvent) < len(commands) - 1


def test_a_reviewer_that_raises_is_a_block_that_names_the_error() -> None:
    def broken() -> Any:
        raise ZeroDivisionError("oh")

    (answer,) = answers(Play({"ls": broken}).running().call("ls"))
    assert answer["permissionDecision"] == "deny"
    assert "ZeroDivisionError: oh" in answer["permissionDecisionReason"]


@pytest.mark.parametrize("given", [None, "text", 7, ["rm"]])
def test_a_call_whose_input_is_no_object_is_denied(given: Any) -> None:
    (answer,) = answers(Play().running().call("ls", tool_input=given))
    assert answer["permissionDecision"] == "deny"


def test_a_malformed_hook_is_denied_and_reported() -> None:
    play = Play().running()
    commands = play.line({"type": "control_request", "request_id": "r9", "request": {"subtype": "hook_callback"}})
    (answer,) = answers(commands)
    assert answer["permissionDecision"] == "deny"
    assert len(recorded(commands, events.FrameRejected)) == 1


@pytest.mark.parametrize("frame", [{"type": "novelty", "x": 1}, {"no": "type"}, {"type": "system", "subtype": "odd"}])
def test_an_unknown_frame_asks_for_nothing(frame: Any) -> None:
    assert Play().running().line(frame) == []


def test_other_hooks_are_answered_with_nothing() -> None:
    (line,) = lines(Play().running().hook("PostToolUse", tool_name="Bash", tool_use_id="u"))
    assert line["response"]["response"] == {}


def test_a_request_of_an_unknown_kind_is_answered_with_an_error() -> None:
    play = Play().running()
    (line,) = lines(play.line({"type": "control_request", "request_id": "q", "request": {"subtype": "mcp_message"}}))
    assert line["response"]["subtype"] == "error"


def test_the_second_gate_repeats_the_first_ones_answer_and_counts_once() -> None:
    play = Play({"rm": verdict(Decision.BLOCK, "no")}).running()
    play.call("rm x")
    (line,) = lines(play.permission("rm x"))
    assert line["response"]["response"] == {"behavior": "deny", "message": "no"}
    assert play.session is not None
    assert play.session.summary.reviews == {"block": 1}


def test_the_second_gate_reviews_a_call_that_never_passed_the_first() -> None:
    (line,) = lines(Play({"rm": verdict(Decision.BLOCK, "no")}).running().permission("rm x"))
    assert line["response"]["response"]["behavior"] == "deny"


def test_the_second_gate_reviews_an_input_that_the_first_did_not_see() -> None:
    play = Play({"rm": verdict(Decision.BLOCK, "no")}).running()
    play.call("ls")
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm"}, "tool_use_id": "u-ls"}
    (line,) = lines(play.line({"type": "control_request", "request_id": "q", "request": request}))
    assert line["response"]["response"]["behavior"] == "deny"


def test_after_its_last_turn_the_agent_finishes_and_ends_well() -> None:
    play = Play().running()
    assert CloseInput() in play.result()
    play.exited(0)
    assert play.session is not None
    assert play.session.state is AgentState.DONE


def test_a_turn_that_ended_in_an_error_makes_the_agent_fail_with_the_reason() -> None:
    play = Play().running()
    play.result(is_error=True, result="API Error: 400 malformed")
    commands = play.exited(1)
    assert play.session is not None
    assert play.session.state is AgentState.FAILED
    (report,) = [command for command in commands if isinstance(command, ReportIncident)]
    assert report.incident.type == "turn_failed"
    assert "400" in report.incident.summary


def test_a_cli_that_ends_too_early_is_an_incident_with_its_last_words() -> None:
    play = Play()
    play.submit()
    play.launched()
    event = events.AgentExited(**play.stamp(), code=1, signal=None, stderr_tail="no such option\n")
    (report,) = [command for command in play.feed(event) if isinstance(command, ReportIncident)]
    assert report.incident.type == "agent_failed"
    assert "no such option" in report.incident.summary


def test_a_message_that_no_turn_has_taken_keeps_the_input_open() -> None:
    play = Play().running()
    play.say("wait, one more thing")
    commands = play.result()
    assert CloseInput() not in commands
    assert StartTimer("settle", 10.0) in commands
    play.taken("wait, one more thing")
    play.init()
    assert CloseInput() in play.result()


def test_a_message_that_is_never_taken_does_not_keep_the_agent_for_ever() -> None:
    play = Play().running()
    play.say("hello?")
    play.result()
    assert CloseInput() in play.fired("settle")


def test_a_cli_that_refuses_the_hooks_is_ended_and_reported() -> None:
    """Without hooks nothing would be reviewed."""
    play = Play()
    play.submit()
    play.launched()
    refused = {"subtype": "error", "request_id": "init", "error": "no hooks today"}
    commands = play.line({"type": "control_response", "response": refused})
    assert Freeze() in commands
    (report,) = [command for command in commands if isinstance(command, ReportIncident)]
    assert (report.incident.type, report.incident.severity) == ("hooks_refused", "critical")
    assert "no hooks today" in report.incident.summary


def test_a_request_that_was_too_long_to_read_is_refused() -> None:
    play = Play().running()
    event = events.LinePassedOver(**play.stamp(), start=0, end=99, request_id="r77")
    (answer,) = answers(play.feed(event))
    assert answer["permissionDecision"] == "deny"


def test_a_request_that_is_no_json_that_can_be_read_is_refused() -> None:
    play = Play().running()
    text = '{"type":"control_request","request_id":"r78","request":' + "[" * 2000
    (answer,) = answers(play.feed(events.LineReceived(**play.stamp(), end=99, text=text)))
    assert answer["permissionDecision"] == "deny"


def test_a_null_where_a_number_may_be_missing_is_a_missing_number() -> None:
    play = Play().running()
    assert CloseInput() in play.result(num_turns=None, total_cost_usd=None, errors=None)


def test_an_agent_that_was_left_frozen_goes_on_with_the_next_daemon() -> None:
    play = Play().running()
    assert play.session is not None
    assert Thaw() in play.session.recover(99, play.journal[-1][1])


def test_a_cli_that_does_not_end_after_its_input_was_closed_is_stopped() -> None:
    play = Play().running()
    assert StartTimer("finish", 660.0) in play.result()
    (changed,) = recorded(play.fired("finish"), events.StateChanged)
    assert changed.after is AgentState.STOPPING
    assert "did not end" in changed.why


def test_a_detector_that_fails_is_switched_off_with_one_incident() -> None:
    class Broken:
        name = "broken"

        def see(self, observation: object) -> list[Issue]:  # noqa: ARG002 - the protocol's
            raise ZeroDivisionError("oh")

    play = Play(detectors=[Guarded(Broken())])
    reports = [c for c in (*play.submit(), *play.launched(), *play.say("hm")) if isinstance(c, ReportIncident)]
    assert [report.incident.type for report in reports] == ["detector_failed-broken"]


def test_whatever_a_plugin_is_called_its_incident_has_an_id_that_can_name_a_file(tmp_path: Path) -> None:
    class Broken:
        name = f"{'my' * 200} detector/2\n"

        def see(self, observation: object) -> list[Issue]:  # noqa: ARG002 - the protocol's
            raise ZeroDivisionError("oh")

    play = Play(detectors=[Guarded(Broken())])
    reports = [c for c in (*play.submit(), *play.launched(), *play.say("hm")) if isinstance(c, ReportIncident)]
    log = IncidentLog.open(tmp_path)
    assert [log.record(report.incident, {"whole": True}) for report in reports] == [True]


def test_background_work_keeps_the_input_open() -> None:
    play = Play().running()
    work = {"type": "system", "subtype": "task_started", "task_id": "b", "task_type": "local_agent"}
    play.line(work)
    assert CloseInput() not in play.result()
    play.line({"type": "system", "subtype": "task_notification", "task_id": "b", "status": "completed"})
    play.init()
    assert CloseInput() in play.result()


def commands_run(*tasks: str) -> dict[str, object]:
    listed = [{"task_id": task, "task_type": "local_bash"} for task in tasks]
    return {"type": "system", "subtype": "background_tasks_changed", "tasks": listed}


def test_a_command_in_the_background_keeps_the_input_open_until_it_ended_or_for_a_while() -> None:
    play = Play().running()
    play.line(commands_run("tests", "server"))
    ended = play.result()
    assert CloseInput() not in ended
    assert StartTimer("commands", 600.0) in ended
    assert CloseInput() not in play.line(commands_run("server"))
    play.init()
    assert CloseInput() not in play.result()
    given_up = play.fired("commands")
    (stop,) = lines(given_up)
    assert stop["request"] == {"subtype": "stop_task", "task_id": "server"}
    sent = next(command for command in given_up if isinstance(command, SendLine))
    assert given_up.index(sent) < given_up.index(CloseInput())


def test_a_daemon_that_comes_back_waits_for_the_commands_of_a_turn_anew() -> None:
    play = Play().running()
    play.line(commands_run("tests"))
    play.result()
    assert play.session is not None
    assert StartTimer("commands", 600.0) in play.session.recover(99, play.journal[-1][1])


@pytest.mark.parametrize("how", [{"keep_open": True}, {"is_error": True}])
def test_commands_in_the_background_hold_up_no_agent_that_is_kept_open_and_no_failure(how: dict[str, bool]) -> None:
    play = Play(keep_open="keep_open" in how).running()
    play.line(commands_run("server"))
    play.result(is_error="is_error" in how)
    assert play.session is not None
    assert play.session.state is (AgentState.IDLE if "keep_open" in how else AgentState.FINISHING)


def test_an_agent_that_is_kept_open_waits_to_be_told_more() -> None:
    play = Play(keep_open=True).running()
    play.result()
    assert play.session is not None
    assert play.session.state is AgentState.IDLE
    assert lines(play.say("more"))[0]["message"]["content"] == "more"


def test_a_paused_agents_calls_wait_and_are_answered_when_it_is_resumed() -> None:
    play = Play().running()
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    assert lines(play.call("ls")) == []
    assert len(answers(play.feed(events.ResumeRequested(**play.stamp(), by="ann")))) == 1


def test_a_critical_rule_freezes_at_once_reports_and_then_ends_the_tree() -> None:
    play = Play({"hooks": STOP}).running()
    commands = play.call("echo > hooks")
    assert Freeze() in commands
    assert EndTree() not in commands
    (report,) = [command for command in commands if isinstance(command, ReportIncident)]
    assert report.incident.type == "emergency_stop"
    assert report.report is not None
    assert report.report["last_actions"][-1]["what"] == "echo > hooks"
    assert EndTree() in play.feed(events.TreeFrozen(**play.stamp(), micros=300))
    play.exited(None, 9)
    assert play.session is not None
    assert play.session.state is AgentState.STOPPED


def test_a_tree_that_does_not_freeze_is_ended_all_the_same() -> None:
    play = Play({"hooks": STOP}).running()
    assert StartTimer("ladder", 1.0) in play.call("echo > hooks")
    assert EndTree() in play.fired("ladder")


def test_a_stopped_agents_calls_are_never_answered() -> None:
    play = Play().running()
    play.feed(events.StopRequested(**play.stamp(), by="ann"))
    assert answers(play.call("ls")) == []


def test_a_stop_climbs_its_ladder_from_interrupt_to_kill() -> None:
    play = Play().running()
    first = play.feed(events.StopRequested(**play.stamp(), by="ann"))
    assert lines(first)[0]["request"] == {"subtype": "interrupt"}
    assert CloseInput() in play.fired("ladder")
    assert Terminate() in play.fired("ladder")
    assert EndTree() in play.fired("ladder")
    assert play.fired("ladder") == []


def test_a_turn_that_the_interrupt_ended_climbs_at_once() -> None:
    play = Play().running()
    play.feed(events.StopRequested(**play.stamp(), by="ann"))
    assert CloseInput() in play.result(is_error=True)


def test_a_second_stop_by_force_jumps_to_the_end_of_the_ladder() -> None:
    play = Play().running()
    play.feed(events.StopRequested(**play.stamp(), by="ann"))
    commands = play.feed(events.StopRequested(**play.stamp(), by="ann", force=True))
    assert [event.rung for event in recorded(commands, events.RungReached)] == [StopStep.FREEZE]
    assert Freeze() in commands


def test_a_cli_that_never_answers_is_ended_and_reported() -> None:
    play = Play()
    play.submit()
    assert StartTimer("hello", 60.0) in play.launched()
    commands = play.fired("hello")
    assert Freeze() in commands
    (report,) = [command for command in commands if isinstance(command, ReportIncident)]
    assert report.incident.type == "agent_silent"


def test_the_hello_timer_means_nothing_once_the_cli_has_answered() -> None:
    play = Play().running()
    assert play.fired("hello") == []


@pytest.mark.parametrize(
    ("request_", "more"),
    [(events.SayRequested, {"id": "1", "text": "x"}), (events.PauseRequested, {}), (events.ResumeRequested, {})],
)
def test_a_request_that_the_state_does_not_allow_is_refused(request_: Any, more: dict[str, Any]) -> None:
    play = Play().running()
    play.result()
    assert play.session is not None
    with pytest.raises(IllegalStepError, match="is finishing and cannot"):
        play.session.check(request_(**play.stamp(), by="ann", **more))


def test_an_idle_agent_that_was_paused_is_idle_again_when_it_is_resumed() -> None:
    play = Play(keep_open=True).running()
    play.result()
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    play.feed(events.ResumeRequested(**play.stamp(), by="ann"))
    assert play.session is not None
    assert play.session.state is AgentState.IDLE


def test_an_agent_that_was_told_more_while_it_was_paused_runs_when_it_is_resumed() -> None:
    play = Play(keep_open=True).running()
    play.result()
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    play.say("more")
    play.taken("more")
    play.init()
    play.feed(events.ResumeRequested(**play.stamp(), by="ann"))
    assert play.session is not None
    assert play.session.state is AgentState.RUNNING


def told(commands: list[Any]) -> list[tuple[str, str]]:
    found = [command.incident for command in commands if isinstance(command, ReportIncident)]
    return [(incident.type, str(incident.severity)) for incident in found]


def test_lines_that_cannot_be_read_are_told_once_a_turn() -> None:
    play = Play(keep_open=True).running()
    malformed = {"type": "control_request", "request_id": "r9", "request": {"subtype": "hook_callback"}}
    assert told(play.line(malformed)) == [("frame_rejected", "medium")]
    assert told(play.line(malformed)) == []
    play.result()
    play.init()
    assert told(play.line(malformed)) == [("frame_rejected", "medium")]


def test_settings_that_change_in_mid_run_are_kept_out_and_told_of_once_for_each_file() -> None:
    play = Play(keep_open=True).running()
    found = []
    for path in ("/repo/.claude/settings.json", "/repo/.claude/settings.json", "/home/ann/.claude/settings.json"):
        commands = play.hook("ConfigChange", source="project_settings", file_path=path)
        (answer,) = [line["response"]["response"] for line in lines(commands)]
        assert answer["decision"] == "block"
        found += told(commands)
    assert found == [("settings_changed", "medium")] * 2


def test_two_messages_that_the_cli_takes_as_one_prompt_are_known_by_their_ids() -> None:
    play = Play().running()
    ids = [lines(play.say(text))[0]["uuid"] for text in ("first", "second")]
    play.result()
    for id_ in ids:
        play.line({"type": "command_lifecycle", "command_uuid": id_, "state": "started"})
    play.taken("first\nsecond")
    play.init()
    assert CloseInput() in play.result()


def too_long() -> Review:
    raise ReviewDeferredError("the review took more than 0.05 s")


def elsewhere(commands: Any) -> list[str]:
    return [command.action.input["command"] for command in commands if isinstance(command, ReviewElsewhere)]


def arrive(play: Play, request_id: str, review: Review) -> list[Command]:
    return play.feed(events.ReviewArrived(**play.stamp(), request_id=request_id, review=review))


def test_a_review_that_takes_long_is_made_elsewhere_and_other_calls_are_answered_meanwhile() -> None:
    play = Play({"long": too_long}).running()
    first = play.call("long one")
    assert elsewhere(first) == ["long one"]
    assert answers(first) == []
    second = play.call("ls")
    assert elsewhere(second) == []
    assert [answer["permissionDecision"] for answer in answers(second)] == ["allow"]
    assert [answer["permissionDecision"] for answer in answers(arrive(play, "r2", verdict(Decision.BLOCK)))] == ["deny"]
    assert answers(arrive(play, "r2", verdict(Decision.ALLOW))) == []


def test_a_review_that_nobody_waits_for_any_more_changes_nothing() -> None:
    play = Play({"long": too_long}).running()
    assert answers(arrive(play, "r9", verdict(Decision.ALLOW))) == []
    play.call("long one")
    play.line({"type": "control_cancel_request", "request_id": "r2"})
    assert arrive(play, "r2", verdict(Decision.ALLOW)) == []


def test_a_review_that_was_under_way_as_the_daemon_ended_is_made_again() -> None:
    play = Play({"long": too_long}).running()
    play.call("long one")
    after = Play({"long": too_long}, prompt=play.task.prompt)
    for seq, event in play.journal:
        after.journal.append((seq, event))
        if isinstance(event, events.TaskSubmitted):
            after.session = after.make(event)
        assert after.session is not None
        after.session.remember(seq, event)
    assert after.session is not None
    adopted = play.journal[-1]
    assert elsewhere(after.session.recover(adopted[0] + 1, adopted[1])) == ["long one"]
    assert [answer["permissionDecision"] for answer in answers(arrive(after, "r2", ALLOW))] == ["allow"]
