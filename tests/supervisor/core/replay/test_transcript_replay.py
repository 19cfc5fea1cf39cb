import json
from typing import Any

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.issues import Issue
from monitors.contract.observations import ToolCalled, UserSpoke
from monitors.contract.words import Decision, Severity
from monitors.patterns.repetitive_errors import RepetitiveErrors
from supervisor.core.replay.transcript_replay import recorded_task, replay

PASS = {"sessionId": "s1", "cwd": "/home/ann/project"}


def call(id_: str, command: str) -> bytes:
    block = {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}
    return json.dumps({"type": "assistant", "message": {"id": f"m{id_}", "content": [block]}, **PASS}).encode()


def gave(id_: str, text: str, *, failed: bool) -> bytes:
    block = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}
    return json.dumps({"type": "user", "message": {"role": "user", "content": [block]}, **PASS}).encode()


def asked(id_: str, command: str) -> bytes:
    hook = {
        "subtype": "hook_callback", "callback_id": "pre",
        "input": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id_},
    }  # fmt: skip
    return json.dumps({"type": "control_request", "request_id": id_, "request": hook}).encode()


def failing_run(times: int = 3) -> list[bytes]:
    return [
        line
        for n in range(times)
        for line in (call(f"t{n}", "make"), gave(f"t{n}", "Exit code 2\nmake: no rule", failed=True))
    ]


class Cautious:
    """Blocks `rm`, raises at `crash`, allows the rest, and keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[Action, ReviewContext]] = []

    def review(self, action: Action, context: ReviewContext) -> Review:
        self.shown.append((action, context))
        command = str(action.input.get("command"))
        if command == "crash":
            raise ValueError(command)
        decision = Decision.BLOCK if command.startswith("rm") else Decision.ALLOW
        return Review(decision, 0.5, 0.5, Severity.LOW, "")


def test_a_recording_gives_the_issues_and_the_events_at_which_they_were_raised() -> None:
    result = replay(failing_run(), Cautious(), [RepetitiveErrors()])
    assert [(seen.at_event, seen.issue.type) for seen in result.issues] == [(6, "repetitive_errors")]
    assert (result.session_id, result.events, result.actions, result.reviews) == ("s1", 6, 3, {"allow": 3})


def test_the_contracts_fields_are_there_and_closings_are_not() -> None:
    def answer(issue: Issue) -> str:
        return "soft_correction"

    lines = [*failing_run(), call("t9", "make"), gave("t9", "built", failed=False), b"{damaged"]
    found: dict[str, Any] = replay(lines, None, [RepetitiveErrors()]).as_json("x.jsonl", 0.5, answer)
    assert {"path", "session_id", "events", "actions", "reviews", "issues", "seconds"} <= set(found)
    assert [(issue["type"], issue["at_event"], issue["intervention"]) for issue in found["issues"]] == [
        ("repetitive_errors", 6, "soft_correction")
    ]
    assert found["lines"] == {"read": 9, "damaged": 1, "foreign": 0}


def test_a_recorded_gate_is_where_calls_are_reviewed() -> None:
    lines = [
        call("t1", "ls"),
        asked("t1", "ls"),
        call("t2", "no-hook"),
        gave("t1", "a", failed=False),
        gave("t2", "b", failed=False),
    ]
    result = replay(lines, reviewer := Cautious(), [])
    assert [action.input["command"] for action, _ in reviewer.shown] == ["ls"]
    assert result.actions == 1


@pytest.mark.parametrize(("first", "shown"), [([], False), ([asked("t0", "ls")], True)])
def test_a_block_is_shown_to_detectors_only_where_the_recording_has_the_gate(first: list[bytes], shown: bool) -> None:
    calls: list[str] = []
    lines = [*first, call("t1", "rm a"), *([asked("t1", "rm a")] if first else []), gave("t1", "", failed=False)]
    result = replay(lines, Cautious(), [], lambda one: calls.append(one.id) if isinstance(one, ToolCalled) else None)
    assert (result.reviews["block"], "t1" in calls) == (1, shown)


def test_a_reviewer_that_raises_is_a_block() -> None:
    result = replay([call("t1", "crash"), gave("t1", "x", failed=False)], Cautious(), [])
    assert result.reviews == {"block": 1}


def test_the_reviewer_is_shown_place_task_and_history() -> None:
    told = json.dumps({"type": "user", "message": {"role": "user", "content": "mend it"}, **PASS}).encode()
    replay([told, *failing_run(2)], reviewer := Cautious(), [])
    action, context = reviewer.shown[1]
    assert (action.cwd, action.workspace, context.home) == ("/home/ann/project", "/home/ann/project", "/home/ann")
    assert context.task is not None
    assert context.task.prompt == "mend it"
    assert [step.failed for step in context.history] == [True]


def test_the_task_of_a_recording_is_its_first_words_and_its_place_without_limits() -> None:
    told = json.dumps({"type": "user", "message": {"role": "user", "content": "mend it"}, **PASS}).encode()
    task = recorded_task([b"{damaged", told, *failing_run()])
    assert (task.id, task.prompt, task.repository, task.limits.max_token_usage) == (
        "s1",
        "mend it",
        "/home/ann/project",
        None,
    )
    assert recorded_task([]).prompt == ""


def test_the_first_words_are_a_persons_where_one_sat_at_the_session_and_the_tasks_where_none_did() -> None:
    def by(**more: str) -> list[str]:
        told = json.dumps({"type": "user", "message": {"role": "user", "content": "mend it"}, **PASS, **more}).encode()
        heard: list[str] = []
        replay([told], None, [], lambda one: heard.append(one.by) if isinstance(one, UserSpoke) else None)
        return heard

    assert by() == by(entrypoint="cli") == ["person"]
    assert by(entrypoint="sdk-cli") == ["task"]


def test_time_is_counted_from_the_first_line_that_says_when_it_was() -> None:
    later = {"timestamp": "2026-02-11T17:15:22.624Z"}
    frame = json.loads(gave("t0", "x", failed=False))
    seen: list[float] = []
    lines = [call("t0", "ls"), json.dumps({**frame, **later}).encode()]
    replay(lines, None, [], lambda observation: seen.append(observation.mono))
    assert seen[-1] == 0.0
