"""The rules for any reviewer, any risk calculator and any rule.

A reviewer: the same action and context give the same review; the input is not changed; risk and rationality lie within
0 and 1; it gives a reason; it has an input to run instead exactly if it modifies; it stops only what it blocks. No
tool, input or context, however odd, makes it raise. A risk calculator: the same, for any findings.
"""

import copy
from collections.abc import Sequence

from monitors.contract.actions import Action, PastCall, ReviewContext, Reviewer
from monitors.contract.tasks import Task
from monitors.contract.words import Decision
from monitors.review.catalogue import failures
from monitors.review.rules import levels
from monitors.review.rules.definitions import Knowledge
from monitors.review.rules.findings import Finding
from monitors.review.rules.rules import Rule
from monitors.review.verdict.risk import RiskCalculator

ACTIONS = [
    Action("Bash", {"command": "ls"}, "/w", "/w"), Action("Bash", {"command": "rm -rf /"}), Action("Bash", {"command": "git push --force"}, "/w", "/w"), Action("Bash", {}), Action("Bash", {"command": "$(" * 5_000}),
    Action("Bash", {"command": 7}), Action("Bash", {"command": "a\0b \ud800 \u202e"}),
    Action("Write", {"file_path": "/w/a", "content": "x"}, "/w", "/w"), Action("Write", {"file_path": 7}), Action("Read", {"file_path": "/etc/shadow"}), Action("mcp__a__b", {"x": [1, {"y": "z"}]}), Action("", {}), Action("Nobody", {"command": "rm"}),
]  # fmt: skip
CONTEXTS = [
    ReviewContext(),
    ReviewContext(
        Task("t", "mend the login form", "/w"),
        (PastCall("Bash", "make", failed=True, decision=Decision.ALLOW),) * 5,
        home="/home/u",
        captured=True,
        active_issues=("scope_creep",),
        protected=("/home/u/.state",),
    ),
]
RISKS: tuple[tuple[float, ...], ...] = ((), (0.0,), (1.0,), (0.1, 0.8), (levels.DOOM,) * 50)


def check_reviewer(reviewer: Reviewer) -> None:
    """Check one reviewer with every action in every context.

    Raises:
        AssertionError: It does not keep to the contract.
    """
    for context in CONTEXTS:
        for action in ACTIONS:
            check_review(reviewer, action, context)


def check_review(reviewer: Reviewer, action: Action, context: ReviewContext) -> None:
    """Check what one action gives."""
    before = copy.deepcopy(dict(action.input))
    found = reviewer.review(action, context)
    assert reviewer.review(action, context) == found, "the same action and context gave another review"
    assert dict(action.input) == before, "it changed the input"
    assert 0.0 <= found.risk <= 1.0
    assert 0.0 <= found.rationality <= 1.0
    assert found.reasoning, "it gives no reason"
    assert (found.updated_input is not None) == (found.decision is Decision.MODIFY)
    assert found.decision is Decision.BLOCK or not found.stop, "it stops the agent and lets the action run"
    assert found.rule or found.decision is Decision.ALLOW or found.risk < 0.7, "it names no rule"


def check_rules(rules: Sequence[Rule]) -> None:
    """Run each rule's own examples: commands that it must match, and such that it must not.

    Raises:
        AssertionError: One fails, or a rule has none.
    """
    for rule in rules:
        assert rule.yes, f"{rule.name} has no example of what it matches"
    failed = failures(Knowledge(rules=tuple(rules)))
    assert not failed, "; ".join(map(str, failed[:5]))


def check_risk(calculator: RiskCalculator) -> None:
    """Check one risk calculator with no finding, one and many.

    Raises:
        AssertionError: It does not keep to the contract.
    """
    for risks in RISKS:
        findings = [Finding(f"r{index}", risk, "") for index, risk in enumerate(risks)]
        for context in CONTEXTS:
            found = calculator.score(findings, context, strict=False)
            assert 0.0 <= found.score <= 1.0
            assert found == calculator.score(findings, context, strict=False), "the same findings gave another risk"
            assert found.worst is None or found.worst in findings
            assert bool(found.factors) == bool(findings), "factors say how the score came about"
