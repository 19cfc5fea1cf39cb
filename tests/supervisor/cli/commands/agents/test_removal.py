"""`chaperon rm` and `chaperon prune`: what an ended agent left goes, and no work with it unless a person says so."""

import json
import subprocess
from pathlib import Path

import pytest

from supervisor.protocol import events
from supervisor.protocol.merges import MergePhase
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from tests.stages.daemon import Base, ended, reached, served
from tests.supervisor.cli.conftest import chaperon

WORKS = """
prompt = greet()
take(prompt)
say({"type": "system", "subtype": "init", "session_id": "stand-in", "cwd": os.getcwd(), "tools": []})
import subprocess
if "write" in prompt:
    open("made.txt", "w").write("x")
if "commit" in prompt:
    subprocess.run(["git", "add", "made.txt"])
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", prompt])
if "wait" in prompt:
    while True:
        hear()
if "fail" in prompt:
    raise SystemExit(3)
done()
hear()
"""
"""A CLI that writes, commits, waits or fails as its prompt says."""


@pytest.fixture
def base(base: Base) -> Base:
    base.config["workspaces"] = {"mode": "new"}
    git(base.repo, "add", ".")
    git(base.repo, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "first")
    base.cli(WORKS)
    return base


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repo), *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def branches(base: Base) -> set[str]:
    return set(git(base.repo, "branch", "--format=%(refname:short)").split()) - {"master", "main"}


async def after(daemon: Daemon, base: Base, name: str, prompt: str) -> Path:
    """The workspace of an agent that ended after this prompt."""
    await daemon.submit(base.submission(name=name, prompt=prompt), by="test")
    return Path((await ended(daemon, name)).workspace)


@pytest.mark.slow
async def test_of_an_agent_that_left_nothing_of_worth_all_goes(base: Base) -> None:
    async with served(base) as (daemon, _):
        workspace = await after(daemon, base, "a1", "fail")
        assert workspace.is_dir()
        said = await chaperon("rm", "a1")
        assert said.exit_code == 0
        assert "removed: the workspace" in said.output
        assert not workspace.exists()
        assert not (base.places.agents / "a1" / "agent.json").exists()
        assert branches(base) == set()
        assert json.loads((await chaperon("ps", "--all", "--json")).output) == []
        assert "removed before" in (await chaperon("rm", "a1")).output
    async with served(base):
        assert json.loads((await chaperon("ps", "--all", "--json")).output) == []
    (removed,) = base.events(events.AgentRemoved)
    assert removed.lost == ()


async def test_work_that_is_not_committed_or_on_no_other_branch_stays_until_a_person_gives_it_up(base: Base) -> None:
    async with served(base) as (daemon, _):
        loose = await after(daemon, base, "loose", "write fail")
        held = await after(daemon, base, "held", "write commit fail")
        refused = await chaperon("rm", "loose", "held")
        assert refused.exit_code == 1
        assert "1 path is not committed" in refused.output
        assert "has 1 commit that no other branch has" in refused.output
        assert "chaperon rm --force loose" in refused.output
        assert (loose / "made.txt").exists()
        assert (held / "made.txt").exists()
        rows = json.loads((await chaperon("prune", "--json")).output)
        assert [(row["agent"], row["done"]) for row in rows] == [("loose", False), ("held", False)]
        git(base.repo, "merge", "--quiet", "chaperon/held")
        assert (await chaperon("rm", "held")).exit_code == 0
        assert (await chaperon("rm", "--force", "loose")).exit_code == 0
        assert not loose.exists()
        assert branches(base) == set()


async def test_a_branch_that_outlived_its_workspace_goes_only_by_force(base: Base) -> None:
    async with served(base) as (daemon, _):
        workspace = await after(daemon, base, "a1", "write commit")
        assert not workspace.exists()
        assert branches(base) == {"chaperon/a1"}
        assert "1 commit that no other branch has" in (await chaperon("rm", "a1")).output
        tip = git(base.repo, "rev-parse", "chaperon/a1")[:12]
        forced = (await chaperon("rm", "a1", "--force")).output
        assert f"(it was at {tip})" in forced
        assert branches(base) == set()


async def test_work_that_a_merge_wrote_anew_on_the_target_is_not_lost_and_what_came_after_it_is(base: Base) -> None:
    base.config["workspaces"] = {"mode": "new", "at_end": "keep"}
    async with served(base) as (daemon, _):
        whole = await after(daemon, base, "whole", "write commit")
        more = await after(daemon, base, "more", "write commit, and not what whole did in the same second")
        (more / "made.txt").write_text("y")
        git(more, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qam", "another")
        for name in ("whole", "more"):
            git(base.repo, "branch", f"for-{name}", git(base.repo, "rev-list", "--max-parents=0", "HEAD").strip())
            done = await daemon.merging.carry_out(name, "ann", f"for-{name}")
            assert done.phase is MergePhase.MERGED, done.why
            assert done.tip not in git(base.repo, "rev-list", f"for-{name}")
        git(more, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "later")
        tip = git(base.repo, "rev-parse", "chaperon/whole").strip()
        rows = json.loads((await chaperon("prune", "--json")).output)
        assert [(row["agent"], row["done"], row["lost"]) for row in rows] == [
            ("whole", True, []),
            ("more", False, ["The branch chaperon/more has 1 commit that no other branch has."]),
        ]
        assert not whole.exists()
        assert more.exists()
        assert branches(base) == {"chaperon/more", "for-whole", "for-more"}
        assert git(base.repo, "rev-parse", "refs/chaperon/merged/whole").strip() == tip


async def test_an_agent_at_work_is_not_removed_and_a_look_removes_nothing(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt="wait"), by="test")
        await reached(daemon, AgentState.RUNNING)
        refused = await chaperon("rm", "a1", "--force")
        assert (refused.exit_code, "stop it first" in refused.output) == (1, True)
        workspace = await after(daemon, base, "a2", "fail")
        assert "nothing would be lost" in (await chaperon("prune", "--dry-run")).output
        assert workspace.exists()
        assert (await chaperon("prune", "--older", "1h")).output == "There is nothing to remove.\n"
        assert (await chaperon("rm", "nobody")).exit_code == 1


async def test_the_usual_list_leaves_out_what_ended_long_ago_and_says_so(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(base) as (daemon, _):
        await after(daemon, base, "well", "go")
        await after(daemon, base, "badly", "fail")
        listed = json.loads((await chaperon("ps", "--json")).output)
        assert [row["agent"] for row in listed] == ["well", "badly"]
        for name in ("well", "badly"):
            monkeypatch.setattr(daemon.board.summary(name), "ended_at", daemon.wall() - 7_200)
            daemon.board._touch(name)
        assert [row["agent"] for row in json.loads((await chaperon("ps", "--json")).output)] == ["badly"]
        assert "1 agent that ended before: chaperon ps --all" in (await chaperon("ps")).output
        assert len(json.loads((await chaperon("ps", "--json", "--all")).output)) == 2


async def test_an_agent_is_forgotten_and_its_branch_stays_unless_it_is_asked_for(base: Base) -> None:
    async with served(base) as (daemon, _):
        await after(daemon, base, "wilma", "write commit fail")
        (branch,) = branches(base)
        unconfirmed = await chaperon("forget", "wilma")
        assert unconfirmed.exit_code == 2
        assert "was not confirmed" in unconfirmed.output
        assert [one.agent for one in daemon.board.summaries()] == ["wilma"]
        said = await chaperon("forget", "wilma", "--yes")
        assert said.exit_code == 0, said.output
        assert f"Kept: its branch {branch}, its workspace" in said.output
        assert "Nothing is left of it." in said.output
        assert branches(base) == {branch}
        assert (await chaperon("forget", "wilma")).exit_code == 1, "it is not there any more"
        await after(daemon, base, "betty", "write commit fail, and not what wilma did in the same second")
        refused = await chaperon("forget", "betty", "--branch", "--yes")
        assert refused.exit_code == 1
        assert "something would be lost" in refused.output
        assert [one.agent for one in daemon.board.summaries()] == ["betty"]
        done = json.loads((await chaperon("forget", "betty", "--branch", "--force", "--yes", "--json")).output)
        assert (done["done"], done["kept"], done["left"]) == (True, [], [])
        assert branches(base) == {branch}
        assert daemon.board.summaries() == []
