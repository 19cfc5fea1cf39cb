from collections.abc import Mapping
from typing import Any

from supervisor.rehearsal.told import (
    Request,
    ToolResult,
    all_that_the_model_was_told,
    joined_text,
    tool_results,
    what_the_model_was_told,
)


def result(call: str, content: object, *, is_error: bool = False) -> Mapping[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error}


def request(*messages: tuple[str, object], **body: Any) -> Request:
    listed = [{"role": role, "content": content} for role, content in messages]
    return Request(0, 0.0, 0, 0, 0, {}, {"messages": listed, **body})


TEXT = {"type": "text", "text": "a reminder"}

TWO_TURNS = request(
    ("user", "the prompt"),
    ("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo mine"}}]),
    ("user", [result("t1", "first output"), TEXT]),
    ("assistant", [{"type": "text", "text": "my words"}]),
    ("user", [result("t2", [{"type": "text", "text": "oh"}, {"type": "text", "text": "no"}], is_error=True)]),
    ("system", "said mid-turn"),
)


def test_only_what_came_after_the_models_last_answer_is_new() -> None:
    assert what_the_model_was_told(TWO_TURNS) == "oh\nno\nsaid mid-turn"


def test_everything_but_the_models_own_words_is_what_it_was_told() -> None:
    assert all_that_the_model_was_told(TWO_TURNS) == "the prompt\nfirst output\na reminder\noh\nno\nsaid mid-turn"


def test_tool_results_are_found_by_call() -> None:
    assert tool_results(TWO_TURNS) == {
        "t1": ToolResult("t1", "first output", is_error=False),
        "t2": ToolResult("t2", "oh\nno", is_error=True),
    }


def test_a_request_that_says_nothing_told_nothing() -> None:
    assert what_the_model_was_told(request()) == ""
    assert tool_results(request(("user", None), ("user", [3, "x"]))) == {}


def test_tools_and_system_prompt_are_read_in_both_their_forms() -> None:
    asked = request(tools=[{"name": "Bash"}, {"type": "odd"}], system=[TEXT, {"type": "text", "text": "and more"}])
    assert asked.tools == ("Bash", "")
    assert asked.system == "a reminder\nand more"
    assert request(system="plain").system == "plain"
    assert joined_text(3) == ""
