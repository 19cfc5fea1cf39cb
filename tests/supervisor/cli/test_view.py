from typing import Any

import pytest
from click import unstyle

from supervisor.cli import view


def shown(kind: str, **record: Any) -> list[str]:
    """What is shown, without colours and times."""
    full = {"kind": kind, "at": 0.0, "agent": "a1", **record}
    return [unstyle(line)[9:] for line in view.lines(full)]


def review(decision: str, **more: Any) -> list[str]:
    action = {"tool": "Bash", "input": {"command": "git push --force"}}
    made = {"decision": decision, "rule": "git.force", "reasoning": "Be careful.", "updated_input": None, **more}
    return shown("review_made", action=action, review=made)


def test_an_allowed_call_is_one_line() -> None:
    assert review("allow") == ["allow    Bash git push --force"]


def test_a_call_that_a_person_had_allowed_says_so() -> None:
    told = "ann allowed it (w-1). Without that: Be careful."
    assert review("allow", allowance="w-1", reasoning=told) == [
        "allow    Bash git push --force", f"         git.force: {told}",
    ]  # fmt: skip


def test_what_a_person_allows_and_takes_back_is_shown() -> None:
    given = {"id": "w-1", "by": "ann", "tool": "Bash", "text": "git\npush", "rule": "", "uses": 1, "seconds": None}
    assert shown("allowance_given", **given) == ["allowed  by ann: Bash git push, 1 time (w-1)"]
    for_a_while = {**given, "tool": "", "text": "", "rule": "git.force", "uses": None, "seconds": 60.0}
    assert shown("allowance_given", **for_a_while) == ["allowed  by ann: git.force, as often as wanted, for 60 s (w-1)"]
    assert shown("allowance_revoked", id="w-1", by="ann") == ["         w-1 is allowed no more, says ann"]


def test_a_changed_call_is_shown_in_both_forms_with_the_reason() -> None:
    assert review("modify", updated_input={"command": "git push"}) == [
        "modify   Bash git push --force", "         runs as: git push", "         git.force: Be careful.",
    ]  # fmt: skip


def test_a_line_of_the_error_output_is_shown_with_how_many_were_passed_over() -> None:
    assert shown("error_line_received", text="Error: no\x1b[2J way", end=9, passed_over=0) == [
        "stderr   Error: no [2J way"
    ]
    assert shown("error_line_received", text="more", end=9, passed_over=7) == [
        "stderr   more (7 lines before it are in err.log alone)"
    ]


def test_what_a_stopped_agent_left_is_shown_with_where_it_is_listed() -> None:
    found = {"files": ["a (added)"], "more_files": 2, "leftovers": [{}], "shared_with": [], "not_looked": []}
    assert shown("aftermath_seen", incident_id="i-9", aftermath=found) == [
        "after    3 files changed, 1 things left behind: chaperon recover i-9"
    ]


def test_what_the_model_says_is_one_clean_line() -> None:
    content = [{"type": "text", "text": "one\n\x1b[31mtwo\u202e three " + "x" * 500}]
    (line,) = shown("line_received", frame={"type": "assistant", "message": {"content": content}})
    assert line.startswith("says     one [31mtwo three x")
    assert line.endswith("…")


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"type": "novelty"},
        {"type": "assistant"},
        {"type": "assistant", "message": 7},
        {"type": "user", "message": {}},
    ],
)
def test_frames_that_say_nothing_to_people_show_nothing(frame: Any) -> None:
    assert shown("line_received", frame=frame) == []


def test_a_retry_of_the_cli_is_shown_with_its_cause_and_delay() -> None:
    frame = {"type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10, "retry_delay_ms": 1013}
    shown_ = shown("line_received", frame={**frame, "error_status": 529})
    assert shown_ == ["retry    the API is overloaded (529): retry 2 of 10 in 1.0 s"]


def test_no_field_of_an_agent_can_paint_the_terminal() -> None:
    bad = "\x1b]0;pwned\x07"
    records: list[tuple[str, dict[str, Any]]] = [
        ("line_received", {"frame": {"type": "result", "subtype": bad}}),
        ("line_received", {"frame": None, "text": bad}),
        ("review_made", {"action": {"tool": bad, "input": {"command": bad}},
                         "review": {"decision": "block", "rule": bad, "reasoning": bad}}),
        ("task_submitted", {"task": {"prompt": bad}, "workspace": bad, "session_id": bad}),
        ("state_changed", {"before": "running", "after": "failed", "why": bad}),
        ("daemon_stopped", {"reason": bad}),
    ]  # fmt: skip
    for kind, record in records:
        lines = "".join(shown(kind, **record))
        assert "pwned" in lines, kind
        assert "\x1b]" not in lines, kind


@pytest.mark.parametrize("kind", ["input_accepted", "timer_fired", "a_kind_of_tomorrow"])
def test_what_is_for_machines_is_not_shown(kind: str) -> None:
    assert shown(kind) == []


def test_a_cost_of_nothing_is_a_cost() -> None:
    assert shown("line_received", frame={"type": "result", "subtype": "success", "total_cost_usd": 0}) == [
        "turn     turn ended: success, $0.0000 so far"
    ]


def test_a_last_text_that_was_shortened_is_shown_whole() -> None:
    text = "First.\n\n" + "word " * 100 + "end.\n\x1b[31mThird."
    shown_lines = shown("line_received", frame={"type": "result", "subtype": "success", "result": text})
    assert shown_lines[0].strip() == "First."
    assert shown_lines[2].endswith("word end.")
    assert shown_lines[3].strip() == "[31mThird."
    assert shown_lines[-1] == "turn     turn ended: success"


def failed(text: str) -> list[str]:
    content = [{"type": "tool_result", "is_error": True, "content": text}]
    return shown("line_received", frame={"type": "user", "message": {"content": content}})


def test_a_block_is_not_told_again_as_an_error() -> None:
    assert failed("PreToolUse:Bash hook error: This deletes all.") == []
    assert failed("Exit code 1") == ["error    Exit code 1"]


def test_an_incident_is_shown_to_its_end_and_with_the_way_out() -> None:
    incident = {"id": "i", "severity": "high", "summary": "x" * 300 + " Mend it.", "way_out": "chaperon doctor"}
    first, second = shown("incident_opened", incident=incident)
    assert first.endswith(" Mend it.")
    assert second.strip() == "chaperon doctor"


def test_a_turn_that_failed_is_not_called_a_success() -> None:
    assert shown("line_received", frame={"type": "result", "subtype": "success", "is_error": True}) == [
        "turn     turn ended: error"
    ]
