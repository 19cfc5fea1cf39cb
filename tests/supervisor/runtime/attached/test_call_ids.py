"""Ids of calls of a CLI that tells none."""

from typing import Any

from supervisor.runtime.attached.call_ids import MOST_OPEN, CallIds


def gate(command: str) -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}


def back(command: str, event: str = "PostToolUse") -> dict[str, Any]:
    return {**gate(command), "hook_event_name": event}


def test_a_call_has_the_id_of_its_request_and_comes_back_under_it() -> None:
    ids = CallIds()
    assert ids.with_id(gate("ls"), "7-h1")["tool_use_id"] == "call-7-h1"
    assert ids.with_id(gate("ls"), "7-h1")["tool_use_id"] == "call-7-h1", "the same hook again"
    assert ids.with_id(back("ls", "PostToolUseFailure"), "7-h2")["tool_use_id"] == "call-7-h1"
    assert ids.with_id(back("ls"), "7-h3")["tool_use_id"] == ""


def test_the_same_call_twice_is_two_calls_of_which_the_older_comes_back_first() -> None:
    ids = CallIds()
    for number in "12":
        ids.with_id(gate("ls"), number)
    assert [ids.with_id(back("ls"), "x")["tool_use_id"] for _ in "12"] == ["call-1", "call-2"]


def test_a_call_that_was_changed_comes_back_with_its_changed_input() -> None:
    ids = CallIds()
    asked = ids.with_id(gate("push -f"), "1")
    ids.answered(asked, {"hookSpecificOutput": {"updatedInput": {"command": "push"}}})
    assert ids.with_id(back("push"), "x")["tool_use_id"] == "call-1"


def test_a_call_that_was_denied_never_comes_back() -> None:
    ids = CallIds()
    ids.answered(ids.with_id(gate("ls"), "1"), {"hookSpecificOutput": {"permissionDecision": "deny"}})
    assert ids.with_id(back("ls"), "x")["tool_use_id"] == ""


def test_an_id_of_the_cli_stays_and_so_does_every_other_hook() -> None:
    ids = CallIds()
    assert ids.with_id({**gate("ls"), "tool_use_id": "toolu_1"}, "1")["tool_use_id"] == "toolu_1"
    assert ids.with_id({"hook_event_name": "Stop"}, "2") == {"hook_event_name": "Stop"}


def test_calls_that_never_come_back_are_forgotten() -> None:
    ids = CallIds()
    for number in range(MOST_OPEN + 1):
        ids.with_id(gate(f"echo {number}"), str(number))
    assert ids.with_id(back("echo 0"), "x")["tool_use_id"] == ""
    assert ids.with_id(back("echo 1"), "x")["tool_use_id"] == "call-1"
