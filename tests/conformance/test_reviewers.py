"""What anything must do that reviews or weighs actions: run for the built-in ones, and by plugins for theirs."""

import copy
from collections.abc import Sequence

import pytest

from monitors.review import ReviewSettings, levels, make_reviewer
from monitors.review.findings import Finding
from monitors.review.risk import Risk, RiskCalculator, StandardRisk
from monitors.review.safely import Chain, safe_review
from supervisor.protocol.actions import Action, Context, Factor, Review, Reviewer
from supervisor.protocol.words import Decision, Severity

ACTIONS = [
    Action("Bash", {"command": "ls"}, "/w", "/w"), Action("Bash", {"command": "rm -rf /"}), Action("Bash", {"command": "git push --force"}, "/w", "/w"), Action("Bash", {}), Action("Bash", {"command": "$(" * 5_000}),
    Action("Write", {"file_path": "/w/a", "content": "x"}, "/w", "/w"), Action("Write", {"file_path": 7}), Action("Read", {"file_path": "/etc/shadow"}), Action("mcp__a__b", {"x": [1, {"y": "z"}]}), Action("", {}), Action("Nobody", {"command": "rm"}),
]  # fmt: skip
CONTEXTS = [
    Context(),
    Context(home="/home/u", captured=True, active_issues=("scope_creep",), protected=("/home/u/.state",)),
]


class Cautious:
    """A reviewer as a plugin would bring: it warns about everything."""

    def review(self, action: Action, context: Context) -> Review:
        assert context is not None
        return Review(Decision.WARN, 0.6, 0.5, Severity.MEDIUM, f"{action.tool} is new to me.", "cautious")


class Flat:
    """A risk calculator as a plugin would bring: every finding counts the same."""

    def score(self, findings: Sequence[Finding], context: Context, *, strict: bool) -> Risk:
        assert context is not None
        assert strict in (True, False)
        worst = max(findings, key=lambda finding: finding.risk, default=None)
        return Risk(0.5 if findings else 0.0, (Factor("flat", 0.5),) if findings else (), worst)


REVIEWERS: list[Reviewer] = [
    make_reviewer(),
    make_reviewer(ReviewSettings(profile="strict")),
    make_reviewer(risk=Flat()),
    Cautious(),
    Chain([("standard", make_reviewer()), ("cautious", Cautious())]),
]
CALCULATORS: list[RiskCalculator] = [StandardRisk(), Flat()]


@pytest.mark.parametrize("context", CONTEXTS, ids=["bare", "full"])
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: f"{action.tool} {str(dict(action.input))[:30]}")
@pytest.mark.parametrize("reviewer", REVIEWERS, ids=["standard", "strict", "flat", "cautious", "chain"])
def test_a_reviewer_keeps_its_contract(reviewer: Reviewer, action: Action, context: Context) -> None:
    before = copy.deepcopy(dict(action.input))
    first = reviewer.review(action, context)
    assert reviewer.review(action, context) == first, "the same action and context give the same review"
    assert dict(action.input) == before, "the input is not changed"
    assert 0.0 <= first.risk <= 1.0
    assert 0.0 <= first.rationality <= 1.0
    assert first.reasoning
    assert (first.updated_input is not None) == (first.decision is Decision.MODIFY)
    assert first.decision is Decision.BLOCK or not first.stop
    assert first.rule or first.decision is Decision.ALLOW or first.risk < 0.7


@pytest.mark.parametrize("calculator", CALCULATORS, ids=["standard", "flat"])
@pytest.mark.parametrize("risks", [[], [0.0], [1.0], [0.1, 0.8], [levels.DOOM] * 50])
def test_a_risk_calculator_keeps_its_contract(calculator: RiskCalculator, risks: list[float]) -> None:
    findings = [Finding(f"r{index}", risk, "") for index, risk in enumerate(risks)]
    for context in CONTEXTS:
        found = calculator.score(findings, context, strict=False)
        assert 0.0 <= found.score <= 1.0
        assert found == calculator.score(findings, context, strict=False)
        assert found.worst is None or found.worst in findings
        assert bool(found.factors) == bool(findings)


class Raises:
    def review(self, action: Action, context: Context) -> Review:
        raise RuntimeError(f"out of order for {action.tool} {context.home}")


class Mumbles:
    def review(self, action: Action, context: Context) -> Review:
        del action, context
        return "allow"  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("broken", "said"), [(Raises(), "out of order"), (Mumbles(), "str")], ids=["raises", "mumbles"]
)
def test_a_reviewer_that_fails_is_a_block_that_names_it(broken: Reviewer, said: str) -> None:
    alone = safe_review(broken, ACTIONS[0], Context())
    among = Chain([("standard", make_reviewer()), ("mine", broken)]).review(ACTIONS[0], Context())
    assert (alone.decision, among.decision) == (Decision.BLOCK, Decision.BLOCK)
    assert said in alone.reasoning
    assert "`mine`" in among.reasoning
    assert among.rule == "reviewer.failed:mine"


def test_of_several_reviewers_the_strictest_counts() -> None:
    chain = Chain([("cautious", Cautious()), ("standard", make_reviewer())])
    assert chain.review(ACTIONS[0], Context()).rule == "cautious"
    assert chain.review(ACTIONS[1], Context()).decision is Decision.BLOCK
    assert Chain([]).review(ACTIONS[0], Context()).decision is Decision.BLOCK
