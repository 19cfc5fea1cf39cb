import pytest

from monitors.contract.observations import Observation, ToolReturned
from monitors.signals.progress import Progress, Reading
from monitors.signals.shared import SharedSignals
from tests.monitors.steps import Run


def readings(*parts: list[Observation]) -> list[Reading]:
    progress = Progress(SharedSignals())
    return [progress.read(one) for part in parts for one in part if isinstance(one, ToolReturned)]


def runs(*counts: tuple[int, int], command: str = "pytest -q") -> list[bool]:
    run = Run()
    outputs = (f"{failed} failed, {passed} passed in 1.0s" for passed, failed in counts)
    return [bool(reading.strong) for reading in readings(*(run.bash(command, output) for output in outputs))]


def test_more_tests_that_pass_or_fewer_that_fail_are_progress_and_the_same_again_is_none() -> None:
    assert runs((0, 3), (0, 3), (1, 2), (1, 2), (1, 1), (2, 0)) == [False, False, True, False, True, True]


def test_coming_back_to_what_was_reached_before_is_no_progress() -> None:
    assert runs((4, 2), (5, 1), (4, 2), (5, 1), (6, 0)) == [True, True, False, False, True]


def test_a_break_after_all_was_green_starts_a_new_count() -> None:
    assert runs((9, 0), (7, 4), (8, 3), (8, 3)) == [True, False, True, False]


def test_a_narrower_run_that_fails_is_no_progress_over_a_broader_one() -> None:
    run = Run()
    broad, narrow = run.bash("pytest", "1 failed, 9 passed in 1.0s"), run.bash("pytest -k x", "1 failed in 0.1s")
    assert [bool(reading.strong) for reading in readings(broad, narrow)] == [True, False]


def test_a_commit_and_a_file_that_matters_are_progress() -> None:
    run = Run()
    commit = run.bash("git commit -m x", "[main 1a2b3c4] x\n 1 file changed")
    nothing = run.bash("git commit -m x", "nothing to commit, working tree clean")
    new, again, scratch = run.write("/w/src/a.py"), run.write("/w/src/a.py"), run.write("/tmp/a.py")
    assert [bool(reading.strong) for reading in readings(commit, nothing, new, again, scratch)] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_what_the_agent_read_is_new_to_a_subagent_and_reading_it_again_is_not() -> None:
    run = Run()
    call = {"file_path": "/w/src/a.py"}
    reads = (run.step("Read", call), *(run.step("Read", call, subagent="toolu_9") for _ in range(2)))
    assert [reading.new for reading in readings(*reads)] == [True, True, False]


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("sed -i s/a/b/ src/a.py", True),
        ("cat > src/a.py <<E", True),
        ("cat > tests/test_a.py <<E", False),
        ("echo x > /tmp/note.txt", False),
        ("pytest -q 2>&1 | tail -5", False),
        ("ls > /dev/null", False),
        ("git checkout -- .", True),
        ("pip install x", True),
    ],
)  # fmt: skip
def test_commands_that_change_something_other_than_tests(command: str, changes: bool) -> None:
    assert readings(Run().bash(command))[0].changed is changes
