import json
from typing import Any, TypeVar

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitors.contract.errors import FrameError
from supervisor.protocol.claude.messages import (
    Assistant,
    BackgroundCommands,
    BackgroundTask,
    Cancelled,
    CanUseTool,
    Compacted,
    ControlResponse,
    HookCallback,
    Init,
    Message,
    NotJson,
    Result,
    TokenUsage,
    Unknown,
    UnknownRequest,
    User,
    decode,
    parse,
    parse_frame,
)
from supervisor.protocol.claude.retrying import Retrying
from tests.support import recorded, recorded_cases

KINDS = (
    "system",
    "assistant",
    "user",
    "result",
    "control_request",
    "control_response",
    "control_cancel_request",
    "tool_progress",
)
SUBTYPES = ("init", "compact_boundary", "task_started", "task_updated", "hook_callback", "can_use_tool", "success", "")

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["message", "content", "id", "usage", "uuid", "request", "request_id", "response", "subtype", "input", "patch", "status",
     "session_id", "cwd", "is_error", "result", "hook_event_name", "tool_name", "callback_id", "text", "type"]
)  # fmt: skip
NEARLY = st.recursive(VALUES, lambda inner: st.dictionaries(FIELDS, inner, max_size=5) | st.lists(inner, max_size=2))
FRAMES = st.builds(
    lambda fields, kind, subtype: {**fields, "type": kind, "subtype": subtype},
    st.dictionaries(FIELDS, NEARLY, max_size=6),
    st.sampled_from(KINDS) | VALUES,
    st.sampled_from(SUBTYPES) | VALUES,
)

REQUEST = {"type": "control_request", "request_id": "r1"}
HOOK = {
    **REQUEST,
    "request": {
        "subtype": "hook_callback",
        "callback_id": "PreToolUse",
        "input": {
            "hook_event_name": "PreToolUse",
            "session_id": "s1",
            "cwd": "/w",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_use_id": "toolu_1",
        },
    },
}


def line(frame: object) -> bytes:
    return orjson.dumps(frame)


def without(frame: dict[str, Any], *path: str) -> dict[str, Any]:
    """The frame without the field at the path."""
    copy: dict[str, Any] = orjson.loads(orjson.dumps(frame))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return copy


@given(FRAMES)
def test_no_json_object_raises_anything_but_a_frame_error(frame: dict[str, Any]) -> None:
    try:
        found: Message | FrameError = parse(json.dumps(frame).encode())
    except FrameError as error:
        found = error
    assert not isinstance(found, NotJson)
    assert not isinstance(found, FrameError) or (found.kind and found.problem)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything(data: bytes) -> None:
    message = parse(data)
    assert isinstance(message, (NotJson, Unknown))


@given(st.text(min_size=1).filter(lambda kind: kind not in KINDS), VALUES)
def test_an_unknown_kind_is_kept_by_name(kind: str, value: object) -> None:
    assert parse_frame({"type": kind, "something": value}) == Unknown(kind)


# Each known kind at its least, what it becomes, and the fields without which it is refused.
KNOWN: list[tuple[dict[str, Any], Message, list[tuple[str, ...]]]] = [
    (
        {"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/w", "permissionMode": "default", "claude_code_version": "2"},
        Init("s1", "/w", "", "default", "2"),
        [("session_id",), ("cwd",)],
    ),
    ({"type": "system", "subtype": "compact_boundary"}, Compacted(), []),
    (
        {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 3}}},
        Assistant("m1", [{"type": "text", "text": "hi"}], usage=TokenUsage(3)),
        [("message",), ("message", "id"), ("message", "content")],
    ),
    ({"type": "user", "message": {"content": "hi"}, "uuid": "u1"}, User("hi", "u1"), [("message",), ("message", "content")]),
    ({"type": "result", "subtype": "success", "is_error": False}, Result("success", False), [("subtype",), ("is_error",)]),
    (
        HOOK,
        HookCallback("r1", "PreToolUse", "PreToolUse", "s1", "/w", "Bash", {"command": "ls"}, "toolu_1"),
        [("request_id",), ("request", "callback_id"), ("request", "input"), ("request", "input", "hook_event_name")],
    ),
    (
        {**REQUEST, "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}},
        CanUseTool("r1", "Bash", {"command": "ls"}),
        [("request_id",), ("request", "tool_name"), ("request", "input")],
    ),
    (
        {**REQUEST, "request": {"subtype": "of_tomorrow"}},
        UnknownRequest("r1", "of_tomorrow"),
        [("request_id",), ("request",), ("request", "subtype")],
    ),
    (
        {"type": "control_response", "response": {"subtype": "error", "request_id": "r1", "error": "no"}},
        ControlResponse("r1", "error", "no"),
        [("response",), ("response", "request_id"), ("response", "subtype")],
    ),
    ({"type": "control_cancel_request", "request_id": "r1"}, Cancelled("r1"), [("request_id",)]),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "message", "_needed"), KNOWN)
def test_a_known_kind_becomes_its_message(frame: dict[str, Any], message: Message, _needed: object) -> None:
    assert parse(line(frame)) == message
    assert parse(line({**frame, "of_tomorrow": [1, 2]})) == message


@pytest.mark.parametrize(("frame", "path"), [(frame, path) for frame, _, needed in KNOWN for path in needed])
def test_a_known_kind_that_lacks_a_field_is_refused_by_the_fields_name(
    frame: dict[str, Any], path: tuple[str, ...]
) -> None:
    with pytest.raises(FrameError, match=path[-1] if path[-1] != "request" else "request") as refused:
        parse(line(without(frame, *path)))
    if frame["type"] == "control_request":
        assert refused.value.request_id == (None if path == ("request_id",) else "r1")


@pytest.mark.parametrize("subtype", [None, 3, [], {"a": 1}, "of_tomorrow"])
def test_a_system_frame_of_an_odd_subtype_is_unknown(subtype: object) -> None:
    assert isinstance(parse(line({"type": "system", "subtype": subtype})), Unknown)


@pytest.mark.parametrize("content", [3, None, ["text"], [{"type": "text"}, 3], {"type": "text"}])
def test_content_that_is_no_text_and_no_list_of_blocks_is_refused(content: object) -> None:
    with pytest.raises(FrameError, match="content"):
        parse(line({"type": "user", "message": {"content": content}}))


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ({"subtype": "task_started", "task_id": "t", "task_type": "local_agent"}, BackgroundTask("t", "local_agent", "started")),
        ({"subtype": "task_updated", "task_id": "t", "patch": {"status": "completed"}}, BackgroundTask("t", None, "completed")),
        ({"subtype": "task_notification", "task_id": "t", "status": "failed"}, BackgroundTask("t", None, "failed")),
        ({"subtype": "task_updated", "patch": 3, "task_type": []}, BackgroundTask("", None, None)),
    ],
)  # fmt: skip
def test_frames_about_tasks_are_read_leniently(frame: dict[str, Any], expected: BackgroundTask) -> None:
    assert parse(line({"type": "system", **frame})) == expected


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([{"task_id": "a", "task_type": "local_bash"}, {"task_id": "b", "task_type": "local_agent"}, 3], {"a"}),
        ([], set()),
        (None, set()),
    ],
)
def test_the_commands_that_run_in_the_background_are_read_leniently(tasks: object, expected: set[str]) -> None:
    frame = {"type": "system", "subtype": "background_tasks_changed", "tasks": tasks}
    assert parse(line(frame)) == BackgroundCommands(frozenset(expected))


def test_a_lone_surrogate_does_not_cost_the_frame() -> None:
    text = json.dumps(HOOK).replace('"ls"', '"echo \\ud83d"')
    message = parse(text.encode())
    assert isinstance(message, HookCallback)
    assert message.tool_input == {"command": "echo ?"}
    assert orjson.dumps(decode(text.encode()))


@pytest.mark.parametrize(
    "data",
    [b"", b" ", b"warning: something", b"[1]", b"3", b'"text"', b"null", b'{"type": "user"', b'{"a": NaN', b"\xff\xfe", b"[" * 100_000],
    ids=lambda data: repr(data[:12]),
)  # fmt: skip
def test_what_is_no_json_object_is_kept_as_text(data: bytes) -> None:
    assert parse(data) == NotJson(data.decode(errors="replace"))


def test_invalid_utf8_inside_a_frame_is_kept_as_text() -> None:
    assert isinstance(parse(b'{"type": "user", "message": {"content": "\xff"}}'), NotJson)


def test_deep_nesting_is_no_crash() -> None:
    deep = b'{"type":"user","message":{"content":"hi"},"x":' + b"[" * 900 + b"]" * 900 + b"}"
    assert parse(deep) == User("hi")
    deeper = b'{"type":"user","message":{"content":"hi"},"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    assert isinstance(parse(deeper), NotJson)


def test_texts_and_results_are_read_from_their_blocks() -> None:
    said = Assistant(
        "m", [{"type": "text", "text": "a"}, {"type": "tool_use"}, {"type": "text"}, {"type": "text", "text": "b"}]
    )
    assert list(said.texts()) == ["a", "b"]
    result = {"type": "tool_result", "tool_use_id": "t"}
    assert list(User([result, {"type": "text", "text": "x"}]).results()) == [result]
    assert list(User("text").results()) == []


# ── recordings ────────────────────────────────────────────────────────────────────────────────────────────────────────


def messages(case: str) -> list[Message]:
    return [parse(data) for data in recorded(case)]


M = TypeVar("M")


def of(kind: type[M], case: str) -> list[M]:
    return [message for message in messages(case) if isinstance(message, kind)]


@pytest.mark.parametrize("case", recorded_cases())
def test_every_line_that_was_recorded_is_understood(case: str) -> None:
    found = messages(case)
    kinds = {type(message) for message in found}
    assert {Init, ControlResponse, Result} <= kinds
    assert not kinds & {NotJson, UnknownRequest}
    assert all(init.session_id and init.cwd == "/rehearsal/workspace" for init in of(Init, case))
    assert all(hook.cwd == "/rehearsal/workspace" and hook.session_id for hook in of(HookCallback, case))


def test_the_recordings_are_there() -> None:
    assert len(recorded_cases()) >= 15


def test_a_plain_run_is_read_call_by_call() -> None:
    hooks = [(hook.event, hook.tool_name) for hook in of(HookCallback, "plain") if hook.event != "Stop"]
    tools = ["Bash", "Write", "Read", "Edit"]
    both = [(event, tool) for tool in tools for event in ("PreToolUse", "PostToolUse")]
    assert hooks == [("UserPromptSubmit", ""), *both]
    results = [result for user in of(User, "plain") for result in user.results()]
    assert [result["tool_use_id"] for result in results] == [f"toolu_000{n}" for n in range(1, 5)]
    assert not any(result.get("is_error") for result in results)
    assert [result.is_error for result in of(Result, "plain")] == [False]
    assert of(Assistant, "plain")[-1].usage.cache_read_input_tokens == 4000


def test_a_failed_call_has_its_own_event_and_an_error_result() -> None:
    assert [hook.event for hook in of(HookCallback, "failure") if hook.tool_name] == [
        "PreToolUse",
        "PostToolUseFailure",
    ]
    assert [result["is_error"] for user in of(User, "failure") for result in user.results()] == [True, True]


@pytest.mark.parametrize("case", ["denied", "asked_permission"])
def test_a_refused_call_is_an_error_result_that_names_the_decision(case: str) -> None:
    decisions = [meta["permission_decision"]["decision"] for user in of(User, case) for meta in user.tool_result_meta]
    assert decisions[-1] == "reject"


def test_the_second_gate_asks_with_tool_and_input() -> None:
    asked = of(CanUseTool, "asked_permission")
    assert [(each.tool_name, each.input["command"]) for each in asked] == [
        ("Bash", "echo one > one.txt"),
        ("Bash", "echo two > two.txt"),
    ]
    assert [each.tool_use_id for each in asked] == ["toolu_0001", "toolu_0002"]


def test_a_question_taken_back_names_the_request() -> None:
    asked = [hook.request_id for hook in of(HookCallback, "hook_cancelled") if hook.event == "PreToolUse"]
    assert [cancelled.request_id for cancelled in of(Cancelled, "hook_cancelled")] == asked


def test_an_interrupted_turn_has_a_result_and_the_next_one_another() -> None:
    assert [result.subtype for result in of(Result, "interrupted")] == ["error_during_execution", "success"]


def test_a_subagent_is_seen_by_its_calls_and_its_task() -> None:
    bash = [hook for hook in of(HookCallback, "subagent") if hook.tool_name == "Bash"]
    assert bash
    assert all(hook.agent_id for hook in bash)
    tasks = of(BackgroundTask, "subagent")
    assert (tasks[0].task_type, tasks[0].status, tasks[-1].status) == ("local_agent", "started", "completed")
    assert any(assistant.parent_tool_use_id == "toolu_0001" for assistant in of(Assistant, "subagent"))


def test_retries_are_read_and_the_turn_ends_well_all_the_same() -> None:
    assert len(of(Retrying, "overloaded")) >= 2
    assert not of(Result, "overloaded")[-1].is_error


@pytest.mark.parametrize(
    ("case", "words"), [("refused_by_the_api", "The prompt is too odd."), ("overloaded_for_good", "529")]
)
def test_an_api_failure_is_a_result_of_subtype_success_that_is_an_error(case: str, words: str) -> None:
    result = of(Result, case)[-1]
    assert (result.subtype, result.is_error) == ("success", True)
    assert words in result.result


def test_a_shortened_conversation_is_seen() -> None:
    assert len(of(Compacted, "compacted")) == 1
    assert [hook.event for hook in of(HookCallback, "compacted")].count("PreCompact") == 1
