"""Finished work of stored tasks: done by evidence, merged as asked, and given back a bounded number of times."""

from pathlib import Path
from typing import Any

import pytest

from supervisor.protocol import events
from supervisor.protocol.events import CheckMade, MergeChanged
from supervisor.protocol.merges import MergePhase
from supervisor.protocol.tasks import TaskState
from supervisor.rehearsal.script import ScriptStep
from supervisor.runtime.service import complete_work
from supervisor.runtime.tasks.finished_work import FALSE_SUCCESS
from tests.stages.branches import git
from tests.stages.house import bash, house, say
from tests.supervisor.runtime.tasks.conftest import add, state_of
from tests.supervisor.runtime.tasks.test_dispatcher import QUICK, steps

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]


def commits(text: str, name: str = "work.txt") -> ScriptStep:
    return bash(f"echo {text} > {name} && git add -A && git -c user.name=A -c user.email=a@x commit -qm '{text}'")


def policy(**more: Any) -> dict[str, Any]:
    return {**QUICK, **more}


async def test_a_claim_of_success_that_the_check_denies_goes_back_with_the_output_and_the_work_is_done_then(
    tmp_path: Path,
) -> None:
    model = bash("echo bad > work.txt"), say("All pass."), bash("echo good > work.txt"), say("Now it is done.")
    rules = policy(merge="off")
    async with house(tmp_path, *model, policy=rules, completion=complete_work) as stage:
        add(stage, "t-1", verify="cat work.txt; grep -q good work.txt")
        done = await state_of(stage, "t-1", TaskState.DONE, TaskState.FAILED, TaskState.PARKED)
        assert done.state is TaskState.DONE, done.why
        told = stage.told()
        checks = [made.result.passed for made in stage.events(CheckMade)]
        issues = [seen.issue for seen in stage.events(events.IssueSeen) if seen.issue.type == FALSE_SUCCESS]
    assert checks == [False, True]
    assert "`cat work.txt; grep -q good work.txt` failed with exit code 1" in told
    assert "bad" in told
    assert [issue.details["code"] for issue in issues] == [1]
    again = ["be verified", "go back to an agent", "be verified", "be done"]
    assert steps(done) == ["added", "be claimed", *again]
    assert done.runs[0].agent != done.runs[1].agent


async def test_after_as_many_rounds_as_may_be_the_task_fails_and_a_person_is_told(tmp_path: Path) -> None:
    rules = policy(merge="off", verify={"command": "echo never; false", "rounds": 1})
    model = say("done"), say("done")
    async with house(tmp_path, *model, policy=rules, completion=complete_work) as stage:
        add(stage, "t-1")
        failed = await state_of(stage, "t-1", TaskState.FAILED, TaskState.DONE, TaskState.PARKED)
        (told,) = [fault.incident for fault in stage.events(events.FaultSeen) if fault.incident.type == FALSE_SUCCESS]
    assert failed.state is TaskState.FAILED
    assert failed.why == "the check `echo never; false` failed with exit code 1, after it was given back 1 time"
    assert "ended its turn as done" in told.summary


async def test_a_conflict_is_resolved_by_the_agent_and_then_merged(tmp_path: Path) -> None:
    resolve = (
        "git -c user.name=A -c user.email=a@x merge -q main || true; printf 'both\\n' > work.txt; git add -A; "
        "git -c user.name=A -c user.email=a@x commit -qm 'Merge main'"
    )
    model = commits("agent"), say("done"), bash(resolve), say("resolved")
    rules = policy(merge="auto", verify="grep -q . work.txt")
    async with house(tmp_path, *model, policy=rules, completion=complete_work) as stage:
        repo = stage.workspace
        git(repo, "checkout", "-q", "--detach")
        add(stage, "t-1", target="main")
        submitted = await stage.until(events.TaskSubmitted, agent="echo-001")
        git(repo, "checkout", "-q", "main")
        (repo / "work.txt").write_text("person\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "person")
        git(repo, "checkout", "-q", "--detach")
        done = await state_of(stage, "t-1", TaskState.DONE, TaskState.FAILED, TaskState.PARKED)
        await stage.until(events.WorkspaceClosed, agent="echo-002")
        told = stage.told()
        phases = [(one.merge.id, one.merge.phase) for one in stage.events(MergeChanged)]
    assert done.state is TaskState.DONE, done.why
    assert git(repo, "show", "main:work.txt") == "both"
    assert "<<<<<<< main" in told
    assert "person" in told
    assert ("echo-001", MergePhase.RESOLVING) in phases
    assert phases[-1] == ("echo-002", MergePhase.MERGED)
    assert not Path(submitted.workspace).exists()
    assert "chaperon/" not in git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads")


async def test_a_merge_that_a_person_asks_for_ends_a_task_that_was_parked(tmp_path: Path) -> None:
    model = commits("agent"), say("done")
    async with house(tmp_path, *model, policy=policy(merge="auto"), completion=complete_work) as stage:
        add(stage, "t-1")
        parked = await state_of(stage, "t-1", TaskState.PARKED, TaskState.DONE, TaskState.FAILED)
        assert (parked.state, "has it checked out" in parked.why) == (TaskState.PARKED, True)
        assert "merged" in await stage.chaperon("merge", "t-1", "--yes")
        done = await state_of(stage, "t-1", TaskState.DONE)
    assert (stage.workspace / "work.txt").read_text() == "agent\n"
    assert done.history[-1].by != "chaperon"


async def test_work_that_is_not_committed_is_asked_for_and_then_proposed(tmp_path: Path) -> None:
    model = bash("echo loose > work.txt"), say("done"), commits("agent"), say("committed")
    async with house(tmp_path, *model, policy=policy(), completion=complete_work) as stage:
        add(stage, "t-1")
        done = await state_of(stage, "t-1", TaskState.DONE, TaskState.PARKED, TaskState.FAILED)
        merge = stage.daemon.board.merges.find("t-1")
        proposed = await stage.chaperon("task", "show", "t-1")
        await stage.chaperon("merge", "t-1", "--yes")
        merged = await stage.chaperon("task", "show", "t-1")
    assert f"its merge   {merge.id} is proposed: " in proposed
    assert f"its merge   {merge.id} is merged: " in merged, "its task was done before"
    assert (done.state, merge.phase) == (TaskState.DONE, MergePhase.PROPOSED), done.why
    assert "chaperon merge t-1" in done.why
