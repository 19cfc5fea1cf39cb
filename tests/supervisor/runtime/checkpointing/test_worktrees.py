"""Agents in workspaces of their own: made, removed where nothing is lost, kept where something is, found after a crash."""

from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from monitors.contract.errors import UsageError
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.service import run_daemon
from tests.stages.branches import git
from tests.stages.daemon import Base, ended, served

pytestmark = pytest.mark.timeout(180)

WRITES = """\
import subprocess
begin()
open("made.txt", "w").write("made")
{more}
done()
hear()
"""
COMMITS = 'subprocess.run("git add -A && git -c user.name=A -c user.email=a@localhost commit -qm work", shell=True, check=True)'
FAILS = "raise SystemExit(3)"


@pytest.fixture
def base(tmp_path: Path) -> Base:
    made = Base(tmp_path)
    (made.repo / "file.txt").write_text("first\n")
    git(made.repo, "add", "-A")
    git(made.repo, "commit", "-qm", "first")
    return made


async def run(at: Base, more: str = "", **about: Any) -> Summary:
    """One agent from its submission to its end."""
    at.cli(WRITES.format(more=more))
    async with served(at) as (daemon, _):
        await daemon.submit(at.submission(workspace="new", **about), by="ann")
        return await ended(daemon)


async def test_committed_work_stays_on_its_branch_and_the_workspace_goes(base: Base) -> None:
    before = git(base.repo, "status", "--porcelain"), git(base.repo, "rev-parse", "HEAD")
    summary = await run(base, COMMITS)
    assert summary.branch == "chaperon/a1"
    assert summary.workspace_closed == "removed: nothing in it would be lost"
    assert not Path(summary.workspace).exists()
    assert git(base.repo, "show", "chaperon/a1:made.txt") == "made"
    assert (git(base.repo, "status", "--porcelain"), git(base.repo, "rev-parse", "HEAD")) == before
    assert len(git(base.repo, "worktree", "list").splitlines()) == 1


async def test_work_that_is_not_committed_keeps_the_workspace_and_that_is_told(base: Base) -> None:
    summary = await run(base)
    assert summary.workspace_closed == "kept: 1 path is not committed."
    assert (Path(summary.workspace) / "made.txt").read_text() == "made"
    assert not (base.repo / "made.txt").exists()
    (told,) = base.events(events.WorkspaceClosed)
    assert (told.workspace, told.removed) == (summary.workspace, False)


async def test_the_workspace_of_an_agent_that_failed_is_kept_although_all_is_committed(base: Base) -> None:
    summary = await run(base, f"{COMMITS}\n{FAILS}")
    assert summary.workspace_closed.startswith("kept: the agent did not end well (failed: ")
    assert Path(summary.workspace).is_dir()


async def test_it_is_kept_where_the_configuration_says_so(base: Base) -> None:
    base.config = {"workspaces": {"at_end": "keep"}}
    assert (await run(base, COMMITS)).workspace_closed == "kept: workspaces.at_end says so"


async def test_an_agent_begins_at_the_base_that_is_named(base: Base) -> None:
    old = git(base.repo, "rev-parse", "HEAD")
    (base.repo / "file.txt").write_text("second\n")
    git(base.repo, "commit", "-qam", "second")
    summary = await run(base, base=old)
    assert (Path(summary.workspace) / "file.txt").read_text() == "first\n"
    assert git(Path(summary.workspace), "rev-parse", "HEAD") == old


async def test_the_base_is_that_of_the_worktree_that_is_named(base: Base, tmp_path: Path) -> None:
    git(base.repo, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    (tmp_path / "other/file.txt").write_text("other\n")
    git(tmp_path / "other", "commit", "-qam", "other")
    summary = await run(base, repository=str(tmp_path / "other"))
    assert (Path(summary.workspace) / "file.txt").read_text() == "other\n"


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"base": "HEAD"}, "A base is for a new workspace only"),
        ({"workspace": "new", "base": "no-such"}, "names no commit"),
        ({"workspace": "new", "resume_session": "0" * 36}, "resumes a session only where it ran"),
    ],
)
async def test_what_does_not_go_together_is_refused_and_leaves_nothing(
    base: Base, about: dict[str, Any], says: str
) -> None:
    async with served(base) as (daemon, _):
        with pytest.raises(UsageError, match=says):
            await daemon.submit(base.submission(**about), by="ann")
        assert daemon.board.summaries() == []
        assert await daemon.worktrees.all() == []


async def test_a_workspace_that_a_crash_left_open_is_closed_at_the_next_start(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.cli(WRITES.format(more=COMMITS))
    async with served(base) as (daemon, _):

        async def killed(agent: str) -> None:
            """The daemon ends before it comes to this."""

        monkeypatch.setattr(daemon, "close_workspace", killed)
        await daemon.submit(base.submission(workspace="new"), by="ann")
        left = (await ended(daemon)).workspace
        unused = await daemon.worktrees.make("a2", str(base.repo), "HEAD")
    assert Path(left).is_dir()
    async with run_daemon(base.setup()) as daemon:
        assert daemon.board.summary("a1").workspace_closed == "removed: nothing in it would be lost"
        assert await daemon.worktrees.all() == []
    assert not Path(left).exists()
    assert not Path(unused.path).exists()
    assert git(base.repo, "show", "chaperon/a1:made.txt") == "made"


async def test_the_workspace_of_a_living_agent_outlives_the_daemon(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")  # one that ends at the first word may do so before it is stopped
    async with run_daemon(base.setup()) as daemon:
        path = (await daemon.submit(base.submission(workspace="new"), by="ann")).workspace
    async with served(base) as (daemon, _):
        assert Path(path).is_dir()
        assert daemon.board.summary("a1").workspace == path
        await daemon.put_down("a1", "the test is over")
        assert (await ended(daemon)).workspace_closed.startswith("kept: the agent did not end well (stopped: ")


async def test_a_checkpoint_is_written_into_a_new_workspace_though_its_own_is_gone(base: Base) -> None:
    base.cli(WRITES.format(more=""))
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(workspace="new"), by="ann")
        summary = await ended(daemon)
        made = await client.post("/v1/agents/a1/checkpoints", json={"name": "the-work"})
        assert made.status_code == 201, made.text
        await daemon.checkpoint_manager.release(summary.workspace)
        await anyio.to_thread.run_sync(git, base.repo, "worktree", "remove", "--force", summary.workspace)
        written = (await client.post("/v1/checkpoints/the-work/workspace")).json()
        again = (await client.post("/v1/checkpoints/the-work/workspace")).json()
    assert (Path(written["workspace"]) / "made.txt").read_text() == "made"
    assert git(Path(written["workspace"]), "status", "--porcelain") == "?? made.txt"
    assert (written["branch"], again["branch"]) == ("chaperon/the-work", "chaperon/the-work-2")
    assert not (base.repo / "made.txt").exists()
    async with run_daemon(base.setup()) as daemon:
        assert [Path(one.path).is_dir() for one in await daemon.worktrees.all()] == [True, True]
