from typing import Any

import pytest

from monitors.contract.observations import Observation, ResourcesSampled, TurnEnded
from monitors.contract.words import Severity
from monitors.patterns.blocked_on_human import BlockedOnHuman
from tests.monitors.steps import Run, opened, play

ASKING = [
    ("git commit -m x", "error: 1Password: failed to fill whole buffer\n\nfatal: failed to write commit object", "signature"),
    ("git commit -m x", "error: gpg failed to sign the data\nfatal: failed to write commit object", "signature"),
    ("sudo apt install x", "sudo: a terminal is required to read the password", "password"),
    ("git push", "fatal: could not read Username for 'https://example.org': terminal prompts disabled", "log-in"),
    ("git fetch", "git@example.org: Permission denied (publickey).", "log-in"),
    ("gh pr list", "To get started with GitHub CLI, please run:  gh auth login", "log-in"),
    ("npx create-app", "Need to install the following packages: create-app. Ok to proceed? (y/n)", "answer"),
    ("docker run -it x", "the input device is not a TTY", "answer"),
]  # fmt: skip


def sampled(run: Run, mono: float, cpu: float) -> list[Observation]:
    figures: dict[str, Any] = {"memory_mb": 300, "processes": 3, "open_files": 9, "io_bytes": 0, "disk_mb": 0}
    return [ResourcesSampled(**{**run.next(), "mono": mono}, cpu_seconds=cpu, **figures)]


def turn_ended(run: Run) -> list[Observation]:
    return [TurnEnded(**run.next(), failed=False)]


@pytest.mark.parametrize(("command", "text", "kind"), ASKING)
def test_the_second_result_that_asks_for_a_person_is_an_issue(command: str, text: str, kind: str) -> None:
    run, detector = Run(), BlockedOnHuman()
    assert play(detector, run.fails(command, text)) == []
    [issue] = play(detector, run.fails(command, text))
    assert (issue.type, issue.key, issue.evidence) == ("blocked_on_human", kind, (2, 4))


def test_one_such_result_may_be_worked_around_and_a_success_ends_it() -> None:
    run = Run()
    _, text, _ = ASKING[0]
    assert play(BlockedOnHuman(), run.fails("git commit -m x", text), run.bash("git commit --no-gpg-sign -m x")) == []
    issues = play(
        BlockedOnHuman(),
        *(run.fails("git commit -m x", text) for _ in range(2)),
        run.bash("git commit -m x", "[main 1a2b3c4] x"),
    )
    assert [issue.closed for issue in issues] == [False, True]


def test_a_program_that_prints_such_words_and_succeeds_needs_nobody() -> None:
    run = Run()
    assert (
        play(BlockedOnHuman(), *(run.bash("cat install.md", "then please run: gh auth login") for _ in range(5))) == []
    )


def test_a_call_that_neither_returns_nor_uses_the_processor_is_an_issue_and_its_return_ends_it() -> None:
    run, detector = Run(), BlockedOnHuman()
    call, result = run.bash("ssh host uptime")
    waiting = [part for mono in range(10, 250, 10) for part in sampled(run, mono, 4.0)]
    [issue] = play(detector, [call], waiting)
    assert (issue.key, issue.severity) == ("silence", Severity.MEDIUM)
    assert "ssh host uptime" in issue.sentence
    assert [issue.closed for issue in play(detector, [result])] == [True]


def test_a_long_build_is_no_silence_and_neither_is_a_sleep_or_a_subagent() -> None:
    run = Run()
    for command, cpu in (("make -j8", 0.5), ("sleep 600", 0.0)):
        call, _ = run.bash(command)
        assert play(BlockedOnHuman(), [call], *(sampled(run, mono, mono * cpu) for mono in range(10, 900, 10))) == []
    call, _ = run.step("Task", {"prompt": "look"})
    assert play(BlockedOnHuman(), [call], *(sampled(run, mono, 0.0) for mono in range(10, 900, 10))) == []


def test_a_turn_that_ends_with_a_question_nobody_may_answer_is_a_small_issue() -> None:
    run = Run()
    task = run.told("mend it", by="task")
    [issue] = play(BlockedOnHuman(), task, run.says("I found two ways. Which of them should I take?"), turn_ended(run))
    assert (issue.key, issue.severity) == ("question", Severity.LOW)
    assert play(BlockedOnHuman(), task, run.says("All done."), turn_ended(run)) == []
    assert play(BlockedOnHuman(), run.says("Which one?"), turn_ended(run)) == []


def test_where_a_person_speaks_with_the_agent_a_question_is_no_issue() -> None:
    run = Run()
    parts = [run.told("mend it", by="task"), run.told("and quickly"), run.says("Now or later?"), turn_ended(run)]
    assert play(BlockedOnHuman(), *parts) == []


def test_a_persons_answer_closes_all() -> None:
    run, detector = Run(), BlockedOnHuman()
    issues = play(
        detector, run.told("mend it", by="task"), run.says("Which one?"), turn_ended(run), run.told("the first")
    )
    assert [issue.closed for issue in issues] == [False, True]
    assert len(opened(issues)) == 1
