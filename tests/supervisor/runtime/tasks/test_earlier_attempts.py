import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from monitors.contract.errors import ChaperonError
from supervisor.core.fold.conversation.history import CallUnderWay
from supervisor.core.fold.summary import Summary
from supervisor.core.tasks.records import StoredTask
from supervisor.protocol.tasks import TaskRun, TaskSpec, TaskState
from supervisor.protocol.words import AgentState
from supervisor.runtime.tasks.agents import agent_start
from supervisor.runtime.tasks.earlier_attempts import last_attempt
from supervisor.testing.samples import step
from tests.stages.session import Play

NOW = TaskRun("r-9", "echo-009", 9.0)


def lost(number: int) -> TaskRun:
    return TaskRun(f"r-{number}", f"echo-00{number}", 1.0, why=f"agent echo-00{number} is lost: gone")


def task(*runs: TaskRun, runs_before: int = 0) -> StoredTask:
    spec = TaskSpec(id="t-1", prompt="Add auth", repository="/repo")
    active = StoredTask(spec, TaskState.ACTIVE, "", "chaperon", 1.0, "eva", 1.0, 1.0, 1, runs=runs)
    return replace(active, runs_before=runs_before)


def crashed(workspace: Path, **more: object) -> Summary:
    play = Play()
    play.submit()
    assert play.session is not None
    known = {"agent": "echo-001", "workspace": str(workspace), "state": AgentState.FAILED, "why": "signal 9", **more}
    return replace(play.session.summary, **known)  # type: ignore[arg-type]


async def stored(workspace: str, agent: str, since: float) -> Sequence[str]:
    return [f"{agent}.txt (added)"]


async def without_store(workspace: str, agent: str, since: float) -> Sequence[str]:
    raise ChaperonError("there is no checkpoint of the start")


async def test_each_end_is_told_and_one_alone_by_how_it_ended(tmp_path: Path) -> None:
    first = await last_attempt(task(lost(1), NOW), crashed(tmp_path), stored)
    assert (first.number, first.how, first.ends) == (1, "failed: signal 9", ())
    third = await last_attempt(task(lost(2), lost(3), NOW, runs_before=1), crashed(tmp_path), stored)
    assert (third.number, third.ends) == (3, ["agent echo-002 is lost: gone", "agent echo-003 is lost: gone"])


async def test_files_are_those_of_the_store_and_without_it_those_of_calls(tmp_path: Path) -> None:
    before = crashed(tmp_path, recent=(step("Edit", "a.py"), step("Bash", "make"), step("Write", "a.py")))
    assert (await last_attempt(task(lost(1), NOW), before, stored)).files_modified == ["echo-001.txt (added)"]
    assert (await last_attempt(task(lost(1), NOW), before, without_store)).files_modified == ["a.py"]


async def test_uncommitted_files_and_the_last_commit_are_those_of_the_kept_workspace(tmp_path: Path) -> None:
    identity = ["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "feat: add auth"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    (tmp_path / "half.txt").write_text("half")
    found = await last_attempt(task(lost(1), NOW), crashed(tmp_path), stored)
    assert found.uncommitted == ["half.txt"]
    assert found.last_commit.endswith(" feat: add auth")


@pytest.mark.parametrize("workspace", ["gone", "."])
async def test_without_a_workspace_or_git_nothing_is_said_of_commits(tmp_path: Path, workspace: str) -> None:
    found = await last_attempt(task(lost(1), NOW), crashed(tmp_path / workspace), stored)
    assert (found.uncommitted, found.last_commit) == (None, "")


async def test_the_turn_and_call_of_a_crash_are_told_and_no_turn_of_one_that_ended_after_it(tmp_path: Path) -> None:
    call = CallUnderWay("Bash", "make", 1.0)
    in_call = crashed(tmp_path, turns=4, unanswered=(call,), stderr_tail="out of memory", started_at=1_768_471_200.0)
    found = await last_attempt(task(lost(1), NOW), in_call, stored)
    assert (found.during_turn, found.unanswered, found.stderr) == (5, ["Bash make"], "out of memory")
    assert found.started == "2026-01-15T10:00:00Z"
    after = await last_attempt(task(lost(1), NOW), crashed(tmp_path, turns=4, failed=True), stored)
    assert (after.turns, after.during_turn) == (4, 0)
    stopped = crashed(tmp_path, state=AgentState.STOPPED, stderr_tail="a warning")
    found = await last_attempt(task(lost(1), NOW), stopped, stored)
    assert (found.during_turn, found.stderr) == (0, "")


def test_a_session_that_no_cli_can_resume_is_not_asked_for(tmp_path: Path) -> None:
    active = task(lost(1), NOW)
    known = agent_start(active, crashed(tmp_path, session_id="1c9e6679-7425-40de-944b-e07fc1f90ae7"), "Mend it.")
    assert known.wanted.resume_session == "1c9e6679-7425-40de-944b-e07fc1f90ae7"
    foreign = agent_start(active, crashed(tmp_path, session_id="stand-in"), "Mend it.")
    assert (foreign.wanted.resume_session, foreign.claim.opening) == (None, "Mend it.")
