import pytest

from monitors.contract.actions import PastCall
from monitors.contract.words import Decision
from monitors.patterns.model_judge import (
    JudgeAnswer,
    JudgeSettings,
    QuestionsAsked,
    answer_of,
    is_due,
    issue_of,
    question,
)

ON = JudgeSettings(enabled=True)
STUCK = JudgeAnswer(stuck=True, confidence=0.95, sentence="It tries\nthe same idea in many forms.")


def test_no_question_is_put_by_default() -> None:
    assert not any(is_due(JudgeSettings(), step, QuestionsAsked()) for step in range(200))


def test_questions_come_late_seldom_and_within_a_budget() -> None:
    assert [is_due(ON, step, QuestionsAsked()) for step in (29, 30, 31)] == [False, True, True]
    assert [is_due(ON, step, QuestionsAsked(1, 31)) for step in (45, 46)] == [False, True]
    assert not is_due(ON, 500, QuestionsAsked(ON.most_questions, 31))
    assert not is_due(ON, 500, QuestionsAsked(1, 31, cost_usd=0.5))


def test_the_model_is_shown_the_task_and_the_last_steps_with_how_they_went() -> None:
    steps = [PastCall("Bash", f"make {n}", failed=n == 29, decision=Decision.ALLOW) for n in range(30)]
    asked = question("Mend the build.", steps, ON)
    assert "Mend the build." in asked
    assert "20. Bash (failed): make 29" in asked
    assert "make 9\n" not in asked


def test_a_sure_answer_is_an_issue_an_unsure_one_is_none_and_a_better_one_closes_it() -> None:
    issue = issue_of(STUCK, 10, 50, ON, is_open=False)
    assert issue is not None
    assert (issue.type, issue.confidence, issue.began, issue.evidence) == ("judged_stuck", 0.95, 10, (10, 50))
    assert issue.sentence == "A model that was asked says: It tries the same idea in many forms."
    unsure = JudgeAnswer(stuck=True, confidence=0.6, sentence="")
    assert issue_of(unsure, 10, 50, ON, is_open=False) is None
    assert issue_of(STUCK, 10, 50, ON, is_open=True) is None
    over = issue_of(JudgeAnswer(stuck=False, confidence=1.0, sentence="fine"), 10, 50, ON, is_open=True)
    assert over is not None
    assert over.closed


def test_an_answer_is_read_out_of_what_is_said_around_it() -> None:
    said = 'Here it is:\n```json\n{"stuck": true, "confidence": 1, "sentence": "round and round"}\n```'
    assert answer_of(said) == JudgeAnswer(stuck=True, confidence=1.0, sentence="round and round")


@pytest.mark.parametrize(
    "said",
    ["", "stuck", "{", '{"stuck": 1, "confidence": 1, "sentence": ""}', '{"stuck": true, "confidence": 2, "sentence": ""}',
     '{"stuck": true, "confidence": true, "sentence": ""}', '{"stuck": true, "confidence": 1}', "{broken}"],
)  # fmt: skip
def test_what_is_no_answer_is_none(said: str) -> None:
    assert answer_of(said) is None
