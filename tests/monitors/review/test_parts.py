"""Risk, decision, rationality: the parts by themselves."""

from dataclasses import replace

import pytest

from monitors.contract.actions import Action, PastCall, ReviewContext, Touch
from monitors.contract.tasks import Task
from monitors.contract.words import Decision, MonitoringLevel, Sensitivity
from monitors.review import ReviewSettings, make_reviewer
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding
from monitors.review.verdict.decision import decision, may_answer_early, watched_at
from monitors.review.verdict.rationality import UNKNOWN, rationality
from monitors.review.verdict.risk import StandardRisk

CALM = ReviewContext()
FAILING = ReviewContext(history=(PastCall("Bash", "make", True, Decision.ALLOW),) * 3)
TROUBLED = ReviewContext(active_issues=("scope_creep", "no_progress"))


def score(
    risk: float, context: ReviewContext = CALM, *, undo: str = "", elevated: bool = False, strict: bool = False
) -> float:
    return StandardRisk().score([Finding("x", risk, "y", undo=undo, elevated=elevated)], context, strict=strict).score


def test_the_worst_finding_decides_and_is_named() -> None:
    found = StandardRisk().score(
        [Finding("a", 0.1, ""), Finding("b", 0.8, ""), Finding("c", 0.5, "")], CALM, strict=False
    )
    assert found.worst is not None
    assert (found.score, found.worst.rule, found.factors[0].name) == (0.8, "b", "b")


def test_circumstances_raise_a_risk_and_leave_reading_harmless() -> None:
    assert score(0.5) < score(0.5, FAILING) < score(0.5, TROUBLED)
    assert score(0.5, elevated=True) > score(0.5)
    assert score(levels.READS, TROUBLED, elevated=True) == 0.0
    assert score(1.0, TROUBLED, elevated=True) == 1.0


def test_what_a_checkpoint_takes_back_weighs_little_but_not_in_the_strict_profile() -> None:
    assert score(levels.HARM, undo="files") < 0.3
    assert score(levels.HARM, undo="files", strict=True) == levels.HARM


def test_factors_add_up_to_the_score() -> None:
    found = StandardRisk().score([Finding("x", 0.5, "", undo="git", elevated=True)], TROUBLED, strict=False)
    assert sum(factor.weight for factor in found.factors) == pytest.approx(found.score, abs=1e-3)


@pytest.mark.parametrize(
    ("risk", "sense", "expected"),
    [
        (0.0, 0.0, Decision.ALLOW),
        (0.2, 0.1, Decision.WARN),
        (0.2, 0.8, Decision.ALLOW),
        (0.6, 0.8, Decision.WARN),
        (0.7, 1.0, Decision.BLOCK),
        (0.1, 0.0, Decision.ALLOW),
    ],
)
def test_the_matrix(risk: float, sense: float, expected: Decision) -> None:
    assert decision(risk, sense, ReviewSettings()) is expected


@pytest.mark.parametrize("risk", [0.0, 0.2, 0.4, 0.6, 0.69])
def test_doubt_alone_never_blocks(risk: float) -> None:
    assert decision(risk, 0.0, ReviewSettings()) in (Decision.ALLOW, Decision.WARN)


def test_threshold_and_sensitivity_are_the_users() -> None:
    assert decision(0.75, 1, ReviewSettings(threshold=0.9)) is Decision.WARN
    assert decision(0.4, 1, ReviewSettings(sensitivity=Sensitivity.HIGH)) is Decision.WARN
    assert decision(0.6, 1, ReviewSettings(sensitivity=Sensitivity.LOW)) is Decision.ALLOW


def test_an_agent_that_is_watched_strictly_is_blocked_where_others_are_warned_and_warned_earlier() -> None:
    strict = watched_at(MonitoringLevel.STRICT, ReviewSettings())
    assert [decision(risk, 1, strict) for risk in (0.2, 0.4, 0.55, 0.7)] == [
        Decision.ALLOW, Decision.WARN, Decision.BLOCK, Decision.BLOCK,
    ]  # fmt: skip
    assert watched_at(MonitoringLevel.NORMAL, ReviewSettings()) == ReviewSettings()
    assert watched_at(MonitoringLevel.STRICT, ReviewSettings(threshold=0.2)).threshold == 0.2


def test_one_reviewer_judges_a_strictly_watched_agent_by_its_own_threshold_beside_others() -> None:
    reviewer, task = make_reviewer(), Task("t", "x", "/w")
    closely = ReviewContext(task=replace(task, monitoring_level=MonitoringLevel.STRICT))
    action = Action("Bash", {"command": "git commit --no-verify -m x"}, cwd="/w", workspace="/w")
    assert reviewer.review(action, ReviewContext(task=task)).decision is Decision.WARN
    assert reviewer.review(action, closely).decision is Decision.BLOCK
    harmless = Action("Bash", {"command": "make test"}, cwd="/w", workspace="/w")
    assert reviewer.review(harmless, closely).decision is Decision.ALLOW


def test_without_scores_only_what_destroys_is_stopped() -> None:
    off = ReviewSettings(scored=False, threshold=0.1, sensitivity=Sensitivity.HIGH)
    assert [decision(risk, 0.0, off) for risk in (0.1, 0.55, 0.79)] == [Decision.ALLOW] * 3
    assert decision(0.8, 1.0, off) is Decision.BLOCK


@pytest.mark.parametrize(
    ("command", "early"), [("ls", True), ("cat a.txt", True), ("touch a.txt", False), ("curl https://x", False)]
)
def test_only_what_changes_nothing_may_be_answered_before_the_journal_has_it(command: str, early: bool) -> None:
    review = make_reviewer().review(Action("Bash", {"command": command}, "/w", "/w"), CALM)
    assert may_answer_early(review) is early


def test_what_is_blocked_or_warned_of_never_hurries() -> None:
    review = make_reviewer().review(
        Action("Bash", {"command": "cat ~/.ssh/id_rsa"}, "/w", "/w"), ReviewContext(home="/h")
    )
    assert not may_answer_early(review)


TASK = Task("t", "Fix the parser in src/parser.py", "/w", expected_paths=("src/*",))


def sense(
    command: str, context: ReviewContext = CALM, touches: tuple[Touch, ...] = ()
) -> tuple[float, tuple[str, ...]]:
    found = rationality(Action("Bash", {"command": command}, "/w", "/w"), context, touches)
    return found.score, found.reasons


def test_without_a_task_there_is_neither_praise_nor_blame() -> None:
    score_, reasons = sense("ls")
    assert score_ == pytest.approx(UNKNOWN, abs=0.05)
    assert reasons == ()


def test_writing_where_the_task_does_not_expect_it_makes_less_sense() -> None:
    context = ReviewContext(task=TASK)
    inside, _ = sense("touch src/parser.py", context, (Touch("/w/src/parser.py", "write"),))
    outside, reasons = sense("touch docs/a.md", context, (Touch("/w/docs/a.md", "write"),))
    assert outside < inside
    assert "docs/a.md" in reasons[0]


def test_doing_again_what_failed_makes_less_sense_each_time() -> None:
    scores = [
        sense("make", ReviewContext(history=(PastCall("Bash", "make", True, Decision.ALLOW),) * times))[0]
        for times in range(1, 5)
    ]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[-1]


def test_what_was_blocked_before_and_what_has_gaps_makes_less_sense() -> None:
    assert sense("rm -rf /", ReviewContext(history=(PastCall("Bash", "rm -rf /", False, Decision.BLOCK),)))[1]
    assert "<name>" in sense("git checkout <name>")[1][0]


def test_an_action_that_makes_no_sense_is_warned_about_and_runs() -> None:
    context = ReviewContext(task=TASK, history=(PastCall("Bash", "pip install x", True, Decision.ALLOW),) * 6)
    review = make_reviewer().review(Action("Bash", {"command": "pip install x"}, "/w", "/w"), context)
    assert review.rationality < 0.7
    assert review.decision in (Decision.ALLOW, Decision.WARN)
