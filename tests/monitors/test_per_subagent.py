from dataclasses import replace

from monitors.contract.observations import ToolReturned
from monitors.patterns.repetition import Repetition
from monitors.per_subagent import MAX_SUBAGENTS, Apart
from tests.monitors.steps import Run, opened, play


def test_what_two_subagents_do_alike_is_no_loop_and_what_one_repeats_is() -> None:
    run = Run()
    alike = [run.bash("ls", "a", subagent=f"t{n % 3}") for n in range(6)]
    assert play(Apart(Repetition), *alike) == []
    [issue] = play(Apart(Repetition), *(run.bash("ls", "a", subagent="t1") for _ in range(3)))
    assert (issue.key, issue.details["subagent"]) == ("t1 ", "t1")


def test_a_subagents_issue_is_closed_when_the_call_that_started_it_returns() -> None:
    run, apart = Run(), Apart(Repetition)
    loop = [run.bash("ls", "a", subagent="toolu_99") for _ in range(3)]
    ended = [
        replace(one, id="toolu_99") for one in run.step("Task", {"prompt": "look"}) if isinstance(one, ToolReturned)
    ]
    assert [issue.closed for issue in play(apart, *loop, ended)] == [False, True]


def test_the_number_of_subagents_remembered_is_bounded_and_the_agents_own_memory_stays() -> None:
    run, apart = Run(), Apart(Repetition)
    play(apart, run.bash("ls", "a"), run.bash("ls", "a"))
    issues = play(apart, *(run.bash("ls", "a", subagent=f"t{n}") for n in range(3) for _ in range(3)))
    assert len(opened(issues)) == 3
    later = play(apart, *(run.bash(f"cat {n}", subagent=f"u{n}") for n in range(20)))
    assert [issue.closed for issue in later] == [True] * 3
    assert len(apart._watched) == MAX_SUBAGENTS
    assert len(opened(play(apart, run.bash("ls", "a")))) == 1
