from dataclasses import asdict
from typing import Any

import orjson
import pytest

from monitors.contract.tasks import Task
from supervisor.cli.output.agent_words import (
    COLUMNS,
    MOST_WAITING,
    below_row,
    ending,
    held_by,
    in_force,
    portrait,
    row,
    summing_up,
    why,
)
from supervisor.cli.output.tables import table
from supervisor.core.fold.summary import Summary
from supervisor.protocol.words import AgentState
from tests.support import acting

NOW = 1_000_000.0


def agent(**facts: Any) -> dict[str, Any]:
    """What the daemon tells of an agent."""
    summary = Summary("a1", AgentState.RUNNING, Task("t-1", "Mend it.", "/repo"), "/repo", "s-1", NOW - 250)
    told = orjson.loads(orjson.dumps(asdict(summary)))
    return {**told, **facts}


def facts_of(lines: list[str]) -> dict[str, str]:
    return {line.partition(" ")[0]: line[11:] for line in lines if not line.startswith(" ")}


def test_every_figure_has_its_unit_and_money_its_currency() -> None:
    task = {**agent()["task"], "limits": {"max_cost_usd": 5.0}}
    told = agent(
        task=task, cost_usd=0.5164, input_tokens=20_000, cached_tokens=5, output_tokens=1_234, context_tokens=20_000,
        context_window=200_000, memory_mb=120.4, peak_memory_mb=300.0, cpu_seconds=75.2, processes=1, open_files=14,
        disk_mb=3.0, cli_pid=7, shim_pid=8, containment="cgroup:/x",
    )  # fmt: skip
    facts = facts_of(portrait(told, {"counts": {"added": 1, "modified": 2}, "paths": [{"path": "a"}]}, NOW))
    assert facts["cost"] == "$0.52 of $5.00; 20,000 tokens in, 5 from cache, 1,234 out; context 10% of 200,000"
    assert facts["processes"] == (
        "1 process, 120 MiB, 14 open files, 3 MiB in the workspace; 1 min 15 s of CPU, 300 MiB at most; "
        "CLI 7, held by process 8 and cgroup:/x"
    )
    assert facts["files"] == "1 added, 2 changed: a and 2 more"
    assert facts["agent"].startswith("a1, running for 4 min 10 s, since ")


def test_an_agent_that_ended_has_no_processes_and_nothing_under_way() -> None:
    facts = facts_of(
        portrait(agent(state="done", ended_at=NOW, why="the task's last turn succeeded", cli_pid=7), None, NOW)
    )
    assert facts["agent"].startswith("a1, done after 4 min 10 s, ")
    assert not {"processes", "now", "files", "cost", "calls"} & facts.keys()


def test_what_waits_for_a_person_is_told_with_until_when_and_how_to_answer() -> None:
    waiting = {"tool": "Bash", "summary": "git push", "why": "it publishes", "until": NOW + 20, "asked_at": NOW}
    told = agent(waiting=[{**waiting, "request_id": "r"}])
    assert row(told, NOW)[1] == "running, asks"
    below, how = below_row(told, NOW)
    assert below.startswith("waits for approval (since ")
    assert below.endswith("in 20.0 s): Bash git push: it publishes")
    assert how == "To answer: chaperon approve a1 r, or chaperon deny a1 r; chaperon approvals shows it whole"
    assert facts_of(portrait(told, None, NOW))["waiting"] == f"{below}; {how}"
    many = agent(waiting=[{**waiting, "request_id": str(number)} for number in range(MOST_WAITING + 2)])
    assert list(below_row(many, NOW))[MOST_WAITING - 1].startswith(f"{MOST_WAITING - 1} waits for approval")
    assert list(below_row(many, NOW))[MOST_WAITING:] == [
        "and 2 more: chaperon approvals",
        "To answer: chaperon approve a1 ID, or chaperon deny a1 ID; chaperon approvals shows it whole",
    ]


def test_what_the_agent_has_done_of_its_own_list_is_told_with_what_is_next() -> None:
    todo = [{"text": text, "state": state} for text, state in (("read", "completed"), ("mend", "in_progress"))]
    assert facts_of(portrait(agent(todo=todo), None, NOW))["to-do"] == "1 of 2 done, by its own list; next: mend"
    assert facts_of(portrait(agent(todo=todo[:1]), None, NOW))["to-do"] == "1 of 1 done, by its own list"


def test_strict_watching_and_calls_that_nobody_answered_are_told_where_there_are_any() -> None:
    lines = portrait(agent(), None, NOW)
    assert not any(line.startswith(("watched", "expired")) for line in lines)
    task = {**agent()["task"], "monitoring_level": "strict"}
    facts = facts_of(portrait(agent(task=task, expired=1), None, NOW))
    assert facts["watched"] == "closely (strict)"
    assert facts["expired"] == "1 action was not run, for nobody answered in time"


def test_an_api_that_does_not_answer_is_told_at_once() -> None:
    told = agent(api="the API cannot be reached: retry 4 of 10 in 4.4 s")
    assert list(below_row(told, NOW)) == ["the API cannot be reached: retry 4 of 10 in 4.4 s"]
    assert "retry 4 of 10" in portrait(told, None, NOW)[0]


def test_a_row_has_a_value_for_each_column() -> None:
    assert len(row(agent(), NOW)) == len(COLUMNS) == len(row(agent(ended_at=NOW, cost_usd=0.0, cpu_seconds=3.0), NOW))


def test_a_row_names_the_sandbox_and_its_profile_and_a_hyphen_says_that_there_is_none() -> None:
    place = [column.title for column in COLUMNS].index("SANDBOX")
    assert row(agent(sandbox="bubblewrap, project"), NOW)[place] == "bubblewrap/project"
    assert row(agent(), NOW)[place] == "-"


def test_of_an_attached_agent_it_is_told_what_started_it_its_terminal_and_its_process() -> None:
    place = [column.title for column in COLUMNS].index("ORIGIN")
    told = agent(origin="terminal", terminal="pts/3", cli_pid=7, containment="hooks")
    assert row(told, NOW)[place] == "terminal pts/3"
    facts = facts_of(portrait(told, None, NOW))
    assert facts["origin"] == "terminal pts/3"
    assert facts["processes"].endswith("CLI 7, held by hooks")
    assert row(agent(origin="sdk"), NOW)[place] == "sdk"
    assert row(agent(), NOW)[place] == "-"
    assert "origin" not in facts_of(portrait(agent(), None, NOW))


@pytest.mark.parametrize(("width", "in_the_table"), [(80, False), (200, True)])
def test_a_list_says_at_any_width_which_agents_are_held_by_which_sandbox(width: int, in_the_table: bool) -> None:
    held = [agent(agent=f"a{number}", sandbox="bubblewrap, closed") for number in range(8)]
    over = agent(agent="done", sandbox="landlock, project", ended_at=NOW)
    agents = [*held, agent(agent="free"), over]
    head, *rows = table(COLUMNS, [row(one, NOW) for one in agents], width)
    assert all(len(line) <= width for line in rows)
    assert ("bubblewrap/closed" in rows[0]) is in_the_table
    line = "" if in_the_table else "Sandbox: bubblewrap, closed (a0, a1, a2, a3, a4, a5 and 2 more); none (free)"
    assert held_by(head, agents) == line


def test_a_list_without_a_sandbox_has_no_line_about_it() -> None:
    assert held_by("AGENT  STATE  TASK", [agent()]) == ""
    assert acting(held_by("AGENT", [agent(agent="x\x1b[2J", sandbox="\x1b[2J")])) == set()


def test_no_text_of_an_agent_paints_the_terminal() -> None:
    bad = "x\x1b[2J\u202e"
    told = agent(
        agent=bad, why=bad, workspace=bad, words=bad, issues={bad: 1}, incidents=[bad], model=bad, api=bad,
        calls=[{"tool": bad, "summary": bad, "since": NOW}], recent=[{"tool": bad, "summary": bad, "failed": True, "decision": bad}],
        waiting=[{"request_id": bad, "tool": bad, "summary": bad, "why": bad, "asked_at": NOW, "until": NOW}], unwatched=True,
    )  # fmt: skip
    changes = {"counts": {bad: 1}, "paths": [{"path": bad}]}
    lines = [*portrait(told, changes, NOW), *below_row(told, NOW), ending(told, changes)]
    assert acting("".join(lines)) == set()


EXPLAINED = {
    "used": 1, "most": 10, "rests_for_seconds": 29.0, "under_watch": True, "throttled": False, "waiting": [], "asked_a_person": [],
    "last": {"id": "a1-7", "kind": "soft_correction", "reason": "the mildest answer comes first", "ceiling": "context_reinforcement",
             "score": {"sum": "medium 0.5 = 0.42"}, "not": {"emergency_stop": "a score of 0.42 is too low for it"}},
    "record": [{"kind": "soft_correction", "issue": "repetition", "success": 2, "failure": 1, "unclear": 1, "low": 0.21, "high": 0.94}],
}  # fmt: skip


def test_why_has_the_sum_what_holds_the_next_back_and_what_such_came_to() -> None:
    assert why(EXPLAINED, over=False) == [
        "the last answer was soft_correction (a1-7)",
        "  because the mildest answer comes first",
        "  severity by score: medium 0.5 = 0.42; the strongest answer in proportion: context_reinforcement",
        "  not emergency_stop: a score of 0.42 is too low for it",
        "before the next answer",
        "  1 of 10 answers of this run were given",
        "  the agent is left alone for 29.0 s more",
        "  whether the last one helps is still being seen",
        "what such answers came to, in all runs",
        "  soft_correction for repetition: helped 2 of 3 times (21 to 94 %), 1 unclear",
    ]
    assert "before the next answer" not in why(EXPLAINED, over=True)
    assert why({}, over=False) == ["nothing was answered in this run"]


@pytest.mark.parametrize(
    ("facts", "changes", "told"),
    [
        ({"state": "done"}, {"counts": {"added": 1}}, "a1: done after 4 min 10 s: 1 file changed, 0 calls"),
        ({"state": "failed", "reviews": {"allow": 4, "block": 1}, "cost_usd": 0.02, "incidents": ["i"]}, None,
         "a1: failed after 4 min 10 s: 5 calls (1 blocked), $0.020, 1 incident"),
    ],
)  # fmt: skip
def test_the_end_of_a_run_is_one_line(facts: dict[str, Any], changes: dict[str, Any] | None, told: str) -> None:
    assert ending(agent(ended_at=NOW, **facts), changes) == told


def test_the_end_of_a_run_names_its_tests_and_the_command_that_undoes_it() -> None:
    told = {"agent": "a1", "branch": "", "tests": "pytest: 3 passed, 1 failed"}
    assert summing_up(told, "start-1") == [
        "  tests  pytest: 3 passed, 1 failed",
        "  undo   chaperon rollback start-1 --agent a1",
        "  look   chaperon diff a1, chaperon show a1",
    ]
    assert not any("undo" in line for line in summing_up(told, ""))
    (work,) = [line for line in summing_up({**told, "branch": "chaperon/a1"}, "s") if "work" in line]
    assert "git merge chaperon/a1" in work
    assert "chaperon rm --force a1" in work
    gone = {**told, "branch": "chaperon/a1", "workspace_closed": "removed: nothing in it would be lost"}
    assert not any("chaperon/a1" in line for line in summing_up(gone, "s", changed=False))
    assert any("chaperon/a1" in line for line in summing_up(gone, "s", changed=True))


def test_the_command_that_lifts_a_pause_of_a_repository_can_be_given_as_it_is_shown() -> None:
    pause = {"repository": "/src/my $project", "by": "ada", "since": 0.0, "reason": ""}
    assert [line.endswith("chaperon resume --repo '/src/my $project'") for line in in_force({"pauses": [pause]})] == [
        True
    ]
