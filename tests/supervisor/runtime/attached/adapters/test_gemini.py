"""The Gemini CLI's hooks and answers, as its reference documents them."""

from typing import Any

import pytest

from supervisor.runtime.attached.adapters import gemini
from supervisor.runtime.attached.adapters.other_cli import UnreadCallError


def asked(tool: object, input_: object, **more: Any) -> dict[str, Any]:
    return gemini.payload("PreToolUse", {"tool_name": tool, "tool_input": input_, "cwd": "/w", **more})


def changed(tool: str, input_: object, new: object) -> dict[str, Any]:
    given = {"hook_event_name": "BeforeTool", "tool_name": tool, "tool_input": input_, "cwd": "/w"}
    return gemini.answer(given, {"hookSpecificOutput": {"updatedInput": new}})


def test_its_time_limit_is_in_milliseconds_and_its_hook_has_a_name() -> None:
    [hook] = gemini.entry("BeforeTool", "run it", 60)["hooks"]
    assert hook == {"name": "chaperon BeforeTool", "type": "command", "command": "run it", "timeout": 60_000}


def test_a_servers_tool_is_named_by_its_context_and_not_by_its_name() -> None:
    context = {"server_name": "a_b", "tool_name": "c"}
    assert asked("mcp_a_b_c", {}, mcp_context=context)["tool_name"] == "mcp__a_b__c"


def test_a_question_to_the_person_is_a_denial_since_it_knows_none() -> None:
    ours = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "Nobody reviewed it."}}
    answer = gemini.answer({}, ours)
    assert answer["decision"] == "deny"
    assert answer["reason"].startswith("Nobody reviewed it. ")
    assert "chaperon serve" in answer["reason"]


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
    answer = changed("glob", {"pattern": "x", "dir_path": "/"}, {"pattern": "x", "path": "/w"})
    assert answer["hookSpecificOutput"]["tool_input"] == {"pattern": "x", "dir_path": "/w"}


@pytest.mark.parametrize("name", ["file_path", "absolute_path"])
def test_changed_input_has_the_name_that_the_call_gave_a_field(name: str) -> None:
    answer = changed("read_file", {name: "/a"}, {"file_path": "/b"})
    assert answer["hookSpecificOutput"]["tool_input"] == {name: "/b"}


@pytest.mark.parametrize(
    ("tool", "input_", "new"),
    [
        ("run_shell_command", {"command": "ls", "is_background": True}, {"command": "ls"}),
        ("run_shell_command", {"command": "ls"}, "true"),
        ("web_fetch", {"prompt": "Sum up http://a.example/"}, {"prompt": "", "url": "http://b.example/"}),
    ],
)
def test_a_change_that_merging_would_not_bring_about_is_denied(tool: str, input_: object, new: object) -> None:
    answer = changed(tool, input_, new)
    assert answer["decision"] == "deny"
    assert "This passes: " in answer["reason"]


@pytest.mark.parametrize(
    ("tool", "input_"),
    [
        (None, {"file_path": "/home/ann/.bashrc", "content": "x"}),
        (5, {"command": "ls"}),
        ("", {"command": "ls"}),
        ("read_file", {"file_path": "/home/ann/.ssh/id_rsa", "absolute_path": "README.md"}),
        ("read_file", {"absolute_path": "README.md", "path": "/home/ann/.ssh/id_rsa"}),
        ("read_file", {}),
        ("read_file", {"file_path": ["/home/ann/.ssh/id_rsa"]}),
        ("glob", {"pattern": "*", "path": "/w", "dir_path": "/home/ann/.ssh"}),
        ("grep_search", {"pattern": "x", "dir_path": "/home/ann/.ssh", "file_path": "README.md"}),
        ("grep_search", {"pattern": "x", "dir_path": ["/home/ann/.ssh"]}),
        ("grep_search", {"pattern": "x", "include": "*.py", "include_pattern": ".ssh/id_rsa"}),
        ("grep_search", {"pattern": "x", "include": [".ssh/id_rsa"]}),
        ("write_file", {"file_path": "Makefile"}),
        ("write_file", {"file_path": "Makefile", "content": ["x"]}),
        ("replace", {"file_path": "Makefile", "old_string": "x"}),
        ("run_shell_command", {}),
        ("run_shell_command", {"command": {"run": "ls"}}),
        ("run_shell_command", {"command": "rm -rf notes", "dir_path": ["/home/ann"]}),
        ("run_shell_command", {"command": "rm -rf notes", "dir_path": "/w", "directory": "/home/ann"}),
        ("web_fetch", {"prompt": "Compare http://a.example/ with http://169.254.169.254/"}),
        ("web_fetch", {"prompt": "Go on."}),
        ("web_fetch", {"prompt": "http://169.254.169.254/", "url": "http://a.example/"}),
        ("web_fetch", {"prompt": ["http://169.254.169.254/"]}),
        ("web_fetch", {}),
    ],
)
def test_a_call_that_cannot_be_read_whole_is_no_hook(tool: object, input_: object) -> None:
    with pytest.raises(UnreadCallError):
        asked(tool, input_)


def test_a_call_in_no_folder_or_of_a_server_without_a_name_is_no_hook() -> None:
    half = {"server_name": "a", "tool_name": 1}
    wrong: list[dict[str, Any]] = [{"cwd": None}, {"cwd": 7}, {"mcp_context": {}}, {"mcp_context": half}]
    for more in wrong:
        with pytest.raises(UnreadCallError):
            asked("mcp_a_b", {}, **more)


def test_an_address_within_a_prompt_is_the_one_that_is_reviewed() -> None:
    made = asked("web_fetch", {"prompt": "Sum up http://169.254.169.254/latest today."})
    assert made["tool_input"]["url"] == "http://169.254.169.254/latest"


def test_the_files_that_a_search_is_for_are_reviewed_with_its_folder() -> None:
    for name in ("include", "include_pattern"):
        made = asked("grep_search", {"pattern": "x", "dir_path": "/home/ann", name: ".ssh/id_rsa"})
        assert made["tool_input"] == {"pattern": "x", "path": "/home/ann", "glob": ".ssh/id_rsa"}


@pytest.mark.parametrize("tool", ["TodoWrite", "mcp__tickets__search"])
def test_a_tool_of_a_name_that_means_another_clis_or_a_servers_is_one_not_known(tool: str) -> None:
    assert asked(tool, {})["tool_name"] == f"gemini_{tool}"
