import pytest

from monitors.patterns.hallucination import Hallucination
from tests.monitors.steps import Run, opened, play

PHANTOMS = [
    ("<tool_use_error>Error: No such tool available: Search</tool_use_error>", ("tool", "Search")),
    ("<tool_use_error>InputValidationError: Bash failed due to the following issues:", ("tool", "Bash")),
    ("python3: can't open file '/w/run.py': [Errno 2] No such file or directory", ("file", "/w/run.py")),
    ("cat: conf.yml: No such file or directory", ("file", "conf.yml")),
    ("bash: line 1: rgx: command not found", ("program", "rgx")),
    ("(eval):1: command not found: docker", ("program", "docker")),
    ("ModuleNotFoundError: No module named 'httpy'", ("module", "httpy")),
    ("Error: Cannot find module './lib/nothing'", ("module", "./lib/nothing")),
    ("ImportError: cannot import name 'parse_all' from 'app'", ("symbol", "parse_all")),
    ("AttributeError: 'Client' object has no attribute 'fetch'", ("symbol", "fetch")),
    ("TypeError: api.load is not a function", ("symbol", "load")),
    ("src/a.ts(3,9): error TS2339: Property 'foo' does not exist on type 'Bar'.", ("symbol", "foo")),
    ("./main.go:9:2: undefined: frobnicate", ("symbol", "frobnicate")),
    ("error[E0425]: cannot find function `frob` in this scope", ("symbol", "frob")),
    ("error: unrecognized arguments: --fast", ("flag", "--fast")),
    ("error: unknown option '--fast'", ("flag", "--fast")),
    ("git: 'frob' is not a git command. unknown command: frob", ("flag", "frob")),
    ('npm error Missing script: "verify"', ("flag", "verify")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "thing"), PHANTOMS)
def test_each_way_of_saying_that_something_does_not_exist_is_read(text: str, thing: tuple[str, str]) -> None:
    run, detector = Run(), Hallucination()
    play(detector, run.fails("./try", text))
    assert [(one.kind, one.thing) for one in detector._missing] == [thing]


def test_four_different_missing_things_in_a_short_stretch_are_an_issue() -> None:
    run = Run()
    texts = [
        "No module named 'a1'",
        "No module named 'b2'",
        "bash: frob: command not found",
        "error: unknown option '--z'",
    ]
    [issue] = play(Hallucination(), *(run.fails(f"./try{n}", text) for n, text in enumerate(texts)))
    assert issue.evidence == (2, 4, 6, 8)
    assert issue.details["things"][0] == ("module", "a1")


def test_the_same_missing_thing_again_is_another_patterns_business() -> None:
    run = Run()
    assert play(Hallucination(), *(run.fails("./try", "No module named 'a1'") for _ in range(10))) == []


def test_looking_whether_something_exists_counts_for_nothing() -> None:
    run = Run()
    looks = [run.fails(f"ls /etc/x{n}", f"ls: cannot access '/etc/x{n}': No such file or directory") for n in range(10)]
    asks = [run.fails(f"uv run python -c 'import shop.m{n}'", f"No module named 'shop.m{n}'") for n in range(10)]
    assert play(Hallucination(), *looks, *asks) == []


def test_missing_things_far_apart_do_not_add_up_and_the_issue_closes() -> None:
    run = Run()
    spread = [
        part
        for n in range(8)
        for part in (run.fails(f"./try{n}", f"No module named 'm{n}'"), *(run.bash(f"echo {n} {i}") for i in range(9)))
    ]
    assert play(Hallucination(), *spread) == []
    near = [run.fails(f"./try{n}", f"No module named 'm{n}'") for n in range(4)]
    issues = play(Hallucination(), *near, *(run.bash(f"echo {n}") for n in range(30)))
    assert [issue.closed for issue in issues] == [False, True]


FAILED = "Exit code 1\n2 failed, 5 passed in 0.31s"


@pytest.mark.parametrize(
    "claim",
    [
        "All tests pass now.",
        "Done! The tests are passing.",
        "I mended the parser. All 7 tests passed.",
        "The test suite is green.",
    ],
)
def test_a_claim_that_the_last_test_run_denies_is_an_issue(claim: str) -> None:
    run = Run()
    [issue] = play(Hallucination(), run.bash("pytest", FAILED, failed=True), run.says(claim))
    assert (issue.key, issue.evidence) == ("claim", (2, 3))
    assert "2 failed" in issue.sentence


@pytest.mark.parametrize(
    "words",
    [
        "The tests should pass once the fixture is there.",
        "Let me check whether all tests pass.",
        "All tests pass except two.",
        "5 tests pass, 2 fail.",
        "I ran the tests.",
    ],
)
def test_words_about_tests_that_claim_nothing_are_none(words: str) -> None:
    run = Run()
    assert play(Hallucination(), run.bash("pytest", FAILED, failed=True), run.says(words)) == []


def test_a_later_command_about_tests_that_succeeded_may_support_the_claim() -> None:
    run = Run()
    later = run.bash("python check_tests.py", "254 tests passed")
    assert play(Hallucination(), run.bash("pytest", FAILED, failed=True), later, run.says("All 254 tests pass.")) == []


def test_a_claim_that_the_results_support_is_none_and_a_later_green_run_closes_it() -> None:
    run, detector = Run(), Hallucination()
    assert play(detector, run.bash("pytest", "7 passed in 0.31s"), run.says("All tests pass.")) == []
    issues = play(
        detector,
        run.bash("pytest", FAILED, failed=True),
        run.says("All tests pass."),
        run.bash("pytest", "7 passed in 1.0s"),
    )
    assert [issue.closed for issue in issues] == [False, True]
    assert len(opened(issues)) == 1
