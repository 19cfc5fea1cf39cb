from monitors.judge import JudgeAnswer, JudgeRequest, JudgeSettings, is_due, issue_of

REQUEST = JudgeRequest("mend it", ("Bash: make",), 10, 50)


def test_no_question_is_put_by_default_and_a_bounded_number_where_enabled() -> None:
    assert not any(is_due(JudgeSettings(), step, 0) for step in range(200))
    on = JudgeSettings(enabled=True)
    assert [step for step in range(70) if is_due(on, step, 0)] == [30, 45, 60]
    assert not is_due(on, 45, on.most_questions)


def test_a_sure_answer_is_an_issue_and_an_unsure_one_is_none() -> None:
    issue = issue_of(
        JudgeAnswer(stuck=True, confidence=0.95, sentence="It tries the same idea in many forms."),
        REQUEST,
        JudgeSettings(),
    )
    assert issue is not None
    assert (issue.type, issue.confidence, issue.began, issue.evidence) == ("judged_stuck", 0.95, 10, (10, 50))
    assert issue_of(JudgeAnswer(stuck=True, confidence=0.6, sentence=""), REQUEST, JudgeSettings()) is None
    assert issue_of(JudgeAnswer(stuck=False, confidence=1.0, sentence=""), REQUEST, JudgeSettings()) is None
