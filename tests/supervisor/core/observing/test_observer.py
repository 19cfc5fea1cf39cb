import json
from typing import Any

from monitors.contract.actions import Action, Review
from monitors.contract.observations import (
    AgentSpoke,
    ContextCompacted,
    Observation,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    UserSpoke,
)
from monitors.contract.words import Decision, Severity
from supervisor.core.observing.observer import KEPT_OF_A_TEXT, MAX_CALLS, Observer
from supervisor.protocol.claude.messages import parse

ALLOW = Review(Decision.ALLOW, 0.1, 0.9, Severity.LOW, "")


def feed(observer: Observer, *frames: dict[str, Any]) -> list[Observation]:
    return [
        observation
        for seq, frame in enumerate(frames, 1)
        for observation in observer.message(parse(json.dumps(frame).encode()), seq, float(seq))
    ]


def says(
    *content: dict[str, Any], id_: str = "msg_1", parent: str | None = None, usage: dict[str, int] | None = None
) -> dict[str, Any]:
    message = {"id": id_, "content": list(content), "usage": usage or {}}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, "uuid": "u"}


def calls(id_: str, tool: str = "Bash", **call: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": tool, "input": call}


def result(
    id_: str, content: Any, *, failed: bool = False, meta: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id_, "content": content, "is_error": failed}
    metas = [{"id": id_, **meta}] if meta else []
    return {"type": "user", "message": {"role": "user", "content": [block]}, "tool_result_meta": metas, **more}


def returned(*frames: dict[str, Any], observer: Observer | None = None) -> ToolReturned:
    [found] = [one for one in feed(observer or Observer(), *frames) if isinstance(one, ToolReturned)]
    return found


def rejected(source: str) -> dict[str, Any]:
    return {"permission_decision": {"decision": "reject", "source": source}}


def test_a_result_names_the_tool_and_the_input_of_its_call() -> None:
    found = returned(says(calls("t1", command="ls")), result("t1", "a\nb", tool_use_result={"stdout": "a\nb"}))
    assert (found.tool, found.input, found.text, found.failed, found.seq) == (
        "Bash",
        {"command": "ls"},
        "a\nb",
        False,
        2,
    )
    assert found.structured == {"stdout": "a\nb"}
    assert found.reply == "msg_1"


def test_a_review_becomes_a_call_and_its_changed_input_is_what_ran() -> None:
    observer = Observer()
    feed(observer, says(calls("t1", command="echo hello")))
    action = Action("Bash", {"command": "echo hello"}, tool_use_id="t1")
    review = Review(Decision.MODIFY, 0.1, 0.9, Severity.LOW, "", updated_input={"command": "echo changed"})
    [called] = observer.reviewed(action, review, 7, 7.0)
    assert isinstance(called, ToolCalled)
    assert (called.input, called.review, called.seq) == ({"command": "echo hello"}, review, 7)
    assert returned(result("t1", "changed"), observer=observer).input == {"command": "echo changed"}


def test_who_refused_is_read_from_the_permission_decision() -> None:
    def by(source: str) -> tuple[bool, str]:
        found = returned(says(calls("t1")), result("t1", "no", failed=True, meta=rejected(source)))
        return found.refused, found.refused_by

    assert by("hook") == (True, "gate")
    assert by("user_reject") == (True, "person")
    assert by("config") == (True, "cli")


def test_a_call_that_the_gate_blocked_is_the_gates_refusal_whatever_the_cli_says() -> None:
    observer = Observer()
    block = Review(Decision.BLOCK, 0.9, 0.1, Severity.HIGH, "no")
    observer.reviewed(Action("Bash", {"command": "x"}, tool_use_id="t1"), block, 1, 1.0)
    found = returned(result("t1", "no", failed=True, meta=rejected("user_reject")), observer=observer)
    assert (found.refused, found.refused_by) == (True, "gate")


def test_older_versions_say_who_refused_in_the_text() -> None:
    def by(text: str) -> str:
        return returned(says(calls("t1")), result("t1", text, failed=True)).refused_by

    assert by("PreToolUse:Bash hook error: not here") == "gate"
    assert by("The user doesn't want to proceed with this tool use. The tool use was rejected") == "person"
    assert by("Claude requested permissions to use Write, but you haven't granted it yet.") == "cli"
    assert by("Exit code 1\ncat: x: No such file or directory") == ""


def test_a_program_that_prints_the_words_of_a_refusal_was_not_refused() -> None:
    ran = {"permission_decision": {"decision": "accept", "source": "config"}}
    found = returned(says(calls("t1")), result("t1", "Exit code 1\npre-commit hook error: x", failed=True, meta=ran))
    assert (found.failed, found.refused) == (True, False)


def test_both_wordings_of_a_cancelled_neighbour_are_collateral() -> None:
    for text in (
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "<tool_use_error>Cancelled: parallel tool call Bash(cat x) errored</tool_use_error>",
    ):
        assert returned(says(calls("t1")), result("t1", text, failed=True)).collateral
    assert not returned(says(calls("t1")), result("t1", "Exit code 1", failed=True)).collateral


def test_a_long_result_keeps_both_ends() -> None:
    text = "a" * KEPT_OF_A_TEXT + "b" * 5_000 + "c" * KEPT_OF_A_TEXT
    found = returned(says(calls("t1")), result("t1", [{"type": "text", "text": text}, {"type": "image"}]))
    assert found.text.startswith("a" * KEPT_OF_A_TEXT)
    assert found.text.endswith("ccc\n[image]")
    assert "[5008 characters]" in found.text


def test_a_reply_is_counted_once_though_its_blocks_repeat_its_usage() -> None:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 100}
    frames = [
        says({"type": "text", "text": "hi"}, usage={**usage, "output_tokens": 1}),
        says(calls("t1", command="ls"), usage={**usage, "output_tokens": 25}),
        says({"type": "text", "text": "x" * 400}, id_="msg_2", usage={"output_tokens": 1}),
        {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.5},
    ]
    found = feed(Observer(), *frames)
    counted = [(one.input_tokens, one.cached_tokens, one.output_tokens) for one in found if isinstance(one, TokensUsed)]
    assert counted == [(10, 100, 25), (0, 0, 100)]
    assert found[-1] == TurnEnded(seq=4, mono=4.0, failed=False, cost_usd=0.5)


def test_a_subagents_lines_carry_the_call_that_started_it() -> None:
    observer = Observer()
    found = feed(observer, says({"type": "text", "text": "inside"}, calls("t2", command="ls"), parent="t1"))
    assert isinstance(found[0], AgentSpoke)
    assert found[0].subagent == "t1"
    [called] = observer.reviewed(Action("Bash", {}, tool_use_id="t2", subagent="agent-7"), ALLOW, 2, 2.0)
    assert isinstance(called, ToolCalled)
    assert called.subagent == "t1"
    assert returned(result("t2", "x"), observer=observer).subagent == "t1"


def test_words_to_the_model_and_compaction_are_observations() -> None:
    observer = Observer()
    assert observer.message_sent("stop", "person", 3, 3.0) == [UserSpoke(seq=3, mono=3.0, text="stop", by="person")]
    compacted = feed(observer, {"type": "system", "subtype": "compact_boundary"})
    assert compacted == [ContextCompacted(seq=1, mono=1.0)]


def test_a_result_without_its_call_is_passed_over_and_calls_without_results_are_bounded() -> None:
    observer = Observer()
    assert feed(observer, result("t9", "lost")) == []
    feed(observer, *(says(calls(f"c{n}")) for n in range(3 * MAX_CALLS)))
    assert len(observer._calls) == MAX_CALLS
    assert f"c{3 * MAX_CALLS - 1}" in observer._calls


def test_damaged_blocks_do_no_harm() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "tool_use"},
        {"type": "text"},
        {"type": "text", "text": 5},
        {},
        {"type": "tool_use", "id": 7, "input": "x"},
    ]
    assert feed(Observer(), says(*blocks), result("7", {"odd": 1})) == [
        ToolReturned(seq=2, mono=2.0, id="7", tool="", input={}, text="", failed=False, reply="msg_1", reviewed=False)
    ]


def test_a_subagents_reply_that_goes_on_behind_the_end_of_the_agents_turn_is_counted_once() -> None:
    """A turn ends while a subagent in the background is within a reply (seen with CLI 2.1.329 on a busy machine)."""
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 30_000, "output_tokens": 1}
    observer = Observer()
    seen = feed(
        observer,
        says({"type": "text", "text": "a"}, id_="msg_1", usage=usage),
        says({"type": "text", "text": "b"}, id_="msg_2", parent="t1", usage=usage),
        {"type": "result", "subtype": "success", "is_error": False, "uuid": "u"},
        says(calls("t2"), id_="msg_2", parent="t1", usage=usage),
        says({"type": "text", "text": "c"}, id_="msg_3", parent="t1", usage=usage),
    )
    assert observer.spending.total.read == 3 * 31_000
    assert len([one for one in seen if isinstance(one, TokensUsed)]) == 2
