"""Rules of the user's own, before what chaperon knows."""

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from monitors.review.user_rules import OwnRule, OwnRules

HERE = ReviewContext(home="/home/ann", protected=("/home/ann/.local/state/chaperon",))


def decided(command: str, *rules: OwnRule) -> tuple[Decision, str]:
    reviewer = OwnRules(rules, make_reviewer())
    review = reviewer.review(Action("Bash", {"command": command}, "/repo", "/repo"), HERE)
    return review.decision, review.rule


def rule(decision: Decision, match: str = "terraform", tool: str = "Bash", name: str = "own.it") -> OwnRule:
    return OwnRule(name, tool, match, decision, "because we say so")


def test_a_rule_of_ones_own_blocks_what_would_be_allowed() -> None:
    assert decided("ls", rule(Decision.BLOCK, "^ls")) == (Decision.BLOCK, "own.it")


def test_the_first_rule_that_matches_decides() -> None:
    first, second = rule(Decision.WARN, name="own.first"), rule(Decision.BLOCK, name="own.second")
    assert decided("terraform plan", first, second) == (Decision.WARN, "own.first")


def test_a_rule_allows_what_would_be_modified_and_the_input_stays() -> None:
    reviewer = OwnRules([rule(Decision.ALLOW, "push --force")], make_reviewer())
    review = reviewer.review(Action("Bash", {"command": "git push --force"}, "/repo", "/repo"), HERE)
    assert (review.decision, review.updated_input) == (Decision.ALLOW, None)


@pytest.mark.parametrize("command", ["rm -rf /", "echo '{}' > /home/ann/.local/state/chaperon/snapshot.json"])
def test_no_rule_allows_what_a_critical_rule_blocks(command: str) -> None:
    assert decided(command, rule(Decision.ALLOW, "."))[0] is Decision.BLOCK


def test_a_rule_for_another_tool_does_not_match() -> None:
    assert decided("terraform plan", rule(Decision.BLOCK, tool="mcp__*"))[1] != "own.it"


def test_a_rule_without_a_pattern_matches_every_call_of_its_tool() -> None:
    assert decided("ls", rule(Decision.BLOCK, match=""))[0] is Decision.BLOCK
