from monitors.contract.observations import Observation
from monitors.contract.words import Severity
from monitors.patterns.exploration_wandering import ExplorationWandering
from tests.monitors.steps import Run, play


def wander(run: Run, looks: int, directories: int = 16) -> list[list[Observation]]:
    """Looks that jump from directory to directory and come back to the same files."""
    return [run.read(f"/w/d{n * 5 % directories}/f.py") for n in range(looks)]


def test_looking_back_and_forth_over_many_directories_with_no_change_is_wandering() -> None:
    run, detector = Run(), ExplorationWandering()
    assert play(detector, *wander(run, 59)) == []
    [issue] = play(detector, run.read("/w/d1/f.py"))
    assert (issue.type, issue.severity, issue.began) == ("exploration_wandering", Severity.LOW, 1)
    assert issue.details["directories"] == 16
    assert issue.details["backtracking"] == 0.733


def test_it_is_raised_again_when_it_has_gone_on_twice_as_long() -> None:
    issues = play(ExplorationWandering(), *wander(Run(), 245))
    assert [issue.severity for issue in issues] == [Severity.LOW, Severity.MEDIUM, Severity.HIGH]


def test_a_change_ends_it() -> None:
    run, detector = Run(), ExplorationWandering()
    issues = play(detector, *wander(run, 65), run.edit("/w/d1/f.py"), *wander(run, 30))
    assert [issue.closed for issue in issues] == [False, True]


def test_reading_a_code_base_in_order_is_none() -> None:
    run = Run()
    assert play(ExplorationWandering(), *(run.read(f"/w/d{n // 4}/f{n}.py") for n in range(300))) == []
    assert play(ExplorationWandering(), *(run.read(f"/w/d{n}/f{n}.py") for n in range(300))) == []


def test_going_back_and_forth_between_the_files_that_matter_is_none() -> None:
    run = Run()
    assert play(ExplorationWandering(), *(run.read(f"/w/src/f{n % 3}.py", offset=n) for n in range(100))) == []


def test_a_persons_word_starts_anew() -> None:
    run = Run()
    assert play(ExplorationWandering(), *wander(run, 59), run.told("and the docs?"), *wander(run, 59)) == []
