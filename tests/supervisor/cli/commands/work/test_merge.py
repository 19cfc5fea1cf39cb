"""`chaperon merge`: lists, shows, asks, and carries out."""

import json
from functools import partial
from typing import Any

import anyio.from_thread
import pytest

from supervisor.cli import common
from supervisor.protocol.merges import MergePhase
from tests.stages.branches import WORKS, git, makes
from tests.stages.daemon import Base, ended, served
from tests.supervisor.cli.conftest import chaperon


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
        listed = (await chaperon("merge")).output
        (one,) = json.loads((await chaperon("merge", "--json")).output)
        assert "chaperon/a1 → main" in listed
        assert f"\n  {one['why']}\n" in listed, "whole, for it may end in a command"
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


@pytest.mark.slow
async def test_all_that_are_proposed_are_merged_one_after_the_other_and_one_that_fails_holds_none_up(
    base: Base,
) -> None:
    base.config["workspaces"] = {"folder": str(base.root / "workspaces")}
    async with served(base) as (daemon, _):
        assert (await chaperon("merge", "--all", "--yes")).output == "No merge is proposed.\n"
        await begun(base, daemon)
        for name, program in (("a2", makes("made.txt", "otherwise")), ("a3", makes("third.txt"))):
            base.cli(WORKS.format(program=program))
            await daemon.submit(base.submission(name=name, workspace="new"), by="ann")
            await ended(daemon, name)
        planned = await chaperon("merge", "--all", "--dry-run")
        assert [f"1 commit of {name}, 1 file" in planned.output for name in ("a1", "a2", "a3")] == [True] * 3
        asked = await chaperon("merge", "--all")
        assert (asked.exit_code, "no terminal to ask" in asked.stderr) == (2, True)
        assert not (base.repo / "made.txt").exists()
        done = await chaperon("merge", "--all", "--yes")
        assert done.exit_code == 1, "one was not merged"
        assert [f"{name} is merged" in done.output for name in ("a1", "a2", "a3")] == [True, False, True]
        assert "a2 is parked" in done.output
        assert ((base.repo / "made.txt").read_text(), (base.repo / "third.txt").read_text()) == ("made", "made")
        again = await chaperon("merge", "--all", "--yes")
        assert again.output.startswith("Left alone: 1 merge that could not be made before.")
        assert json.loads((await chaperon("merge", "--all", "--yes", "--json")).output) == []
        assert (await chaperon("merge", "a3", "--all")).exit_code == 2


@pytest.mark.slow
async def test_a_proposal_that_is_withdrawn_meanwhile_is_not_merged_with_all_others(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.config["workspaces"] = {"folder": str(base.root / "workspaces")}
    async with served(base) as (daemon, _):
        await begun(base, daemon)
        base.cli(WORKS.format(program=makes("third.txt")))
        await daemon.submit(base.submission(name="a2", workspace="new"), by="ann")
        await ended(daemon, "a2")
        withdraw = partial(anyio.from_thread.run, daemon.merging.withdraw, "a2", "ann")
        monkeypatch.setattr(common, "confirm", lambda *_: withdraw())
        done = await chaperon("merge", "--all")
        assert (done.exit_code, "a2 is left alone: it is withdrawn by now." in done.output) == (0, True)
        assert [daemon.board.merges.find(name).phase for name in ("a1", "a2")] == ["merged", "withdrawn"]
        assert not (base.repo / "third.txt").exists()


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
