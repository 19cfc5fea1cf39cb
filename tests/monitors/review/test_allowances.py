"""Allowances by a person."""

from dataclasses import replace

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from monitors.review.allowances import Allowance, allowed

ACTION = Action("Bash", {"command": "git push --mirror origin"}, "/w", "/w")
REVIEW: Review = make_reviewer().review(ACTION, ReviewContext())
GIVEN = Allowance("w-1", "ada", rule="git.push-mirror", text="git push --mirror origin")


def answer(given: Allowance, now: float = 10.0) -> Decision:
    return allowed(REVIEW, ACTION, [given], now).decision


def test_an_allowance_lets_its_action_pass_and_says_by_whom() -> None:
    review = allowed(REVIEW, ACTION, [GIVEN], 0.0)
    assert (review.decision, review.allowance) == (Decision.ALLOW, "w-1")
    assert "ada allowed it (w-1). Without that: This" in review.reasoning
    assert answer(GIVEN.used()) is Decision.BLOCK


@pytest.mark.parametrize(
    "other",
    [
        replace(GIVEN, rule="git.push"),
        replace(GIVEN, text="git push"),
        replace(GIVEN, since=11.0),
        replace(GIVEN, tool="Write"),
        replace(GIVEN, uses=0),
        replace(GIVEN, expires=10.0),
        replace(GIVEN, rule="", text=""),
    ],
)
def test_an_allowance_covers_nothing_else(other: Allowance) -> None:
    assert answer(other) is Decision.BLOCK


def test_an_allowance_that_expires_is_good_until_then() -> None:
    given = replace(GIVEN, expires=20.0, uses=None)
    assert answer(given, 19.9) is Decision.ALLOW
    assert answer(given, 20.0) is Decision.BLOCK
    assert given.used() is given


@pytest.mark.parametrize(
    "command", ["rm -rf ~/.claude/settings.json", "pkill -f chaperon", "chaperon allow a1 'rm -rf /'"]
)
def test_nobody_is_excused_from_leaving_the_guard_alone(command: str) -> None:
    action = Action("Bash", {"command": command}, "/w", "/w")
    review = make_reviewer().review(action, ReviewContext(home="/home/u"))
    assert review.decision is Decision.BLOCK
    assert allowed(review, action, [Allowance("x", "ada", text=command, uses=None)], 0.0) is review


def test_where_a_reviewer_failed_nothing_can_be_allowed() -> None:
    review = replace(REVIEW, rule="reviewer.failed:mine")
    assert allowed(review, ACTION, [replace(GIVEN, rule="")], 0.0) is review
