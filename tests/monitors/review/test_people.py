"""What people are shown: explanations, the list of rules, rules of their own."""

import ast
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

import monitors.review
from monitors.contract.actions import Action, ReviewContext
from monitors.contract.subjects import SUBJECT_FIELDS
from monitors.contract.words import Decision
from monitors.review import ReviewSettings, make_reviewer
from monitors.review.catalogue import NAMES, check, failures, listed, matching, near
from monitors.review.explain import explain
from monitors.review.knowledge.book import BUILT_IN, RULES
from monitors.review.rules.definitions import Knowledge, RuleError, knowledge_from, rule_from
from monitors.review.rules.rules import Rule
from monitors.review.user_rules import OwnRule, matches
from monitors.review.verdict.rationality import summarised


def test_an_explanation_is_the_review_with_its_stages_and_times() -> None:
    ticks = itertools.count(0, 1_000)
    reviewer, action = (
        make_reviewer(ReviewSettings(profile="strict")),
        Action("Bash", {"command": "sudo git push --force"}),
    )
    told = explain(reviewer, action, ReviewContext(), lambda: next(ticks))
    assert told.review == reviewer.review(action, ReviewContext())
    assert [stage.name for stage in told.stages] == ["read", "judge", "weigh", "decide"]
    assert all(stage.micros == 1.0 for stage in told.stages)
    assert any("git.push-force" in line for line in told.stages[1].lines)


def test_an_explanation_shows_the_rewrite() -> None:
    ticks = itertools.count()
    told = explain(
        make_reviewer(ReviewSettings(profile="strict")),
        Action("Bash", {"command": "git push --force"}),
        ReviewContext(),
        lambda: next(ticks),
    )
    assert told.stages[-1].name == "rewrite"
    assert "--force-with-lease" in told.stages[-1].lines[0]


def test_the_list_of_rules_is_whole_and_every_entry_passes_its_own_test() -> None:
    assert len(listed()) == len(RULES)
    assert failures(BUILT_IN) == []


def test_a_rule_that_fails_its_own_example_is_found() -> None:
    bad = Rule("x.y", ("git push",), 0.8, "pushes", yes=("git pull",), no=("git push",))
    assert [(one.command, one.expected) for one in failures(Knowledge(rules=(bad,)))] == [
        ("git pull", True),
        ("git push", False),
    ]


def test_one_can_ask_which_rules_a_command_meets() -> None:
    assert matching("ls && sudo git push --force") == ["git.push-force", "git.push"]


OWN: dict[str, Any] = {
    "name": "team.deploy",
    "match": ["deployctl ... prod !{--dry-run}"],
    "risk": "harm",
    "why": "deploys to production",
    "yes": ["deployctl push prod"],
    "no": ["deployctl push prod --dry-run"],
}


def test_a_users_rule_counts_like_a_built_in_one() -> None:
    rule = rule_from(OWN, "chaperon.yaml: review.rules[0]")
    review = make_reviewer(ReviewSettings(rules=(rule,))).review(
        Action("Bash", {"command": "env A=b deployctl push prod"}), ReviewContext()
    )
    assert (review.decision, review.rule) == (Decision.BLOCK, "team.deploy")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk": 2}, "0 to 1"),
        ({"risk": "huge"}, "harm"),
        ({"match": []}, "needs"),
        ({"match": ["{-f}"]}, "begins with the name of a program"),
        ({"match": ["x /(/"]}, "no regular expression"),
        ({"matches": "x"}, "no key `matches`"),
        ({"yes": ["other push"]}, "does not match its own example"),
        ({"no": ["deployctl push prod"]}, "matches its own example"),
        ({"why": 3}, "expected a text"),
        ({"yes": 3}, "list of texts"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_place_and_what_was_expected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=r"^reviewer\.rules\[1\]") as refused:
        check(knowledge_from({"rules": [OWN, {**OWN, **change}]}, "reviewer"), "reviewer")
    assert message in str(refused.value)


def test_a_rule_can_be_disabled_but_never_the_guards_own() -> None:
    settings = ReviewSettings(disabled=frozenset({"git.push-mirror", "chaperon.self-protection", "process.kill-guard"}))
    reviewer = make_reviewer(settings)
    assert reviewer.review(Action("Bash", {"command": "git push --mirror"}), ReviewContext()).decision is Decision.ALLOW
    assert reviewer.review(Action("Bash", {"command": "pkill chaperon"}), ReviewContext()).decision is Decision.BLOCK
    assert reviewer.review(Action("Bash", {"command": "rm .claude/settings.json"}), ReviewContext()).stop


def test_every_rule_that_the_reviewer_can_name_is_known() -> None:
    sources = [*Path(monitors.review.__path__[0]).glob("*.py"), *Path(monitors.review.__path__[0]).glob("*/*.py")]
    texts = [
        node.value
        for source in sources
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    families = {name.partition(".")[0] for name in NAMES}
    named = {
        text for text in texts if re.fullmatch(r"[a-z]+\.[a-z][a-z-]+", text) and text.partition(".")[0] in families
    }
    assert named <= NAMES


def test_a_name_close_to_a_rule_leads_to_it() -> None:
    assert near("git.push-forse")[0] == "git.push-force"
    assert "shell.fork-bomb" in near("shell.zzz")
    assert near("git.push-force") == near("ours.release") == []


@pytest.mark.parametrize("field", SUBJECT_FIELDS)
def test_what_a_call_is_about_is_the_same_for_rules_for_comparing_steps_and_for_history(field: str) -> None:
    action = Action("Tool", {field: "x"})
    assert summarised(action) == action.subject == "x"
    assert matches(OwnRule("own.x", "*", "^x$", Decision.BLOCK, "because"), action)
