"""Project checkpoints over a real daemon, real git and agents in worktrees of their own."""

import json
import re
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from checkpoints.model import Reason
from checkpoints.worktrees import ProjectWorktrees
from monitors.contract.errors import UsageError
from supervisor.core.projects.known import MOST_AUTOMATIC
from supervisor.protocol.words import AgentState
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.projects import worktree_files
from supervisor.runtime.projects.rollback import ProjectRollbackRequest
from tests.stages.branches import git
from tests.stages.daemon import Base, reached, served

WAITS = """\
begin()
open("half.txt", "w").write("half")
done()
while True:
    hear()
"""


def make_repository(base: Base) -> None:
    git(base.repo, "checkout", "-qb", "main")
    (base.repo / ".gitignore").write_text("plan.json\n")
    (base.repo / "file.txt").write_text("first")
    git(base.repo, "add", "-A")
    git(base.repo, "commit", "-qm", "first")


async def at_rest(daemon: Daemon, base: Base, name: str = "a1", **about: Any) -> str:
    """Have an agent work in a worktree of its own until its turn ended; its workspace."""
    known = await daemon.submit(base.submission(name=name, workspace="new", keep_open=True, **about), by="ann")
    await reached(daemon, AgentState.IDLE, name)
    return known.workspace


async def test_one_name_has_all_worktrees_branches_agents_and_tasks(base: Base) -> None:
    make_repository(base)
    base.cli(WAITS)
    base.config = {"workspaces": {"folder": str(base.root / "workspaces")}}
    async with served(base) as (daemon, client):
        workspace = await at_rest(daemon, base)
        (base.repo / "loose.txt").write_text("not committed")
        task = {"prompt": "p" * 3_000, "repository": str(base.repo)}
        assert (await client.post("/v1/drain", json={"on": True})).status_code == 200
        added = (await client.post("/v1/tasks", json={"tasks": [task]})).json()
        body = {"project": str(base.repo), "name": "before-auth", "note": "as it was"}
        row = (await client.post("/v1/project-checkpoints", json=body)).json()
        assert row["agents"] == ["a1"], row
        again = await client.post("/v1/project-checkpoints", json=body)
        assert again.status_code == 422
        assert "already" in again.text
        one = (await client.get("/v1/project-checkpoints/before-auth", params={"project": str(base.repo)})).json()
        listed = (await client.get("/v1/project-checkpoints", params={"project": workspace})).json()
        store = daemon.checkpoint_manager.stores
        files = {kept.name: kept.workspace for kept in (await store.all()).checkpoints}
    assert [each["name"] for each in listed] == ["before-auth"]
    head = git(base.repo, "rev-parse", "main")
    assert one["branches"] == {"refs/heads/main": head, "refs/heads/chaperon/a1": head}
    assert [(mark["path"], mark["branch"], mark["head"]) for mark in one["workspaces"]] == [
        (str(base.repo), "refs/heads/main", head),
        (workspace, "refs/heads/chaperon/a1", head),
    ]
    assert one["workspaces"][0]["made"] is None
    assert one["workspaces"][1]["made"]["base"] == head
    assert [(files[mark["checkpoint"]], mark["path"]) for mark in one["workspaces"]] == [
        (str(base.repo), str(base.repo)),
        (workspace, workspace),
    ]
    (agent,) = one["agents"]
    assert (agent["agent"], agent["turns"], agent["workspace"]) == ("a1", 1, workspace)
    (mark,) = one["tasks"]
    assert (mark["id"], mark["state"]) == (added["tasks"][0]["task"], "pending")
    held = git(base.repo, "for-each-ref", "--format=%(refname)", "refs/chaperon/checkpoints")
    assert re.sub(r"\+[0-9a-f]{8}/", "/", held).split() == [
        "refs/chaperon/checkpoints/before-auth/heads/chaperon/a1",
        "refs/chaperon/checkpoints/before-auth/heads/main",
    ]


async def test_a_checkpoint_outlives_restarts_and_goes_with_all_that_it_held(base: Base) -> None:
    make_repository(base)
    project = str(base.repo)
    async with served(base) as (daemon, _):
        made = await daemon.projects.make(project, "kept", "ann", reason=Reason.UNATTENDED, note="before the night")
        assert await daemon.projects.make(project, "kept", "ann", once=True) == made
    async with served(base) as (daemon, _):
        assert daemon.board.projects.find("kept") == made
        await daemon.projects.forget("kept", project, "ann")
        assert (await daemon.checkpoint_manager.stores.all()).checkpoints == ()
    assert git(base.repo, "for-each-ref", "refs/chaperon") == ""


async def test_of_those_that_chaperon_makes_by_itself_the_oldest_go(base: Base) -> None:
    make_repository(base)
    project = str(base.repo)
    async with served(base) as (daemon, _):
        await daemon.projects.make(project, "named", "ann")
        for number in range(MOST_AUTOMATIC + 2):
            await daemon.projects.make(project, f"auto-{number}", "chaperon", reason=Reason.PERIODIC)
        names = [one.name for one in daemon.board.projects.all(project)]
        assert names == ["named", *(f"auto-{number}" for number in range(2, MOST_AUTOMATIC + 2))]
        kept = {one.name for one in (await daemon.checkpoint_manager.stores.all()).checkpoints}
    assert kept == {f"{name}.main" for name in names}


async def test_what_an_attempt_left_that_a_crash_cut_off_is_in_nobodys_way(base: Base) -> None:
    make_repository(base)
    project = str(base.repo)
    async with served(base) as (daemon, _):
        daemon.happened = _refuse  # type: ignore[method-assign, assignment]
        with pytest.raises(RuntimeError):
            await daemon.projects.make(project, "again", "ann")
        del daemon.happened
        (base.repo / "more.txt").write_text("more")
        made = await daemon.projects.make(project, "again", "ann")
        (kept,) = (await daemon.checkpoint_manager.stores.all()).checkpoints
        assert (kept.name, kept.tree) == ("again.main", made.workspaces[0].tree)


async def test_commits_that_another_daemon_holds_in_the_repository_stay(base: Base) -> None:
    make_repository(base)
    project, holding = str(base.repo), "refs/chaperon/checkpoints"
    theirs = {f"{holding}/{name}/heads/main" for name in ("theirs", "same+01234567", "undo-theirs-8+01234567")}
    for name in theirs:
        git(base.repo, "update-ref", name, "HEAD")
    async with served(base) as (daemon, _):
        await daemon.projects.make(project, "same", "ann")
        await daemon.projects.make(project, "auto", "chaperon", reason=Reason.PERIODIC)
        left = daemon.projects.held_as("left")
        git(base.repo, "update-ref", f"{holding}/{left}/heads/main", "HEAD")
        await daemon.projects.make(project, "auto-2", "chaperon", reason=Reason.PERIODIC)
        found = set(git(base.repo, "for-each-ref", "--format=%(refname)", holding).split())
        assert not [name for name in found if left in name]
        for name in ("same", "auto", "auto-2"):
            await daemon.projects.forget(name, project, "ann")
    assert set(git(base.repo, "for-each-ref", "--format=%(refname)", holding).split()) == theirs


async def test_worktrees_and_branches_of_another_daemons_agents_are_left_alone(base: Base) -> None:
    make_repository(base)
    others = ProjectWorktrees(base.repo, base.root / "others")
    theirs = Path(others.create("b1").path)
    async with served(base) as (daemon, _):
        made = await daemon.projects.make(str(base.repo), "before", "ann")
        late = Path(others.create("b2").path)
        for folder in (theirs, late):
            (folder / "work.txt").write_text("theirs")
            git(folder, "commit", "-q", "--allow-empty", "-m", "theirs")
        how = ProjectRollbackRequest(checkpoint="before", with_branches=True)
        await daemon.project_work.rollbacks.roll_back(str(base.repo), how, "ann", "r1")
    assert [one.path for one in made.workspaces] == [str(base.repo)]
    assert "refs/heads/chaperon/b1" not in made.branches
    assert [(folder / "work.txt").read_text() for folder in (theirs, late)] == ["theirs", "theirs"]
    assert [git(folder, "log", "-1", "--format=%s").strip() for folder in (theirs, late)] == ["theirs", "theirs"]


def _refuse(_event: object) -> int:
    raise RuntimeError("killed here")


@pytest.mark.parametrize("name", ["", "../x", "a..b", "x" * 61, "a.lock", "a b"])
async def test_a_name_that_no_ref_can_have_is_refused(base: Base, name: str) -> None:
    make_repository(base)
    async with served(base) as (daemon, _):
        with pytest.raises(UsageError, match="cannot be a project checkpoint's name"):
            await daemon.projects.make(str(base.repo), name, "ann")


async def test_a_folder_without_a_repository_is_a_project_of_one_worktree(base: Base, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a").write_text("a")
    async with served(base) as (daemon, client):
        made = await daemon.projects.make(await daemon.projects.project_at(str(plain)), "one", "ann")
        gone = await client.post("/v1/project-checkpoints", json={"project": str(tmp_path / "none"), "name": "x"})
    assert [mark.path for mark in made.workspaces] == [str(plain)]
    assert made.branches == {}
    assert gone.status_code == 422
    assert "There is no folder" in gone.text
    assert json.loads(gone.text)


async def test_a_worktree_that_goes_while_it_is_captured_is_not_missed(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(base)
    git(base.repo, "worktree", "add", "-q", "-b", "side", str(base.root / "side"))
    async with served(base) as (daemon, _):
        capture, seen = worktree_files.capture_part, list[str]()

        async def going(manager: CheckpointManager, workspace: str, *more: Any) -> Any:
            seen.append(workspace)
            if workspace.endswith("side") and len(seen) == 2:
                await anyio.to_thread.run_sync(git, base.repo, "worktree", "remove", "--force", workspace)
            return await capture(manager, workspace, *more)

        monkeypatch.setattr(worktree_files, "capture_part", going)
        made = await daemon.projects.make(str(base.repo), "one", "ann")
    assert [mark.path for mark in made.workspaces] == [str(base.repo)]
