from monitors.contract.words import Sensitivity, Severity
from monitors.patterns.repetitive_errors import MAX_ERRORS, RepetitiveErrors, RepetitiveErrorsSettings
from tests.monitors.steps import Run, opened, play

MISSING = "cat: notes.txt: No such file or directory"


def test_the_third_equal_error_raises_one_issue_that_names_its_events() -> None:
    run, detector = Run(), RepetitiveErrors()
    assert play(detector, run.fails("cat notes.txt", MISSING), run.fails("cat notes.txt", MISSING)) == []
    [issue] = play(detector, run.fails("cat notes.txt", MISSING))
    assert (issue.type, issue.severity, issue.began, issue.evidence) == (
        "repetitive_errors",
        Severity.MEDIUM,
        2,
        (2, 4, 6),
    )
    assert issue.details["count"] == 3
    assert "No such file or directory" in issue.sentence


def test_errors_that_differ_in_paths_numbers_and_ids_are_the_same() -> None:
    run, detector = Run(), RepetitiveErrors()
    texts = [
        "GET https://api.local/items/17: 404 not found (req_0a1b2c3d)",
        "GET https://api.local/items/18: 404 not found (req_9f8e7d6c)",
        "GET https://api.local/items/2094: 404 not found (req_77aa88bb)",
    ]
    assert len(play(detector, *(run.fails(f"curl -f {n}", text) for n, text in enumerate(texts)))) == 1


def test_errors_that_the_cli_prints_count_and_are_told_as_its_own() -> None:
    run, detector = Run(), RepetitiveErrors()
    lines = [f"Error: write /home/x/{number}.json: ENOSPC, no space left" for number in range(3)]
    (issue,) = play(detector, *(run.cli_prints(line) for line in lines))
    assert issue.sentence.startswith("The same error of the CLI itself came 3 times: ")
    assert (issue.details["tool"], issue.evidence) == ("CLI", (1, 2, 3))


def test_what_the_cli_prints_that_is_no_error_does_not_count() -> None:
    run, detector = Run(), RepetitiveErrors()
    told = ("2026-11-22T10:31:39Z [DEBUG] error looked for", "(node:7) Warning: old", "    at main (x:1)", "hello")
    assert play(detector, *(run.cli_prints(line) for line in told * 9)) == []


def test_an_error_of_the_cli_is_over_once_calls_went_well_without_it() -> None:
    run, detector = Run(), RepetitiveErrors()
    lines = [run.cli_prints("Error: no route to the server")] * 3
    issues = play(detector, *lines, *(run.bash(f"echo {number}") for number in range(13)))
    assert [issue.closed for issue in issues] == [False, True]


def test_different_errors_do_not_add_up() -> None:
    run, detector = Run(), RepetitiveErrors()
    assert (
        play(
            detector,
            *(run.fails("make", f"error: undefined symbol {name}") for name in ("alpha", "beta", "gamma", "delta")),
        )
        == []
    )


def test_it_is_said_again_only_when_the_count_has_doubled() -> None:
    run, detector = Run(), RepetitiveErrors()
    issues = play(detector, *(run.fails("cat notes.txt", MISSING) for _ in range(110)))
    assert [issue.details["count"] for issue in issues] == [3, 6, 12, 24, 48, 96]
    assert [issue.severity for issue in issues[:2]] == [Severity.MEDIUM, Severity.HIGH]
    assert max(issue.severity.rank for issue in issues) == Severity.HIGH.rank
    assert all(issue.began == 2 and len(issue.evidence) <= 20 for issue in issues)


def test_calls_cancelled_beside_a_failed_one_do_not_count() -> None:
    run, detector = Run(), RepetitiveErrors()
    text = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    assert play(detector, *(run.bash("ls", text, failed=True, collateral=True) for _ in range(9))) == []


def test_what_a_person_turns_down_does_not_count_and_what_the_gate_denies_does() -> None:
    run = Run()
    by_person = [run.bash("git push", "not now", refused=True, refused_by="person") for _ in range(9)]
    by_gate = [
        run.bash("git push --force", "git.push-force: rewrites", refused=True, refused_by="gate") for _ in range(3)
    ]
    assert play(RepetitiveErrors(), *by_person) == []
    [issue] = play(RepetitiveErrors(), *by_gate)
    assert issue.details["refused"] is True


def test_calls_of_one_reply_count_once() -> None:
    run, detector = Run(), RepetitiveErrors()
    text = "File content (30000 tokens) exceeds maximum allowed tokens (25000)."
    at_once = [run.step("Read", {"file_path": f"/w/{n}"}, text, failed=True, reply="msg_1") for n in range(5)]
    assert play(detector, *at_once) == []
    later = [run.step("Read", {"file_path": "/w/9"}, text, failed=True, reply=f"msg_{n}") for n in (2, 3)]
    assert len(play(detector, *later)) == 1


def test_a_look_asked_for_in_another_way_counts_half_and_at_another_place_whole() -> None:
    run, text = Run(), "File content (30000 tokens) exceeds maximum allowed tokens (25000)."
    adapted = [
        run.step("Read", {"file_path": "/w/a", "limit": limit}, text, failed=True) for limit in (900, 500, 300, 100)
    ]
    assert play(RepetitiveErrors(), *adapted) == []
    elsewhere = [run.step("Read", {"file_path": f"/w/{n}"}, "File does not exist.", failed=True) for n in range(3)]
    assert len(play(RepetitiveErrors(), *elsewhere)) == 1


def test_an_edit_between_two_errors_halves_what_the_second_counts() -> None:
    run, detector = Run(), RepetitiveErrors()
    cycle = [step for _ in range(5) for step in (run.fails("pytest", "E   AssertionError"), run.edit("/w/a.py"))]
    issues = play(detector, *cycle)
    assert [issue.details["count"] for issue in issues] == [5]


def test_the_streak_closes_when_the_call_succeeds() -> None:
    run, detector = Run(), RepetitiveErrors()
    issues = play(
        detector, *(run.fails("cat notes.txt", MISSING) for _ in range(3)), run.bash("cat notes.txt", "found")
    )
    assert [issue.closed for issue in issues] == [False, True]
    assert issues[0].key == issues[1].key


def test_the_streak_closes_when_the_error_is_not_seen_for_a_while_and_can_open_again() -> None:
    run, detector = Run(), RepetitiveErrors(RepetitiveErrorsSettings(forget_after=4))
    error = [run.fails("cat notes.txt", MISSING) for _ in range(3)]
    issues = play(detector, *error, *(run.read(f"/w/{n}") for n in range(6)))
    assert [issue.closed for issue in issues] == [False, True]
    assert len(opened(play(detector, *(run.fails("cat notes.txt", MISSING) for _ in range(3))))) == 1


def test_an_error_is_forgotten_after_more_than_twelve_other_results() -> None:
    def seen(others: int) -> int:
        run = Run()
        twice = [run.fails("cat notes.txt", MISSING) for _ in range(2)]
        between = [run.read(f"/w/{n}") for n in range(others)]
        return len(play(RepetitiveErrors(), *twice, *between, run.fails("cat notes.txt", MISSING)))

    assert (seen(11), seen(13)) == (1, 0)


def test_a_failure_without_a_word_is_known_by_its_call() -> None:
    run, detector = Run(), RepetitiveErrors()
    searches = [run.bash(f"grep -r {word} src", "Exit code 1", failed=True) for word in ("a", "b", "c", "d")]
    assert play(detector, *searches) == []
    assert len(play(detector, *(run.bash("test -f x", "Exit code 1", failed=True) for _ in range(3)))) == 1


def test_searches_that_find_nothing_are_no_error_whatever_else_was_printed() -> None:
    run = Run()
    banner = "Ubuntu 24.04.4 LTS"
    assert play(RepetitiveErrors(), *(run.fails(f"ssh host 'ls | grep {word}'", banner) for word in "abcd")) == []
    assert len(play(RepetitiveErrors(), *(run.fails("ssh host 'ls | grep a'", banner) for _ in range(3)))) == 1


def test_sensitivity_scales_the_threshold() -> None:
    def first(sensitivity: Sensitivity) -> int:
        run, detector = Run(), RepetitiveErrors(RepetitiveErrorsSettings(sensitivity=sensitivity))
        issues = play(detector, *(run.fails("cat notes.txt", MISSING) for _ in range(9)))
        return int(issues[0].details["count"])

    assert [first(sensitivity) for sensitivity in Sensitivity] == [4, 3, 2]


def test_memory_is_bounded_by_the_number_of_different_errors() -> None:
    run, detector = Run(), RepetitiveErrors(RepetitiveErrorsSettings(forget_after=10**9))
    words = ("".join(chr(97 + (n // 26**i) % 26) for i in range(3)) for n in range(500))
    play(detector, *(run.fails("make", f"error: undefined symbol {word}") for word in words))
    assert len(detector._errors) <= MAX_ERRORS
