"""The manager with real git and a real disk."""

import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from checkpoints.errors import CheckpointError
from checkpoints.model import Reason
from checkpoints.workspace import repository
from checkpoints.workspace.capture import CaptureSettings
from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from monitors.contract.tasks import Task
from supervisor.protocol.commands import Capture, RestoreCheckpoint
from supervisor.protocol.moments import RunMoment
from supervisor.protocol.rollbacks import RollbackOptions
from supervisor.runtime.checkpointing import manager as manager_module
from supervisor.runtime.checkpointing.manager import CheckpointManager, NeedlessError
from supervisor.runtime.clock import Clock
from tests.stages.live import files_of, git_environment, make_repository

MOMENT = RunMoment(7, "s-1", "u-1", 0.9, 61.0, "running")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    make_repository(tmp_path / "repo", {".gitignore": "ignored/\n", "a.txt": "a\n", "ignored/log": "log\n"})
    return tmp_path / "repo"


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[CheckpointManager]:
    made = CheckpointManager(tmp_path / "checkpoints", CaptureSettings(), Clock())
    yield made
    await made.close()


def task(repo: Path) -> Task:
    return Task("t-1", "do it", str(repo), goals=("a goal",))


def wanted(repo: Path, name: str = "", reason: Reason = Reason.TURN) -> Capture:
    return Capture("turn:1", reason, MOMENT, task(repo), str(repo), name)


def back(repo: Path, checkpoint: str, id_: str = "r1", **more: Any) -> RestoreCheckpoint:
    return RestoreCheckpoint(id_, checkpoint, str(repo), task(repo), MOMENT, **more)


async def test_a_checkpoint_holds_what_the_core_knew_of_the_moment(manager: CheckpointManager, repo: Path) -> None:
    facts = (await manager.capture("a1", wanted(repo))).facts
    assert (facts.position.session_id, facts.position.message_uuid, facts.seq) == ("s-1", "u-1", 7)
    assert (facts.health.success_rate, facts.health.seconds_without_errors) == (0.9, 61.0)
    assert (facts.context.goals, facts.agent_states) == (("a goal",), {"a1": "running"})


async def test_files_come_back_and_the_way_back_from_there_is_kept(manager: CheckpointManager, repo: Path) -> None:
    good = await manager.capture("a1", wanted(repo))
    (repo / "a.txt").unlink()
    (repo / "b.txt").write_text("b\n")
    (repo / "ignored/log").write_text("more\n")
    bad = files_of(repo)
    done = await manager.roll_back("a1", back(repo, good.name))
    assert files_of(repo) == {".gitignore": "ignored/\n", "a.txt": "a\n", "ignored/log": "more\n"}
    assert (done.undo, done.restored) == ("before-r1", 2)
    await manager.roll_back("a1", back(repo, done.undo, "r2"))
    assert files_of(repo) == bad


async def test_a_rollback_that_is_asked_for_twice_is_done_once_and_keeps_its_way_back(
    manager: CheckpointManager, repo: Path
) -> None:
    """As after a crash between the restore and the news of it."""
    good = await manager.capture("a1", wanted(repo))
    (repo / "a.txt").write_text("changed\n")
    first = await manager.roll_back("a1", back(repo, good.name))
    second = await manager.roll_back("a1", back(repo, good.name))
    assert (first.undo, second.undo) == ("before-r1", "before-r1")
    assert second.restored == 1
    names = [one.name for one in (await manager.stores.all()).checkpoints]
    assert names == [good.name, "before-r1"]


async def test_a_rollback_that_nobody_asked_for_is_not_done_where_it_would_change_no_file(
    manager: CheckpointManager, repo: Path
) -> None:
    made = await manager.capture("a1", wanted(repo))
    with pytest.raises(NeedlessError, match="no file has changed since"):
        await manager.roll_back("a1", back(repo, made.name, needless=False))
    names = [one.name for one in (await manager.stores.all()).checkpoints]
    assert names == [made.name]
    (repo / "new.txt").write_text("new")
    done = await manager.roll_back("a1", back(repo, made.name, needless=False))
    assert done.restored == 1
    assert (await manager.roll_back("a1", back(repo, made.name, "r2"))).restored == 0


async def test_a_preview_changes_nothing_and_leaves_no_checkpoint(manager: CheckpointManager, repo: Path) -> None:
    good = await manager.capture("a1", wanted(repo))
    (repo / "a.txt").write_text("changed\n")
    plan = await manager.preview(str(repo), good.name)
    assert [(one.path, one.change) for one in plan.lost] == [("a.txt", "modified")]
    assert (repo / "a.txt").read_text() == "changed\n"
    assert [one.name for one in (await manager.stores.all()).checkpoints] == [good.name]


async def test_a_rollback_of_unusual_size_is_refused_until_it_is_confirmed(
    manager: CheckpointManager, repo: Path
) -> None:
    for number in range(30):
        (repo / f"{number}.txt").write_text("first\n")
    good = await manager.capture("a1", wanted(repo))
    for number in range(30):
        (repo / f"{number}.txt").write_text("second\n")
    with pytest.raises(ChaperonError):
        await manager.roll_back("a1", back(repo, good.name))
    assert (repo / "0.txt").read_text() == "second\n"
    assert [one.name for one in (await manager.stores.all()).checkpoints] == [good.name]
    await manager.roll_back("a1", back(repo, good.name, "r2", how=RollbackOptions(unusual=True)))
    assert (repo / "0.txt").read_text() == "first\n"


async def test_worktrees_of_a_repository_share_a_store_and_keep_their_own_checkpoints(
    manager: CheckpointManager, repo: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    command = ["git", "-C", str(repo), "worktree", "add", "--quiet", "--detach", str(other)]
    subprocess.run(command, check=True, env=git_environment(repo), capture_output=True)
    assert {await manager.stores.in_thread(lambda at=at: repository.project_of(at)) for at in (other, repo)} == {repo}  # type: ignore[misc]
    first, second = await manager.capture("a1", wanted(repo)), await manager.capture("a2", wanted(other))
    assert len(manager.stores.opened) == 1
    assert (first.workspace, second.workspace) == (str(repo), str(other))
    with pytest.raises(CheckpointError, match=r"of .*other, not of"):
        await manager.roll_back("a1", back(repo, second.name))


async def test_a_name_is_given_once_and_the_same_request_again_is_no_second_checkpoint(
    manager: CheckpointManager, repo: Path
) -> None:
    """A daemon that was killed before it could tell of the first asks again."""
    first = await manager.capture("a1", wanted(repo, "good", Reason.PERSON))
    again = await manager.capture("a1", wanted(repo, "good", Reason.PERSON))
    assert first == again
    with pytest.raises(UsageError, match="already"):
        async with manager.naming(str(repo), "good"):
            pytest.fail("the name was given again")
    with pytest.raises(UsageError, match="already"):
        await manager.capture("a2", wanted(repo, "good", Reason.PERSON))
    with pytest.raises(UsageError, match="already"):
        await manager.capture("a1", replace(wanted(repo, "good", Reason.PERSON), key="another request"))


async def test_a_name_that_is_being_given_is_held_for_the_first_who_asked_and_free_again_where_that_failed(
    manager: CheckpointManager, repo: Path
) -> None:
    async def fail() -> None:
        async with manager.naming(str(repo), "good"):
            with pytest.raises(UsageError, match="being made for somebody else"):
                async with manager.naming(str(repo), "good"):
                    pytest.fail("two were given one name")
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    async with manager.naming(str(repo), "good"):
        pass


async def test_a_workspace_that_is_gone_is_said_to_be_so(manager: CheckpointManager, repo: Path) -> None:
    await manager.capture("a1", wanted(repo))
    repo.rename(repo.with_name("moved"))
    with pytest.raises(CheckpointError):
        await manager.capture("a1", wanted(repo))


async def test_a_capture_that_hangs_is_given_up_and_the_next_one_says_why(
    manager: CheckpointManager, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await manager.place(str(repo))
    await manager.capture("a1", wanted(repo))
    monkeypatch.setattr(manager_module, "CAPTURE_SECONDS", 0.05)
    place.capturer.lock.acquire()  # as a disk that does not answer would
    try:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_gives_up, manager, repo)
    finally:
        place.capturer.lock.release()


async def _gives_up(manager: CheckpointManager, repo: Path) -> None:
    place = manager.places[str(repo)]
    with pytest.raises(CheckpointError, match="took longer"):
        await manager.capture("a1", wanted(repo))
    assert place.working
    with pytest.raises(CheckpointError, match="still hangs"):
        await manager.capture("a1", wanted(repo))


async def test_checkpoints_outlive_the_manager_and_are_found_by_name(tmp_path: Path, repo: Path) -> None:
    first = CheckpointManager(tmp_path / "checkpoints", CaptureSettings(), Clock())
    made = await first.capture("a1", wanted(repo))
    await first.close()
    second = CheckpointManager(tmp_path / "checkpoints", CaptureSettings(), Clock())
    assert await second.stores.find(made.name) == made
    with pytest.raises(NotFoundError):
        await second.stores.find("no-such")
    with pytest.raises(NotFoundError, match=r"no checkpoint .* of an agent .other.; there is one of"):
        await second.stores.find(made.name, "other")
    await second.close()


async def test_a_store_that_cannot_be_opened_is_named_and_the_others_serve(
    manager: CheckpointManager, repo: Path, tmp_path: Path
) -> None:
    made = await manager.capture("a1", wanted(repo))
    (tmp_path / "checkpoints/bad").mkdir()
    (tmp_path / "checkpoints/bad/project.json").write_text("{")
    kept = await manager.stores.all()
    assert kept.checkpoints == (made,)
    assert "bad" in kept.problems[0]
    sound, bad = sorted(await manager.stores.examine(), key=lambda store: store["checkpoints"], reverse=True)
    assert not any(problem["severe"] for problem in sound["problems"])
    assert bad["problems"][0]["severe"]


async def test_two_workspaces_are_captured_at_once(manager: CheckpointManager, repo: Path, tmp_path: Path) -> None:
    """One that hangs does not hold up the other."""
    make_repository(tmp_path / "second", {"a.txt": "a\n"})
    first = await manager.place(str(repo))
    async with first.lock:
        with anyio.fail_after(20):
            made = await manager.capture("a2", wanted(tmp_path / "second"))
    assert made.workspace == str(tmp_path / "second")


async def test_what_an_agent_changed_is_told_up_to_the_present_or_up_to_its_last_checkpoint(
    manager: CheckpointManager, repo: Path
) -> None:
    await manager.capture("a1", replace(wanted(repo), key="start", reason=Reason.START))
    (repo / "a.txt").write_text("other\n")
    await manager.capture("a1", wanted(repo))
    (repo / "b.txt").write_text("a person's\n")

    async def paths(agent: str = "a1", *, now: bool) -> list[str]:
        return [each.path for each in await manager.changes(str(repo), agent, 0.0, now=now)]

    assert await paths(now=False) == ["a.txt"]
    assert await paths(now=True) == ["a.txt", "b.txt"]
    with pytest.raises(ChaperonError):
        await paths("a2", now=True)
