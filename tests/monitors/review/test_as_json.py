"""`review --jsonl`: its contract, line by line."""

import itertools

import orjson

from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
from monitors.review import ReviewSettings, make_reviewer
from monitors.review.as_json import review_jsonl

FIELDS = {
    "id",
    "decision",
    "risk",
    "rationality",
    "severity",
    "side_effects",
    "reasoning",
    "rule",
    "updated_input",
    "micros",
}


def answers(*lines: bytes, reviewer: Reviewer | None = None) -> list[dict[str, object]]:
    ticks = itertools.count(0, 5_000)
    made = review_jsonl(lines, reviewer or make_reviewer(ReviewSettings(profile="strict")), lambda: next(ticks))
    return [orjson.loads(line) for line in made]


def test_an_answer_has_exactly_the_fields_of_the_contract() -> None:
    (answer,) = answers(b'{"id": "a", "command": "rm -rf /etc"}')
    assert set(answer) == FIELDS
    assert (answer["id"], answer["decision"], answer["micros"]) == ("a", "block", 5)
    effects = answer["side_effects"]
    assert isinstance(effects, list)
    assert set(effects[0]) == {"type", "severity", "reversible", "details"}


def test_tools_and_places_are_taken() -> None:
    lines = [
        b'{"tool": "Write", "input": {"file_path": "/w/a", "content": ""}, "cwd": "/w", "workspace": "/w"}',
        b'{"command": "git push --force"}',
    ]
    first, second = answers(*lines)
    assert first["decision"] == "allow"
    assert second["updated_input"] == {"command": "git push --force-with-lease"}


def test_a_bad_line_gets_an_error_in_its_place_and_the_rest_go_on() -> None:
    found = answers(
        b'{"id": 1, "command": "ls"}',
        b"{broken",
        b"[]",
        b"",
        b'{"id": 2, "command": 7}',
        b'{"id": 3}',
        b'{"id": 4, "command": "ls", "cwd": 5}',
        b'{"id": 5, "command": "ls"}',
    )
    assert [one["id"] for one in found] == [1, None, None, 2, 3, 4, 5]
    assert ["error" in one for one in found] == [False, True, True, True, True, True, False]
    assert "line 2" in str(found[1]["error"])
    assert "int" in str(found[3]["error"])


def test_a_bad_line_has_the_fields_of_an_answer_and_blocks_as_the_gate_does() -> None:
    (answer,) = answers(b'{"id": 7, "tool": "Bash"}')
    assert set(answer) == {*FIELDS, "error"}
    assert (answer["id"], answer["decision"], answer["rule"]) == (7, "block", "tools.malformed")


def test_a_field_that_is_null_counts_as_missing_and_a_relative_cwd_is_below_the_workspace() -> None:
    reviewer = make_reviewer(ReviewSettings())
    lines = [
        b'{"command": null, "tool": "Write", "input": {"file_path": "a", "content": ""}, "workspace": "/w", "cwd": null}',
        b'{"command": "rm -r b", "workspace": "/w", "cwd": "sub"}',
        b'{"command": "rm -r ../b", "workspace": "/w", "cwd": "sub"}',
        b'{"command": "rm -r ../../b", "workspace": "/w", "cwd": "sub"}',
    ]
    assert [one["decision"] for one in answers(*lines, reviewer=reviewer)] == ["allow", "allow", "allow", "block"]


def test_text_that_json_cannot_hold_is_answered_all_the_same() -> None:
    (answer,) = answers(rb'{"command": "rm -rf /\u0000\u202e"}')
    assert answer["decision"] in ("block", "modify")


def test_a_reviewer_that_raises_blocks_and_is_named() -> None:
    class Broken:
        def review(self, action: Action, context: ReviewContext) -> Review:
            raise ZeroDivisionError(f"by nought: {action.tool} {context.home}")

    (answer,) = answers(b'{"command": "ls"}', reviewer=Broken())
    assert answer["decision"] == "block"
    assert "Broken" in str(answer["reasoning"])
    assert "by nought" in str(answer["reasoning"])
