"""A daemon killed at each point of a merge: the target is on the old commit or on the new one, and the next goes on."""

import signal
from pathlib import Path

import anyio.to_thread
import pytest

from supervisor.protocol.merges import MergePhase
from tests.kill.merge_daemon import POINTS, config
from tests.stages import forked
from tests.stages.branches import git
from tests.stages.daemon import Base, served, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.mark.parametrize("point", POINTS)
async def test_after_a_kill_the_next_daemon_brings_the_merge_to_its_end(tmp_path: Path, point: str) -> None:
    base = Base(tmp_path)
    base.config = config(tmp_path)
    git(base.repo, "checkout", "-qb", "main")
    (base.repo / "file.txt").write_text("first")
    (base.repo / ".gitignore").write_text("plan.json\n")
    git(base.repo, "add", "-A")
    git(base.repo, "commit", "-qm", "first")
    old = git(base.repo, "rev-parse", "main")
    killed = await anyio.to_thread.run_sync(lambda: forked.run("tests.kill.merge_daemon", tmp_path, point, seconds=60))
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    between = git(base.repo, "rev-parse", "main")
    assert between == old or git(base.repo, "rev-parse", "main~1") == old
    assert git(base.repo, "fsck", "--strict", "--no-dangling") == ""
    async with served(base) as (daemon, _):
        if point == "step proposed":
            await until(lambda: daemon.board.merges.get("a1") is not None)
            await daemon.merging.carry_out("a1", "ann")
        await until(lambda: not daemon.board.merges.find("a1").phase.under_way)
        merge = daemon.board.merges.find("a1")
        await until(lambda: not (base.repo / ".git/refs/chaperon/merging/a1").exists())  # released once all is told
    assert merge.phase is MergePhase.MERGED, merge.why
    assert git(base.repo, "status", "--porcelain") == ""
    assert (base.repo / "made.txt").read_text() == "made"
    assert git(base.repo, "log", "--format=%s", "main").split() == ["work", "first"]
    assert not list((tmp_path / "workspaces").glob("*-merging/*"))
