"""What an agent is told after a crash."""

from interventions.recovery.crash_context import LastAttempt, context
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
