"""Payloads of hooks as lines of the CLI, and the core's answers as answers of hooks."""

from typing import Any

import orjson
import pytest

from supervisor.protocol.claude import control, messages
from supervisor.runtime.attached import translation

CALL = {
    "hook_event_name": "PreToolUse",
    "session_id": "s-1",
    "cwd": "/repo",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "t-1",
}


def response(line: bytes) -> dict[str, Any]:
    return dict(orjson.loads(line)["response"]["response"])


def test_a_hook_is_read_as_the_request_that_a_launched_cli_makes() -> None:
    found = messages.parse_frame(translation.request(CALL, "r-1"))
    assert isinstance(found, messages.HookCallback)
    assert (found.request_id, found.event, found.tool_name, found.tool_use_id) == ("r-1", "PreToolUse", "Bash", "t-1")


@pytest.mark.parametrize(
    ("back", "text", "failed"),
    [
        ({"hook_event_name": "PostToolUse", "tool_response": {"stdout": "one", "stderr": "two"}}, "one\ntwo", False),
        ({"hook_event_name": "PostToolUse", "tool_response": [{"type": "text", "text": "x"}]}, "x", False),
        ({"hook_event_name": "PostToolUse", "tool_response": {"type": "create"}}, '{"type":"create"}', False),
        ({"hook_event_name": "PostToolUse", "tool_response": None}, "", False),
        ({"hook_event_name": "PostToolUseFailure", "error": "Exit code 2"}, "Exit code 2", True),
    ],
)
def test_a_call_that_came_back_is_read_as_its_result(back: dict[str, Any], text: str, failed: bool) -> None:
    found = messages.parse_frame(translation.result({**CALL, **back}))
    assert isinstance(found, messages.User)
    [block] = found.results()
    assert (block["tool_use_id"], block["content"], block["is_error"]) == ("t-1", text, failed)


def test_a_turn_is_read_from_its_two_ends() -> None:
    began = messages.parse_frame(translation.turn_begins(CALL, "opus", "2.1"))
    assert isinstance(began, messages.Init)
    assert (began.session_id, began.model, began.cli_version) == ("s-1", "opus", "2.1")
    ended = messages.parse_frame(translation.turn_ends({"last_assistant_message": "Done."}))
    assert isinstance(ended, messages.Result)
    assert (ended.result, ended.is_error) == ("Done.", False)


def test_of_a_session_file_only_the_agents_own_replies_are_read() -> None:
    line = {"type": "assistant", "uuid": "u", "message": {"id": "m", "content": []}, "isSidechain": False}
    frame = translation.spoken(line)
    assert frame is not None
    assert isinstance(messages.parse_frame(frame), messages.Assistant)
    for other in ({**line, "isSidechain": True}, {**line, "type": "user"}, {**line, "message": "x"}):
        assert translation.spoken(other) is None


def test_a_call_that_passes_is_not_granted_beyond_the_clis_own_rules() -> None:
    assert translation.reply("PreToolUse", response(control.allow_tool("r"))) == {}
    changed = translation.reply("PreToolUse", response(control.allow_tool("r", updated_input={"command": "ls -a"})))
    output = {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls -a"}}
    assert changed["hookSpecificOutput"] == output


def test_a_call_that_is_blocked_is_denied_with_the_reason() -> None:
    assert translation.reply("PreToolUse", response(control.deny_tool("r", "no"))) == {
        "hookSpecificOutput": translation.refusal("no")
    }


def test_a_message_goes_with_the_answer_that_can_carry_it() -> None:
    told = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "look"}}
    assert translation.reply("PostToolUse", {}, ["look"]) == told
    assert translation.reply("Stop", {}, ["look"]) == {"decision": "block", "reason": "look"}


def test_a_stop_denies_the_call_since_its_end_of_the_turn_alone_would_let_it_run() -> None:
    assert translation.reply("PreToolUse", {}, stop="over") == {
        "continue": False,
        "stopReason": "over",
        "hookSpecificOutput": translation.refusal("over"),
    }


def test_the_person_is_shown_what_the_model_is_told_and_what_is_changed() -> None:
    shown = translation.reply("Stop", {}, ["look"], ["To the model: look"])
    assert shown == {"decision": "block", "reason": "look", "systemMessage": "To the model: look"}
    line = control.allow_tool("r", updated_input={"command": "ls"}, context="safer")
    assert translation.reply("PreToolUse", response(line))["systemMessage"] == "Chaperon changed this call: safer"


def test_what_a_person_is_shown_is_cut() -> None:
    shown = translation.reply("UserPromptSubmit", {}, (), ["x" * 10_000])["systemMessage"]
    assert len(shown) == translation.LONGEST_SHOWN + 1


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (control.set_effort("r", "low"), "/effort low"),
        (control.set_model("r", "small"), "/model small"),
        (control.stop_task("r", "t-7"), "t-7"),
        (control.get_usage("r"), ""),
        (control.set_model("r", None), ""),
    ],
)
def test_what_no_hook_can_do_its_person_is_asked_to_do(line: bytes, hint: str) -> None:
    told = translation.for_the_person(orjson.loads(line)["request"])
    assert hint in told
    assert bool(told) is bool(hint)
