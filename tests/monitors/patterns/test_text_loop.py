import pytest

from monitors.contract.words import Severity
from monitors.patterns.text_loop import TextLoop, repeated_end
from tests.monitors.steps import Run, opened, play

PLAN = "I will look at the parser first, then at the tests, and mend what fails there."


def test_the_same_words_three_times_without_a_tool_call_are_a_loop() -> None:
    run = Run()
    issues = play(TextLoop(), run.says(PLAN), run.says(PLAN), run.says(PLAN + " Now."))
    assert [(issue.type, issue.began, issue.evidence, issue.details["count"]) for issue in issues] == [
        ("text_loop", 1, (1, 2, 3), 3)
    ]


def test_a_word_of_chaperons_own_does_not_end_the_streak_and_a_persons_does() -> None:
    run = Run()
    assert len(play(TextLoop(), run.says(PLAN), run.told("go on", by="chaperon"), run.says(PLAN), run.says(PLAN))) == 1
    assert play(TextLoop(), run.says(PLAN), run.says(PLAN), run.told("go on"), run.says(PLAN)) == []


def test_a_tool_call_closes_it() -> None:
    run, detector = Run(), TextLoop()
    issues = play(detector, *(run.says(PLAN) for _ in range(4)), run.bash("ls"))
    assert [issue.closed for issue in issues] == [False, True]
    assert play(detector, *(part for _ in range(5) for part in (run.says(PLAN), run.bash("ls")))) == []


def test_a_text_that_ends_on_one_word_thousands_of_times_is_a_loop_at_once_and_severe() -> None:
    [issue] = play(TextLoop(), Run().says("The case went to " + "court " * 14_645))
    assert issue.details["count"] > 10_000
    assert issue.severity is Severity.HIGH


@pytest.mark.parametrize(
    "passage", ["ab. ", "I cannot do this. Let me try once more. ", "line one\nline two\nline three\n"]
)
def test_the_number_of_repeats_is_counted(passage: str) -> None:
    repeats, found = repeated_end("Once upon a time. " + passage * 60, 200)
    assert repeats in {59, 60}
    assert sorted(found) == sorted(passage) or len(found) % len(passage.rstrip()) <= len(passage)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 5,
        "Laughter: " + "ha " * 60,
        "-" * 900,
        "| --- | --- | --- |\n" * 30,
        "\n".join(f"{n}. step number {n} of the plan is to look at part {n * 7}" for n in range(60)),
        "def f():\n    return 1\n\n\n" * 4,
        "A long and honest paragraph about what was done. " + PLAN * 3,
        "",
    ],
)
def test_lists_tables_and_rules_are_no_loop(text: str) -> None:
    assert opened(play(TextLoop(), Run().says(text))) == []
