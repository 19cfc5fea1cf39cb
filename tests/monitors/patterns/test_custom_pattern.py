from monitors.contract.words import Severity
from monitors.patterns.custom_pattern import CustomPatternDetector, CustomPatternSettings
from supervisor.testing import check_detector
from tests.monitors.steps import Run, play

TERRAFORM = CustomPatternSettings(
    name="terraform_again", description="Terraform was run by hand.", match=r"terraform (?:apply|destroy)", threshold=2, window=4
)  # fmt: skip


def test_it_speaks_at_the_threshold_and_with_the_users_words() -> None:
    run = Run()
    (issue,) = play(
        CustomPatternDetector(TERRAFORM), run.bash("terraform apply"), run.bash("ls"), run.bash("terraform destroy")
    )
    assert (issue.type, issue.severity, issue.closed) == ("terraform_again", Severity.MEDIUM, False)
    assert issue.sentence == "Terraform was run by hand: 2 times in the last 4 calls."
    assert len(issue.evidence) == 2
    assert issue.began == issue.evidence[0]


def test_matches_that_lie_too_far_apart_are_nothing() -> None:
    run = Run()
    steps = [run.bash(command) for command in ("terraform apply", "a", "b", "c", "terraform apply")]
    assert play(CustomPatternDetector(TERRAFORM), *steps) == []


def test_it_is_over_when_the_window_has_passed() -> None:
    run = Run()
    steps = [run.bash(command) for command in ("terraform apply", "terraform apply", "a", "b", "c", "d")]
    assert [issue.closed for issue in play(CustomPatternDetector(TERRAFORM), *steps)] == [False, True]


def test_the_result_is_searched_as_well() -> None:
    settings = CustomPatternSettings(name="oom", description="Killed", match="Out of memory", threshold=1, window=5)
    run = Run()
    (issue,) = play(CustomPatternDetector(settings), run.bash("make", "x" * 20_000 + "\nOut of memory: killed"))
    assert issue.details == {"count": 1}


def test_lines_that_the_cli_prints_are_searched_and_are_no_calls_of_the_window() -> None:
    settings = CustomPatternSettings(name="quota", description="Quota", match=r"CLI\n.*quota", threshold=2, window=2)
    run = Run()
    steps = [run.cli_prints("quota at 90 %"), *(run.cli_prints(str(number)) for number in range(9)), run.bash("ls")]
    assert play(CustomPatternDetector(settings), *steps) == []
    assert len(play(CustomPatternDetector(settings), *steps, run.cli_prints("quota at 95 %"))) == 1


def test_it_keeps_to_the_contract_of_detectors() -> None:
    settings = CustomPatternSettings(name="failing", description="It failed", match="error|failed", threshold=3)
    check_detector(lambda: CustomPatternDetector(settings))
