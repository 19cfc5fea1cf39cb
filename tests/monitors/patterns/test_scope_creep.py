import pytest

from monitors.contract.tasks import Task
from monitors.contract.words import Severity
from monitors.patterns.scope_creep import ScopeCreep, ScopeCreepSettings, mentioned
from monitors.signals.paths import matches_any, relative
from tests.monitors.steps import Run, given, opened, play


def task(*expected: str, prompt: str = "mend it") -> Task:
    return Task("t", prompt, "/w", expected_paths=expected)


def test_three_files_outside_the_stated_paths_are_creep_once_they_are_a_third() -> None:
    run = Run()
    inside = [run.edit(f"/w/src/{n}.py") for n in range(4)]
    outside = [run.edit(f"/w/lib/{n}.py") for n in range(3)]
    [issue] = play(ScopeCreep(task=task("src/**")), *inside, *outside)
    assert (issue.type, issue.severity, issue.details["share"]) == ("scope_creep", Severity.HIGH, 0.429)
    assert issue.evidence == (9, 11, 13)
    assert "/w/lib/2.py" in issue.sentence


def test_reading_is_free_and_each_path_counts_once() -> None:
    run, detector = Run(), ScopeCreep(task=task("src/**"))
    assert play(detector, run.edit("/w/src/a.py"), *(run.read(f"/w/lib/{n}.py") for n in range(20))) == []
    assert play(detector, *(run.edit("/w/lib/one.py") for _ in range(20))) == []


def test_a_critical_path_weighs_as_much_as_three() -> None:
    run, detector = Run(), ScopeCreep(task=task("src/**"))
    [issue] = play(detector, run.edit("/w/src/a.py"), run.write("/w/.github/workflows/ci.yml"))
    assert issue.details["critical"] == ("/w/.github/workflows/ci.yml",)
    assert issue.impact_factor > 0.4


def test_without_expected_paths_the_repository_is_what_is_expected() -> None:
    run = Run()
    assert play(ScopeCreep(task=task()), *(run.edit(f"/w/any/{n}.py") for n in range(30))) == []
    assert len(opened(play(ScopeCreep(task=task()), *(run.write(f"/home/ann/other/{n}.py") for n in range(3))))) == 1


def test_scratch_places_count_for_nothing() -> None:
    run = Run()
    assert play(ScopeCreep(task=task("src/**")), *(run.write(f"/tmp/try/{n}.py") for n in range(30))) == []


def test_paths_read_out_of_the_prompt_are_held_to_less_strictly() -> None:
    run = Run()
    named = task(prompt="mend src/api/login.py please")
    few = [run.edit(f"/w/web/{n}.ts") for n in range(5)]
    assert play(ScopeCreep(task=named), run.edit("/w/src/api/login.py"), *few) == []
    companions = [run.write(f"/w/web/{n}.test.ts") for n in range(20)]
    assert play(ScopeCreep(task=named), *companions) == []
    started = [run.edit(f"/w/src/api/login{n}.py") for n in range(2)]
    [issue] = play(ScopeCreep(task=named), *started, *(run.edit(f"/w/web/{n}.ts") for n in range(9)))
    assert (issue.severity, issue.details["inferred"]) == (Severity.MEDIUM, True)


def test_the_prompt_may_come_as_the_first_words_of_the_run_and_a_person_may_widen_it() -> None:
    run, detector = Run(), ScopeCreep(task=Task("t", "", "/w"))
    play(detector, run.told("mend src/api/login.py", by="task"))
    started = [run.edit(f"/w/src/api/login{n}.py") for n in range(2)]
    issues = play(detector, *started, *(run.edit(f"/w/web/{n}.ts") for n in range(8)), run.told("and all of web/ too"))
    assert [issue.closed for issue in issues] == [False, True]
    assert play(detector, *(run.edit(f"/w/web/{n}.ts") for n in range(8))) == []


def test_it_is_raised_again_when_twice_as_much_is_outside_and_closes_when_the_share_falls() -> None:
    run, detector = Run(), ScopeCreep(task=task("src/**"))
    issues = play(
        detector,
        *(run.edit(f"/w/lib/{n}.py") for n in range(12)),
        *(run.edit(f"/w/src/{n}.py") for n in range(40)),
    )
    assert [issue.closed for issue in issues] == [False, False, False, True]


def test_a_long_run_that_strays_late_is_seen_as_soon() -> None:
    run, detector = Run(), ScopeCreep(task=task())
    assert play(detector, *(run.edit(f"/w/src/{n}.py") for n in range(300))) == []
    assert len(opened(play(detector, *(run.write(f"/home/ann/other/{n}.py") for n in range(10))))) == 1


def test_files_outside_of_the_repository_are_certain_also_where_a_prompt_names_paths() -> None:
    run = Run()
    named = task(prompt="mend src/api/login.py please")
    [issue] = play(ScopeCreep(task=named), *(run.write(f"/home/ann/other/{n}.py") for n in range(3)))
    assert issue.details["inferred"] is False


def test_a_path_that_a_prompt_names_and_nobody_writes_to_is_no_expectation() -> None:
    run = Run()
    named = task(prompt="the sessions in .git/entire-sessions/ are too large")
    assert play(ScopeCreep(task=named), *(run.edit(f"/w/web/{n}.ts") for n in range(30))) == []


def test_inference_can_be_switched_off() -> None:
    run = Run()
    detector = ScopeCreep(ScopeCreepSettings(infer=False), task(prompt="mend src/api/login.py"))
    assert play(detector, *(run.edit(f"/w/web/{n}.ts") for n in range(30))) == []


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ("mend src/api/login.py", ["**/src/api/**"]),
        ("look at ./web/ and README.md.", ["**/web/**", "**/README.md"]),
        ("see https://example.org/a/b.html for it", []),
        ("version 2.5 or e.g. this and/or", []),
        ("the login page", []),
        ("in packages/core and /etc/hosts", ["**/packages/core/**"]),
    ],
)
def test_what_a_prompt_names(text: str, globs: list[str]) -> None:
    assert mentioned(text) == globs


@pytest.mark.parametrize(
    ("path", "glob", "matches"),
    [
        ("src/a/b.py", "src/**", True),
        ("src/a/b.py", "src", True),
        ("srcs/a.py", "src", False),
        ("src/a/b.py", "src/*.py", False),
        ("src/b.py", "src/*.py", True),
        ("deep/down/.env", "**/.env", True),
        (".env", "**/.env", True),
        ("a1.py", "a[0-9].py", True),
        ("ax.py", "a[!0-9].py", True),
        ("a(b).py", "a(b).py", True),
    ],
)
def test_globs_are_read_as_git_reads_them(path: str, glob: str, matches: bool) -> None:
    assert matches_any(path, [glob]) is matches


def test_a_path_is_seen_from_the_root() -> None:
    assert relative("/w/src/../lib/a.py", "/w") == "lib/a.py"
    assert relative("/other/a.py", "/w") is None
    assert relative("/w", "/w") == "."
    assert relative("src/a.py", "/w") == "src/a.py"


def test_another_task_has_its_own_paths_and_what_was_touched_for_the_old_one_counts_no_more() -> None:
    run, detector = Run(), ScopeCreep(task=task("src/**"))
    assert play(detector, *(run.edit(f"/w/lib/{n}.py") for n in range(2))) == []
    moved = (run.edit(f"/w/lib/{n}.py") for n in range(10))
    assert play(detector, given(run, task("lib/**")), *moved) == []
    assert opened(play(detector, *(run.edit(f"/w/src/{n}.py") for n in range(9))))
