"""The built-in reviewers and risk calculators keep to the contract of plugins, and one that fails is a block."""

from collections.abc import Sequence

import pytest

from monitors.contract.actions import Action, Factor, Review, ReviewContext, Reviewer
from monitors.contract.words import Decision, Severity
from monitors.review import ReviewSettings, make_reviewer
from monitors.review.chain import Chain, NamedRisk, RiskError, safe_review
from monitors.review.rules.findings import Finding
from monitors.review.verdict.risk import Risk, RiskCalculator, StandardRisk
from supervisor.testing import check_reviewer, check_risk

LS, DOOM = Action("Bash", {"command": "ls"}, "/w", "/w"), Action("Bash", {"command": "rm -rf /"})


class Cautious:
    """A reviewer as a plugin would bring: it warns about everything."""

    def review(self, action: Action, context: ReviewContext) -> Review:
        assert context is not None
        return Review(Decision.WARN, 0.6, 0.5, Severity.MEDIUM, f"{action.tool} is new to me.", "cautious")


class Flat:
    """A risk calculator as a plugin would bring: every finding counts the same."""

    def score(self, findings: Sequence[Finding], context: ReviewContext, *, strict: bool) -> Risk:
        assert context is not None
        assert strict in (True, False)
        worst = max(findings, key=lambda finding: finding.risk, default=None)
        return Risk(0.5 if findings else 0.0, (Factor("flat", 0.5),) if findings else (), worst)


REVIEWERS: dict[str, Reviewer] = {
    "standard": make_reviewer(),
    "strict": make_reviewer(ReviewSettings(profile="strict")),
    "flat": make_reviewer(risk=Flat()),
    "cautious": Cautious(),
    "chain": Chain([("standard", make_reviewer()), ("cautious", Cautious())]),
}


@pytest.mark.parametrize("name", REVIEWERS)
def test_a_reviewer_keeps_its_contract(name: str) -> None:
    check_reviewer(REVIEWERS[name])


@pytest.mark.parametrize("calculator", [StandardRisk(), Flat()], ids=["standard", "flat"])
def test_a_risk_calculator_keeps_its_contract(calculator: RiskCalculator) -> None:
    check_risk(calculator)


class Wrong:
    """A reviewer and a calculator that fail in a way of one's choice."""

    def __init__(self, how: object) -> None:
        self._how = how

    def _answer(self, _action: object, _context: object, **_: object) -> object:
        if isinstance(self._how, BaseException):
            raise self._how
        return self._how

    review = score = _answer


HALF = Review(Decision.MODIFY, 0.8, 0.5, Severity.HIGH, "Do it so.", "half")


@pytest.mark.parametrize(
    ("how", "said"),
    [(RuntimeError("out of order"), "out of order"), (SystemExit(3), "SystemExit"), ("allow", "str"), (HALF, "modify")],
    ids=["raises", "exits", "mumbles", "half"],
)
def test_a_reviewer_that_fails_is_a_block_that_names_it(how: object, said: str) -> None:
    broken: Reviewer = Wrong(how)  # type: ignore[assignment]
    alone = safe_review(broken, LS, ReviewContext())
    among = Chain([("standard", make_reviewer()), ("mine", broken)]).review(LS, ReviewContext())
    assert (alone.decision, among.decision) == (Decision.BLOCK, Decision.BLOCK)
    assert said in alone.reasoning
    assert "`mine`" in among.reasoning
    assert among.rule == "reviewer.failed:mine"


@pytest.mark.parametrize("how", [ValueError("out of order"), SystemExit(3), 0.5, Risk(7.0, (), None)])
def test_a_risk_calculator_that_fails_is_named(how: object) -> None:
    calculator: RiskCalculator = NamedRisk("mine", Wrong(how))  # type: ignore[arg-type]
    with pytest.raises(RiskError, match="`mine`"):
        make_reviewer(risk=calculator).review(LS, ReviewContext())


@pytest.mark.parametrize("wrong", [HALF, Review(Decision.WARN, 7.0, 0.5, Severity.LOW, "x", "r")])
def test_one_that_breaks_the_contract_is_told(wrong: Review) -> None:
    with pytest.raises(AssertionError):
        check_reviewer(Wrong(wrong))  # type: ignore[arg-type]


def test_of_several_reviewers_the_strictest_counts() -> None:
    chain = Chain([("cautious", Cautious()), ("standard", make_reviewer())])
    assert chain.review(LS, ReviewContext()).rule == "cautious"
    assert chain.review(DOOM, ReviewContext()).decision is Decision.BLOCK
    assert Chain([]).review(LS, ReviewContext()).decision is Decision.BLOCK


@pytest.mark.parametrize(("instead", "decision"), [("ls -la", Decision.MODIFY), ("rm -rf /", Decision.BLOCK)])
def test_what_one_wants_run_instead_is_reviewed_by_all(instead: str, decision: Decision) -> None:
    class Instead:
        def review(self, action: Action, context: ReviewContext) -> Review:
            assert context is not None
            if action.input["command"] == instead:
                return Review(Decision.ALLOW, 0.0, 1.0, Severity.LOW, "As I said.")
            changed = {"command": instead}
            return Review(Decision.MODIFY, 0.8, 0.5, Severity.LOW, "Do it so.", "i", updated_input=changed)

    found = Chain([("standard", make_reviewer()), ("instead", Instead())]).review(LS, ReviewContext())
    assert found.decision is decision
    assert (found.updated_input is not None) == (decision is Decision.MODIFY)
