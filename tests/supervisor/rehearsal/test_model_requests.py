from typing import Any

from supervisor.rehearsal.model_requests import (
    Request,
    all_that_the_model_was_told,
    joined_text,
    tool_results,
    what_the_model_was_told,
)


def request(*messages: dict[str, Any], **body: Any) -> Request:
    return Request(0, 0.0, 0, 0, 0, {}, {"messages": list(messages), **body})


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


RESULT = {"type": "tool_result", "tool_use_id": "u1", "content": [text("out"), text("more")], "is_error": True}
SPOKEN = {"role": "assistant", "content": [text("I said this")]}


def test_news_is_what_came_since_the_model_last_spoke() -> None:
    asked = request(user(text("old")), SPOKEN, user(RESULT, text("mind the gap")))
    assert what_the_model_was_told(asked) == "out\nmore\nmind the gap"


def test_all_that_was_told_leaves_the_models_own_words_out() -> None:
    asked = request({"role": "user", "content": "old"}, SPOKEN, user(text("new")))
    assert all_that_the_model_was_told(asked) == "old\nnew"


def test_results_are_found_by_their_call() -> None:
    (found,) = tool_results(request(user(RESULT))).values()
    assert (found.tool_use_id, found.text, found.is_error) == ("u1", "out\nmore", True)


def test_what_is_no_text_is_left_out() -> None:
    assert joined_text([text("a"), {"type": "image"}, 7, text("b")]) == "a\nb"
    assert joined_text(None) == ""
    assert what_the_model_was_told(request(user({"type": "image"}, 7))) == ""


def test_a_request_names_its_tools_and_its_system_prompt() -> None:
    asked = request(tools=[{"name": "Bash"}, {}], system=[text("be"), text("kind")])
    assert (asked.tools, asked.system) == (("Bash", ""), "be\nkind")
