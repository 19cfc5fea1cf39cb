"""The Gemini CLI's hooks and answers, as its reference documents them."""

from supervisor.runtime.attached.adapters import gemini


def test_its_time_limit_is_in_milliseconds_and_its_hook_has_a_name() -> None:
    [hook] = gemini.entry("BeforeTool", "run it", 60)["hooks"]
    assert hook == {"name": "chaperon BeforeTool", "type": "command", "command": "run it", "timeout": 60_000}


def test_a_servers_tool_is_named_by_its_context_and_not_by_its_name() -> None:
    given = {"tool_name": "mcp_a_b_c", "tool_input": {}, "mcp_context": {"server_name": "a_b", "tool_name": "c"}}
    assert gemini.payload("PreToolUse", given)["tool_name"] == "mcp__a_b__c"


def test_a_question_to_the_person_is_a_denial_since_it_knows_none() -> None:
    ours = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "Nobody reviewed it."}}
    assert gemini.answer({}, ours) == {"decision": "deny", "reason": "Nobody reviewed it."}


def test_a_stop_ends_its_loop_with_the_reason() -> None:
    deny = {"permissionDecision": "deny", "permissionDecisionReason": "Stopped."}
    ours = {"continue": False, "stopReason": "Stopped.", "hookSpecificOutput": deny}
    answer = gemini.answer({"hook_event_name": "BeforeTool"}, ours)
    assert answer == {"continue": False, "stopReason": "Stopped.", "decision": "deny", "reason": "Stopped."}


def test_an_end_that_is_not_granted_yet_is_denied_with_the_text_for_the_model() -> None:
    answer = gemini.answer({"hook_event_name": "AfterAgent"}, {"decision": "block", "reason": "Run the tests."})
    assert answer == {"decision": "deny", "reason": "Run the tests."}


def test_text_for_the_model_goes_with_what_carries_it_and_is_shown_where_nothing_does() -> None:
    ours = {"hookSpecificOutput": {"hookEventName": "x", "additionalContext": "Look at the tests."}}
    carried = gemini.answer({"hook_event_name": "AfterTool"}, ours)
    assert carried == {"hookSpecificOutput": {"additionalContext": "Look at the tests."}}
    assert gemini.answer({"hook_event_name": "BeforeTool"}, ours) == {"systemMessage": "Look at the tests."}


def test_changed_input_has_the_names_that_its_tool_knows() -> None:
    ours = {"hookSpecificOutput": {"updatedInput": {"pattern": "x", "path": "/w"}}}
    answer = gemini.answer({"hook_event_name": "BeforeTool", "tool_name": "glob"}, ours)
    assert answer["hookSpecificOutput"]["tool_input"] == {"pattern": "x", "dir_path": "/w"}
