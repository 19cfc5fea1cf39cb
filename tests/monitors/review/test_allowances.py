"""Allowances by a person."""

from dataclasses import replace

import pytest

from monitors.review import make_reviewer
from monitors.review.allowances import Allowance, allowed
from supervisor.protocol.actions import Action, Context, Review
from supervisor.protocol.words import Decision

ACTION = Action("Bash", {"command": "git push --mirror origin"}, "/w", "/w")
REVIEW: Review = make_reviewer().review(ACTION, Context())
GIVEN = Allowance("w-1", "ada", rule="git.push-mirror", text="git push --mirror origin")


def answer(given: Allowance, *, agent: str = "a", now: float = 10.0) -> Decision:
    return allowed(REVIEW, ACTION, [given], agent=agent, now=now)[0].decision


def test_an_allowance_lets_its_action_pass_and_says_by_whom() -> None:
    review, used = allowed(REVIEW, ACTION, [GIVEN], agent="a", now=0.0)
    assert review.decision is Decision.ALLOW
    assert "ada" in review.reasoning
    assert used is GIVEN
    assert used.used().uses == 0


@pytest.mark.parametrize(
    "other",
    [
        replace(GIVEN, rule="git.push"),
        replace(GIVEN, text="git push"),
        replace(GIVEN, agent="b"),
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
    assert answer(given, now=19.9) is Decision.ALLOW
    assert answer(given, now=20.0) is Decision.BLOCK
    assert given.used() is given


def test_nobody_is_excused_from_leaving_the_guard_alone() -> None:
    action = Action("Bash", {"command": "rm -rf ~/.claude/settings.json"}, "/w", "/w")
    review = make_reviewer().review(action, Context(home="/home/u"))
    assert (
        allowed(review, action, [Allowance("x", "ada", rule=review.rule, uses=None)], agent="a", now=0.0)[0].decision
        is Decision.BLOCK
    )
