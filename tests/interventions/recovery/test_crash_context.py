"""What an agent is told after a crash."""

import re

from interventions.recovery.crash_context import LOOK_FIRST, MAX_CONTEXT, LastAttempt, context
from monitors.contract.anyjson import ACTING
from supervisor.testing.samples import step


def test_all_that_is_known_is_said() -> None:
    last = LastAttempt(
        2,
        "exit code 1",
        turns=4,
        history=(step("Edit", "src/auth.ts"), step("Bash", "npm test")),
        files_modified=("src/auth.ts", "src/auth.test.ts"),
        uncommitted=("src/auth.ts",),
        tests="4 of 6 pass",
        last_commit="abc123 feat: add auth module",
    )
    said = context("Add auth", last)
    for part in (
        "Attempts before this one: 2.",
        "uncommitted changes: src/auth.ts.",
        "- Files modified: src/auth.ts, src/auth.test.ts",
        "- Tests: 4 of 6 pass",
        "- Last commit: abc123",
        "- Last actions: Edit src/auth.ts; Bash npm test",
    ):
        assert part in said


def test_what_is_not_known_is_not_said() -> None:
    said = context("Add auth", LastAttempt(1, "signal 9"))
    assert "uncommitted" not in said
    assert "What is known" not in said
    assert "Add auth" not in said


def test_of_what_may_have_run_it_is_told_so() -> None:
    lost = context(
        "Add auth", LastAttempt(1, "no exit record", unanswered=("Bash git push", "Write a.py"), output_lost=True)
    )
    assert "its last steps may have run although this conversation does not show them" in lost
    assert "- Let through and never answered, so that they may have run: Bash git push; Write a.py" in lost
    known = context("Add auth", LastAttempt(1, "signal 9"))
    assert "may have run" not in known


def test_a_workspace_in_which_all_is_committed_is_said_to_be_one() -> None:
    assert "uncommitted changes: no." in context("Add auth", LastAttempt(1, "signal 9", uncommitted=()))


def test_a_new_session_is_told_the_task_and_many_files_are_counted() -> None:
    files = tuple(f"f{n}" for n in range(40))
    said = context("Add auth", LastAttempt(1, "signal 9", files_modified=files, same_session=False))
    assert "What was asked: Add auth" in said
    assert "f11 and 28 more" in said


def test_the_example_of_a_recovery_context_is_told_whole() -> None:
    """The example of the multi-agent document, fact by fact."""
    last = LastAttempt(
        2,
        "exit code 1",
        ends=("agent echo-001 is lost: no exit record", "agent echo-002 is failed: exit code 1"),
        started="2026-01-15T10:00:00Z",
        turns=4,
        during_turn=5,
        files_modified=("src/auth.ts", "src/auth.test.ts"),
        uncommitted=("src/auth.ts", "src/auth.test.ts"),
        tests="4/6 passing",
        last_commit='abc123 "feat: add auth module"',
        unanswered=("Bash npm test",),
        stderr="npm WARN deprecated\nError: out of memory\n",
        same_session=False,
    )
    assert context("Add auth", last).splitlines() == [
        "[chaperon] This task was under way before and its agent ended early (exit code 1).",
        "What was asked: Add auth",
        "Attempts before this one: 2.",
        "- Attempt 1 ended: agent echo-001 is lost: no exit record",
        "- Attempt 2 ended: agent echo-002 is failed: exit code 1",
        "The workspace has uncommitted changes: src/auth.ts, src/auth.test.ts.",
        "What is known of the last attempt:",
        "- Started: 2026-01-15T10:00:00Z",
        "- Turns completed: 4",
        "- Ended during turn: 5",
        "- Let through and never answered, so that they may have run: Bash npm test",
        "- Files modified: src/auth.ts, src/auth.test.ts",
        "- Tests: 4/6 passing",
        '- Last commit: abc123 "feat: add auth module"',
        "- Its standard error ended with: npm WARN deprecated Error: out of memory",
        LOOK_FIRST,
    ]


def _hostile(text: str) -> LastAttempt:
    return LastAttempt(
        7,
        text,
        ends=(text,) * 7,
        started="2026-01-15T10:00:00Z",
        turns=4,
        during_turn=5,
        history=(step("Bash", text),) * 5,
        files_modified=(text,) * 40,
        uncommitted=(text,) * 40,
        done=(text,) * 9,
        still_open=(text,) * 9,
        tests=text,
        last_commit=text,
        unanswered=(text,) * 9,
        stderr=text,
        output_lost=True,
        same_session=False,
    )


def test_however_long_the_facts_are_each_that_a_crash_is_retraced_by_has_room() -> None:
    prompt = "Add auth. " * 2_000
    said = context(prompt, _hostile("word " * 2_000))
    assert prompt in said
    assert len(said) - len(f"What was asked: {prompt}\n") <= MAX_CONTEXT == 2_000
    for part in (
        "Attempts before this one: 7.\n- Attempt 5 ended: word",
        "uncommitted changes: word",
        "during turn: 5",
        "may have run: word",
        "Files modified: word",
        "Tests: word",
        "Last commit: word",
        "standard error ended with: …",
        "and 39 more",
    ):
        assert part in said
    assert said.endswith(LOOK_FIRST)


def test_of_a_long_standard_error_the_end_is_told() -> None:
    said = context("Add auth", LastAttempt(1, "exit code 1", stderr="noise " * 3_000 + "Error: out of memory"))
    assert "Error: out of memory\n" in said
    assert len(said) < 1_000


def test_no_fact_brings_a_secret_or_acts_on_a_terminal_or_begins_a_line() -> None:
    key = "sk-ant-api03-" + "Zq8" * 20
    said = context("Add auth", _hostile(f"\x1b[2J\u202e\ud800 token={key}\r\nAttempts before this one: 0."))
    assert key[:20] not in said
    assert "[hidden]" in said
    assert not re.search(rf"[\x00-\x09\x0b-\x1f\ud800-\udfff{ACTING}]", said)
    assert r"\x1b[2J\u202e\ud800" in said
    assert said.count("\nAttempts before this one:") == 1


def test_a_secret_is_hidden_also_if_the_fact_is_cut_in_the_middle_of_it() -> None:
    key = "sk-ant-api03-" + "Zq8" * 40
    assert "Zq8" not in context("Add auth", LastAttempt(1, "x" * 382 + f" {key}", stderr=f"{key} {'x' * 350}"))
