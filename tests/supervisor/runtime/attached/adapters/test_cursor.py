"""Cursor's hooks and answers, as its documentation has them."""

import pytest

from supervisor.runtime.attached.adapters import cursor


def test_its_gates_alone_fail_closed() -> None:
    closed = {event for event in cursor.EVENTS if cursor.entry(event, "run it", 60).get("failClosed")}
    assert closed == {"preToolUse", "beforeReadFile"}


def test_a_call_that_would_be_changed_is_denied_with_the_input_that_passes() -> None:
    output = {"updatedInput": {"command": "git push --force-with-lease"}, "additionalContext": "It would overwrite."}
    answer = cursor.answer({"hook_event_name": "preToolUse"}, {"hookSpecificOutput": output})
    assert answer["permission"] == "deny"
    assert answer["agent_message"] == 'It would overwrite. This passes: {"command": "git push --force-with-lease"}'


@pytest.mark.parametrize(("decision", "permission"), [("deny", "deny"), ("ask", "ask"), ("allow", "allow")])
def test_a_permission_is_said_in_each_answer_of_a_gate(decision: str, permission: str) -> None:
    ours = {"hookSpecificOutput": {"permissionDecision": decision, "permissionDecisionReason": "So."}}
    assert cursor.answer({"hook_event_name": "beforeReadFile"}, ours)["permission"] == permission


def test_silence_of_the_daemon_passes_a_call_aloud_since_no_output_blocks_it() -> None:
    assert cursor.answer({"hook_event_name": "preToolUse"}, {}) == {"permission": "allow"}


def test_a_stop_blocks_the_next_prompt_too() -> None:
    ours = {"continue": False, "stopReason": "Stopped."}
    answer = cursor.answer({"hook_event_name": "beforeSubmitPrompt"}, ours)
    assert answer == {"continue": False, "user_message": "Stopped."}


def test_an_end_that_is_not_granted_yet_is_followed_up() -> None:
    answer = cursor.answer({"hook_event_name": "stop"}, {"decision": "block", "reason": "Run the tests."})
    assert answer == {"followup_message": "Run the tests."}


def test_a_deletion_is_reviewed_as_what_it_does() -> None:
    given = {"hook_event_name": "preToolUse", "tool_name": "Delete", "tool_input": {"path": "a b"}, "cwd": "/w"}
    made = cursor.payload("PreToolUse", given)
    assert made is not None
    assert (made["tool_name"], made["tool_input"]) == ("Bash", {"command": "rm -- 'a b'"})


def test_a_servers_tool_is_reviewed_as_one() -> None:
    given = {"hook_event_name": "preToolUse", "tool_name": "MCP:create_issue", "tool_input": '{"title": "x"}'}
    made = cursor.payload("PreToolUse", given)
    assert made is not None
    assert (made["tool_name"], made["tool_input"]) == ("mcp__cursor__create_issue", {"title": "x"})
