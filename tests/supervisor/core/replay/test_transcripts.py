import json
from typing import Any

import pytest

from supervisor.core.replay.transcripts import TranscriptLine, TranscriptReader, seconds
from supervisor.protocol.claude.messages import Assistant, User

COMMON = {"sessionId": "s1", "uuid": "u", "cwd": "/w", "version": "2.1.39", "timestamp": "2026-02-11T17:15:22.500Z"}


def line(frame: dict[str, Any]) -> bytes:
    return json.dumps(frame).encode()


def user(content: Any, **more: Any) -> bytes:
    return line({"type": "user", "message": {"role": "user", "content": content}, **COMMON, **more})


def test_a_transcripts_line_gives_message_place_time_and_session() -> None:
    record = TranscriptReader().read(line({"type": "assistant", "message": {"id": "m", "content": []}, **COMMON}))
    assert record is not None
    assert isinstance(record.message, Assistant)
    assert (record.seq, record.mono, record.cwd, record.session_id) == (1, 1770830122.5, "/w", "s1")


def test_what_a_person_said_is_told_from_what_the_cli_put_in_the_users_place() -> None:
    def said(content: Any, **more: Any) -> str:
        record = TranscriptReader().read(user(content, **more))
        return record.said if record else ""

    assert said("mend the parser") == "mend the parser"
    assert said([{"type": "text", "text": "mend the parser"}]) == "mend the parser"
    assert said("<command-name>/plan</command-name><command-args>phase 2</command-args>") == "/plan phase 2"
    assert said("<command-message>check</command-message>\n<command-name>/check</command-name>") == "/check"
    assert said("<command-name>/clear</command-name><command-args></command-args>") == ""
    assert said("<local-command-stdout></local-command-stdout>") == ""
    assert said("[Request interrupted by user]") == ""
    assert said("You are …", isMeta=True) == ""
    assert said("This session is being continued", isCompactSummary=True) == ""
    assert said("do it", isSidechain=True) == ""


def test_the_permission_decision_of_a_line_goes_to_its_results() -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}
    decision = {"decision": "reject", "source": "hook"}
    record = TranscriptReader().read(user([block], permissionDecision=decision, toolUseResult="Error: no"))
    assert record is not None
    assert isinstance(record.message, User)
    assert record.message.tool_result_meta == [{"id": "t1", "permission_decision": decision}]
    assert record.message.tool_use_result == "Error: no"


def test_subagents_are_found_in_sidechains_and_in_progress_lines() -> None:
    inner = {"type": "assistant", "message": {"id": "m", "content": []}}
    old = line(
        {"type": "progress", "data": {"type": "agent_progress", "message": inner}, "parentToolUseID": "t9", **COMMON}
    )
    side = line({**inner, **COMMON, "isSidechain": True, "agentId": "a1"})
    parents = [
        record.message.parent_tool_use_id
        for record in map(TranscriptReader().read, (old, side))
        if record and isinstance(record.message, Assistant)
    ]
    assert parents == ["t9", "a1"]


def test_history_that_a_fork_wrote_once_more_is_read_once() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "a", "is_error": False}
    reader = TranscriptReader()
    first = [reader.read(user("mend it")), reader.read(user([result]))]
    copies = [reader.read(user("mend it", uuid="u2", version="2.1.40")), reader.read(user([result], uuid="u3"))]
    others = [reader.read(user("and test it")), reader.read(user([{**result, "tool_use_id": "t2"}]))]
    later = reader.read(user("mend it", timestamp="2026-02-11T17:15:23.500Z"))
    assert (None in [*first, *others, later], copies, reader.damaged, reader.foreign) == (False, [None, None], 0, 0)


def test_from_the_line_that_says_so_on_paths_of_windows_are_those_of_unix() -> None:
    edit = {
        "type": "tool_use",
        "id": "t1",
        "name": "Edit",
        "input": {"file_path": "D:\\shop\\a.py", "old_string": "D:\\x"},
    }
    frame = {"type": "assistant", "message": {"id": "m", "content": [edit]}}
    reader = TranscriptReader()
    on_unix = reader.read(line({**frame, **COMMON}))
    reader.read(user("mend it", cwd="D:\\shop"))
    on_windows = reader.read(line({**frame, **COMMON, "cwd": "D:\\shop", "timestamp": "2026-02-11T17:15:23.500Z"}))
    paths = [
        record.message.content[0]["input"]
        for record in (on_unix, on_windows)
        if record and isinstance(record.message, Assistant)
    ]
    assert paths == [edit["input"], {"file_path": "/d/shop/a.py", "old_string": "D:\\x"}]


def test_what_a_supervised_run_was_told_is_read_from_its_hooks_and_chaperon_is_known_by_its_mark() -> None:
    def told(prompt: str) -> TranscriptLine | None:
        hook = {
            "subtype": "hook_callback",
            "callback_id": "p",
            "input": {"hook_event_name": "UserPromptSubmit", "prompt": prompt},
        }
        return TranscriptReader().read(line({"type": "control_request", "request_id": "r1", "request": hook}))

    assert [(one.said, one.by) for one in (told("mend it"), told("[chaperon] Look again.")) if one] == [
        ("mend it", ""),
        ("[chaperon] Look again.", "chaperon"),
    ]


@pytest.mark.parametrize(
    ("bad", "damaged", "foreign"),
    [
        (b'{"type": "user", "mess', 1, 0),
        (b"\xff\xfe\x00", 1, 0),
        (b"[1, 2]", 1, 0),
        (b'{"type": "assistant", "message": {}}', 1, 0),
        (b'{"level": "info", "msg": "hello"}', 0, 1),
        (b'{"type": 5}', 0, 1),
        (b'{"type": "attachment", "sessionId": "s"}', 0, 0),
        (b'{"type": "progress", "data": 5}', 0, 0),
        (b'{"kind": "state_changed"}', 0, 1),
        (b"  ", 0, 0),
    ],
)
def test_damaged_and_foreign_lines_are_counted_and_passed_over(bad: bytes, damaged: int, foreign: int) -> None:
    reader = TranscriptReader()
    assert reader.read(bad) is None
    assert (reader.damaged, reader.foreign) == (damaged, foreign)
    assert reader.read(user("still here")) is not None


def test_time_stamps_are_read_without_a_clock_and_odd_ones_are_none() -> None:
    assert seconds("1970-01-02T00:00:01.250Z") == 86_401.25
    assert seconds("yesterday") is None
    assert seconds(12) is None
