from typing import Any

import pytest
from click import unstyle
from hypothesis import given
from hypothesis import strategies as st

from supervisor.cli.output.event_lines import SHOWN
from supervisor.cli.output.view import View
from tests.support import acting

FIELDS = [
    "action", "after", "aftermath", "agent", "at", "before", "by", "checkpoint", "closed", "content", "deadline_seconds",
    "decision", "files", "frame", "incident", "input", "intervention", "is_error", "issue", "kind", "leftovers", "left",
    "message", "micros", "more_files", "note", "outcome", "reason", "result", "restored", "review", "reasoning", "rule",
    "sentence", "severity", "subtype", "summary", "task", "text", "tool", "total_cost_usd", "type", "undo", "why",
]  # fmt: skip
"""What fields of records and of what they hold are called."""


def told(*records: dict[str, Any], view: View | None = None) -> list[str]:
    """What is shown of records, one after another, without colours and times."""
    view = view or View()
    return [unstyle(line)[9:] for record in records for line in view.lines({"at": 0.0, "agent": "a1", **record})]


def shown(kind: str, **record: Any) -> list[str]:
    """What is shown of one record."""
    return told({"kind": kind, **record})


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


def test_an_action_that_waits_is_shown_with_why_and_with_the_command_that_answers_it() -> None:
    action = {"tool": "Bash", "input": {"command": "make"}}
    why = "The cost limit is reached: $3.00 of $2.00 are used."
    assert shown("approval_asked", action=action, request_id="r-1", why=why, deadline_seconds=600.0) == [
        "waits    Bash make",
        f"         {why[:-1]}; chaperon approve a1 r-1, or deny, within 10 min",
    ]


def test_what_a_person_allows_and_takes_back_is_shown() -> None:
    given = {"id": "w-1", "by": "ann", "tool": "Bash", "text": "git\npush", "rule": "", "uses": 1, "seconds": None}
    assert shown("allowance_given", **given) == ["allowed  by ann: Bash git push, 1 time (w-1)"]
    for_a_while = {**given, "tool": "", "text": "", "rule": "git.force", "uses": None, "seconds": 60.0}
    assert shown("allowance_given", **for_a_while) == [
        "allowed  by ann: git.force, as often as wanted, for 1 min (w-1)"
    ]
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
        "after    3 files changed, 1 thing left behind; to go on: chaperon recover i-9"
    ]


def test_what_runs_instead_is_told_once() -> None:
    reasoning = "Be careful. It runs as `git push` instead."
    assert review("modify", updated_input={"command": "git push"}, reasoning=reasoning)[1:] == [
        "         runs as: git push", "         git.force: Be careful.",
    ]  # fmt: skip


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
        "turn     turn ended: success, $0.00 so far"
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
    incident = {
        "id": "i",
        "type": "odd",
        "severity": "high",
        "summary": "x" * 300 + " Mend it.",
        "way_out": "chaperon doctor",
    }
    first, second = shown("incident_opened", incident=incident)
    assert first.endswith(" Mend it.")
    assert second.strip() == "chaperon doctor"


def test_a_fault_that_comes_again_is_told_whole_again() -> None:
    incident = {
        "id": "i",
        "type": "disk_full",
        "severity": "high",
        "summary": "The disk is full.",
        "way_out": "Make room.",
    }
    first = told(*2 * [{"kind": "fault_seen", "incident": incident}])
    assert [line.strip() for line in first] == 2 * ["incident disk_full: The disk is full.", "Make room."]


def test_a_turn_that_failed_is_not_called_a_success() -> None:
    assert shown("line_received", frame={"type": "result", "subtype": "success", "is_error": True}) == [
        "turn     turn ended: error"
    ]


REASON = "This would change the guard that watches this agent: /state. Leave chaperon's files alone; ask a person."

SENTENCE = f"Rule chaperon.self-protection: {REASON}"

STOP: list[dict[str, Any]] = [
    {"kind": "review_made", "action": {"tool": "Write", "input": {"file_path": "/state"}},
     "review": {"decision": "block", "rule": "chaperon.self-protection", "reasoning": REASON}},
    {"kind": "issue_seen", "issue": {"type": "critical_action", "severity": "critical", "closed": False, "sentence": SENTENCE}},
    {"kind": "intervention_chosen", "intervention": {"kind": "emergency_stop", "message": "", "reason": "a critical issue ends the run at once"}},
    {"kind": "state_changed", "before": "running", "after": "stopping", "why": SENTENCE},
    {"kind": "incident_opened", "incident": {"id": "a1-96-emergency_stop", "type": "emergency_stop", "severity": "critical",
     "summary": f"{SENTENCE} It was stopped at once: a critical issue ends the run at once.", "way_out": "chaperon recover a1-96-emergency_stop"}},
    {"kind": "tree_frozen", "micros": 5100},
    {"kind": "tree_ended", "micros": 89400, "left": 0},
    {"kind": "state_changed", "before": "stopping", "after": "stopped", "why": SENTENCE},
    {"kind": "aftermath_seen", "incident_id": "a1-96-emergency_stop", "aftermath": {"files": ["a", "b"], "more_files": 0, "leftovers": []}},
]  # fmt: skip
"""What the journal has of an emergency stop, beside what is for machines."""


def test_an_emergency_stop_is_three_lines_and_no_sentence_is_told_twice() -> None:
    assert told(*STOP) == [
        "block    Write /state",
        f"         chaperon.self-protection: {REASON}",
        "stop     emergency stop for critical_action: Rule chaperon.self-protection; to go on: chaperon recover a1-96-emergency_stop",
        "state    running → stopped: all processes were frozen after 5.1 ms and ended within 89 ms",
        "after    2 files changed, 0 things left behind",
    ]


def test_processes_that_could_not_be_ended_are_told() -> None:
    lines = told({"kind": "tree_ended", "micros": 1, "left": 1}, {**STOP[7], "why": "So."})
    assert lines == ["state    stopping → stopped: processes ended within 0.0 ms, but 1 process could not be"]


def test_a_critical_issue_that_leads_to_no_stop_is_told_with_what_comes_next() -> None:
    view = View()
    assert told(STOP[1], view=view) == []
    assert told({"kind": "say_requested", "by": "ann", "text": "Mind it."}, view=view) == [
        f"issue    critical_action: {SENTENCE}",
        "say      by ann: Mind it.",
    ]


def test_what_waits_for_a_record_that_never_comes_is_told_at_the_end() -> None:
    view = View(names=True)
    told(*STOP[1:3], view=view)
    first, second = map(unstyle, view.rest())
    assert first.endswith(f"a1     issue    critical_action: {SENTENCE}")
    assert second.endswith("stop     emergency stop: a critical issue ends the run at once")
    assert view.rest() == []


def test_a_view_that_begins_in_the_middle_tells_what_it_has() -> None:
    assert told(*STOP[4:]) == [
        f"stop     emergency stop for {STOP[4]['incident']['summary']}; to go on: chaperon recover a1-96-emergency_stop",
        "state    stopping → stopped: all processes were frozen after 5.1 ms and ended within 89 ms",
        "after    2 files changed, 0 things left behind",
    ]
    assert told(*STOP[7:])[0] == f"state    stopping → stopped: {SENTENCE}"[:169]


def test_an_answer_is_told_without_the_sentence_of_its_issue_and_its_incident_not_at_all() -> None:
    sentence = "The same error of Bash came 3 times: no rule."
    issue = {"type": "repetitive_errors", "severity": "medium", "closed": False, "sentence": sentence}
    message = f"[chaperon] {sentence} The last time it said: Exit code 2."
    answer = {"kind": "soft_correction", "message": message, "reason": "the mildest answer comes first"}
    incident = {
        "id": "i",
        "type": "soft_correction",
        "severity": "medium",
        "summary": sentence,
        "way_out": "chaperon show a1",
    }
    assert told(
        {"kind": "issue_seen", "issue": issue},
        {"kind": "intervention_chosen", "intervention": answer},
        {"kind": "incident_opened", "incident": incident},
    ) == [f"issue    repetitive_errors: {sentence}", "answer   soft_correction: The last time it said: Exit code 2."]


def test_sentences_of_other_agents_are_told_all_the_same() -> None:
    first, second = {**STOP[0], "agent": "a1"}, {**STOP[0], "agent": "a2"}
    assert told(first, second)[1] == told(second)[1]
    assert told(first, first)[3] == "         chaperon.self-protection: as before"


def test_a_request_without_a_reason_is_told_without_a_colon() -> None:
    assert shown("pause_requested", by="root") == ["pause    by root"]


def test_what_became_of_an_agent_that_was_taken_over_is_told_in_words() -> None:
    assert shown("agent_adopted", outcome="reattached") == ["adopted  taken over from the daemon before: it runs on"]


def test_one_path_is_one_path() -> None:
    restored = shown("checkpoint_restored", checkpoint="c", restored=1, undo="u")
    assert restored == ["back     at c: 1 path; to undo: chaperon rollback u"]


def test_a_run_names_its_agent() -> None:
    about = {"task": {"prompt": "Do it."}, "workspace": "/repo", "session_id": "s-1"}
    assert shown("task_submitted", **about) == ["task     Do it.", "         agent a1 in /repo, session s-1"]


def test_in_a_terminal_long_lines_go_on_below_their_text() -> None:
    view = View(names=True, width=60)
    lines = [
        unstyle(line) for line in view.lines({"kind": "daemon_stopped", "at": 0.0, "agent": "", "reason": "word " * 20})
    ]
    assert len(lines) > 1
    assert max(map(len, lines)) <= 60
    assert all(line.startswith(" " * 25) for line in lines[1:])


def test_names_of_agents_stand_below_one_another() -> None:
    view = View(names=True)
    record = {"kind": "pause_requested", "at": 0.0, "by": "ann"}
    lines = [unstyle(view.lines({**record, "agent": name})[0]) for name in ("a1", "a-long-name", "a2")]
    assert [line[9:].index("pause") for line in lines] == [7, 12, 12]


TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(sorted(SHOWN)), st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=8), st.booleans())
def test_no_record_ends_a_view_or_paints_the_terminal(kind: str, record: dict[str, Any], names: bool) -> None:
    view = View(names=names, width=50)
    lines = [*view.lines({**record, "kind": kind}), *view.lines({"at": 1.0, "agent": "a1", **record, "kind": kind})]
    assert acting(unstyle("".join([*lines, *view.rest()]))) == set()


def test_a_record_of_another_shape_is_a_line_that_says_so() -> None:
    (line,) = shown("state_changed", n=17)
    assert line.startswith("?        event 17 (state_changed) has a shape that is not known here: KeyError('before')")
    assert line.endswith("chaperon tail --json has it as it is")


def test_a_last_text_without_end_is_cut() -> None:
    lines = shown("line_received", frame={"type": "result", "subtype": "success", "result": "word\n" * 100_000})
    assert len(lines) == 102
    assert lines[-2].strip() == "… and 99,900 more lines"
