"""`chaperon merge`: lists, shows, asks, and carries out."""

import json
from typing import Any

from supervisor.protocol.merges import MergePhase
from tests.stages.daemon import Base, ended, served
from tests.supervisor.cli.conftest import chaperon
from tests.supervisor.runtime.merging.test_merge_queue import WORKS, git, makes


async def begun(base: Base, daemon: Any) -> None:
    """A repository on its first commit, and an agent that is done with something."""
    git(base.repo, "checkout", "-qb", "main")
    git(base.repo, "add", "-A")
    git(base.repo, "commit", "-qm", "first")
    base.cli(WORKS.format(program=makes("made.txt")))
    await daemon.submit(base.submission(workspace="new"), by="ann")
    await ended(daemon)


async def test_a_merge_is_listed_shown_and_carried_out(base: Base) -> None:
    base.config["workspaces"] = {"folder": str(base.root / "workspaces")}
    async with served(base) as (daemon, _):
        assert (await chaperon("merge")).output == "Nothing waits to be merged.\n"
        await begun(base, daemon)
        assert "chaperon/a1 → main" in (await chaperon("merge")).output
        (one,) = json.loads((await chaperon("merge", "--json")).output)
        shown = await chaperon("merge", one["task"], "--dry-run")
        assert "1 commit of a1, 1 file, from chaperon/a1 into main" in shown.output
        asked = await chaperon("merge", "a1")
        assert (asked.exit_code, "no terminal to ask" in asked.stderr) == (2, True)
        assert not (base.repo / "made.txt").exists()
        done = json.loads((await chaperon("merge", "a1", "--yes", "--json")).output)
        assert (done["phase"], done["target"]) == ("merged", "main")
        assert (base.repo / "made.txt").read_text() == "made"
        again = await chaperon("merge", "a1", "--yes")
        assert (again.exit_code, "a1 is merged" in again.output) == (0, True)
        elsewhere = await chaperon("merge", "a1", "--into", "gone", "--yes")
        assert (elsewhere.exit_code, "There is no branch" in elsewhere.stderr) == (2, True)
        assert daemon.board.merges.find("a1").phase is MergePhase.MERGED


async def test_a_check_that_fails_is_shown_and_the_exit_code_says_so(base: Base) -> None:
    base.config |= {"workspaces": {"folder": str(base.root / "workspaces")}, "verify": "echo two tests fail; exit 1"}
    async with served(base) as (daemon, _):
        await begun(base, daemon)
        done = await chaperon("merge", "a1", "--yes")
        assert done.exit_code == 1
        assert "a1 is parked: the check of the merged files" in done.output
        assert "  two tests fail" in done.output
        assert "parked" in (await chaperon("merge")).output
        assert "withdrawn" in (await chaperon("merge", "a1", "--withdraw")).output
        assert (await chaperon("merge")).output == "Nothing waits to be merged.\n"


async def test_what_cannot_be_merged_is_refused_with_the_reason(base: Base) -> None:
    async with served(base) as (daemon, _):
        assert (await chaperon("merge", "nobody", "--yes")).exit_code == 1
        assert (await chaperon("merge", "--yes")).exit_code == 2
        await daemon.submit(base.submission(), by="ann")
        await ended(daemon)
        refused = await chaperon("merge", "a1", "--yes")
        assert (refused.exit_code, "has no branch of its own" in refused.stderr) == (2, True)
