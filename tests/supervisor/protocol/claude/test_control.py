from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.claude import control
from tests.support import recorded

TEXT = st.text(st.characters(codec="utf-8"))


def frame(line: bytes) -> dict[str, Any]:
    """What the line says, after checking that it is one line."""
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    decoded: dict[str, Any] = orjson.loads(line)
    return decoded


def body(line: bytes) -> Any:
    """What an answer carries, after checking its envelope."""
    answer = frame(line)
    assert answer["type"] == "control_response"
    assert answer["response"]["subtype"] == "success"
    assert answer["response"]["request_id"] == "r1"
    return answer["response"]["response"]


def test_initialize_registers_each_hook_under_its_events_name() -> None:
    request = frame(control.initialize("r0"))
    assert (request["type"], request["request_id"]) == ("control_request", "r0")
    assert request["request"]["subtype"] == "initialize"
    assert tuple(request["request"]["hooks"]) == control.HOOK_EVENTS
    assert request["request"]["hooks"]["PreToolUse"] == [
        {"matcher": None, "hookCallbackIds": ["PreToolUse"], "timeout": control.HOOK_TIMEOUT_SECONDS}
    ]


def test_the_hooks_wait_for_a_day_at_most_what_a_timer_holds() -> None:
    assert 3600 <= control.HOOK_TIMEOUT_SECONDS < 2**31 / 1000


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        (control.interrupt("r1"), {"subtype": "interrupt"}),
        (control.set_model("r1", None), {"subtype": "set_model", "model": None}),
    ],
)
def test_requests_of_ours_carry_their_id(line: bytes, request_: dict[str, Any]) -> None:
    assert frame(line) == {"type": "control_request", "request_id": "r1", "request": request_}


@given(TEXT)
def test_a_user_message_carries_any_text_on_one_line(text: str) -> None:
    assert frame(control.user_message(text)) == {
        "type": "user",
        "message": {"role": "user", "content": text},
        "parent_tool_use_id": None,
        "session_id": "",
    }


def test_a_user_message_may_have_an_id_of_its_own() -> None:
    assert frame(control.user_message("hi", "00000000-0000-4000-8000-000000000001"))["uuid"].endswith("1")
    assert "uuid" not in frame(control.user_message("hi"))


def test_a_user_message_is_what_was_recorded() -> None:
    said = orjson.loads(recorded("said_mid_turn", "in")[1])
    assert frame(control.user_message("do the thing")) == said


def test_allow_says_so_and_nothing_more() -> None:
    expected = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    assert body(control.allow_tool("r1")) == expected


def test_a_warning_lets_the_call_run_and_tells_the_model() -> None:
    output = body(control.allow_tool("r1", context="Mind the gap."))["hookSpecificOutput"]
    assert output["permissionDecision"] == "allow"
    assert output["additionalContext"] == "Mind the gap."
    assert "updatedInput" not in output


def test_a_modified_call_carries_the_whole_changed_input_even_an_empty_one() -> None:
    output = body(control.allow_tool("r1", context="Changed.", updated_input={"command": "ls"}))["hookSpecificOutput"]
    assert output["updatedInput"] == {"command": "ls"}
    assert body(control.allow_tool("r1", updated_input={}))["hookSpecificOutput"]["updatedInput"] == {}


def test_a_denial_carries_its_reason() -> None:
    assert body(control.deny_tool("r1", "because")) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "because",
        }
    }


def test_permission_is_granted_with_an_input_and_refused_with_a_reason() -> None:
    assert body(control.grant_permission("r1", {"a": 1})) == {"behavior": "allow", "updatedInput": {"a": 1}}
    assert body(control.refuse_permission("r1", "no")) == {"behavior": "deny", "message": "no"}


def test_a_request_of_an_unknown_kind_is_refused_by_name() -> None:
    answer = frame(control.refuse_unknown("r1", "of_tomorrow"))["response"]
    assert (answer["subtype"], answer["request_id"]) == ("error", "r1")
    assert "'of_tomorrow'" in answer["error"]


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: control.user_message(text),
        lambda text: control.deny_tool("r1", text),
        lambda text: control.allow_tool("r1", context=text),
        lambda text: control.allow_tool("r1", updated_input={"command": text}),
        lambda text: control.refuse_permission("r1", text),
    ],
)
def test_a_lone_surrogate_is_sent_as_a_question_mark(encode: Callable[[str], bytes]) -> None:
    """A gate that could not be answered would leave the CLI waiting."""
    assert b"a?b" in encode("a\ud83db")
