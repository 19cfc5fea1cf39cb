"""Work of agents without a stored task that cannot be merged: given back in the same workspace, a bounded number of times."""

from pathlib import Path

import pytest

from supervisor.protocol import events
from supervisor.protocol.events import MergeChanged
from supervisor.protocol.merges import Merge, MergePhase
from supervisor.runtime.service import complete_work
from tests.stages.house import House, bash, house, say
from tests.supervisor.runtime.merging.test_git_merge import git
from tests.supervisor.runtime.tasks.test_finished_work import commits, policy

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]


async def phase(stage: House, agent: str, *phases: MergePhase) -> Merge:
    """Wait until the merge of an agent is in one of these phases."""
    changed = await stage.until(MergeChanged, lambda event: event.merge.phase in phases, agent)
    return changed.merge


async def test_a_conflict_is_resolved_in_the_same_session_and_workspace_and_then_merged(tmp_path: Path) -> None:
    resolve = (
        "git -c user.name=A -c user.email=a@x merge -q main || true; printf 'both\\n' > work.txt; git add -A; "
        "git -c user.name=A -c user.email=a@x commit -qm 'Merge main'"
    )
    model = commits("agent"), say("done"), bash(resolve), say("resolved")
    async with house(tmp_path, *model, policy=policy(merge="auto"), completion=complete_work) as stage:
        repo = stage.workspace
        first = await stage.submit(workspace="new", labels=("night",))
        (repo / "work.txt").write_text("person\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "person")
        git(repo, "checkout", "-q", "--detach")
        merged = await phase(stage, "a2", MergePhase.MERGED, MergePhase.PARKED)
        await stage.until(events.WorkspaceClosed, agent="a2")
        second = stage.daemon.board.summary("a2")
        phases = [(one.merge.id, one.merge.phase) for one in stage.events(MergeChanged)]
        told = stage.told()
    assert merged.phase is MergePhase.MERGED, merged.why
    assert git(repo, "show", "main:work.txt") == "both"
    assert "<<<<<<< main" in told
    assert (second.workspace, second.branch, second.session_id) == (first.workspace, first.branch, first.session_id)
    assert second.task.labels == ("night",)
    assert ("a1", MergePhase.RESOLVING) in phases
    assert ("a1", MergePhase.WITHDRAWN) in phases
    assert not Path(first.workspace).exists()


async def test_after_as_many_rounds_as_may_be_it_is_parked_and_all_is_kept(tmp_path: Path) -> None:
    rules = policy(merge={"mode": "auto", "rounds": 1}, verify="! grep -q agent work.txt")
    model = commits("agent"), say("done"), commits("agent again"), say("done")
    async with house(tmp_path, *model, policy=rules, completion=complete_work) as stage:
        git(stage.workspace, "checkout", "-q", "--detach")
        await stage.submit(workspace="new", base="main")
        parked = await phase(stage, "a2", MergePhase.PARKED, MergePhase.MERGED)
        closed = await stage.until(events.WorkspaceClosed, agent="a2")
        agents = [one.agent for one in stage.daemon.board.summaries()]
    assert (parked.phase, parked.rounds) == (MergePhase.PARKED, 1)
    assert agents == ["a1", "a2"]
    assert git(stage.workspace, "show", f"{parked.branch}:work.txt") == "agent again"
    assert closed.removed, "all of it is committed on the branch"


async def test_what_a_person_asked_to_be_merged_is_left_to_that_person(tmp_path: Path) -> None:
    model = commits("agent"), say("done")
    async with house(tmp_path, *model, policy=policy(merge="propose"), completion=complete_work) as stage:
        repo = stage.workspace
        await stage.submit(workspace="new")
        (repo / "work.txt").write_text("person\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "person")
        git(repo, "checkout", "-q", "--detach")
        await phase(stage, "a1", MergePhase.PROPOSED)
        done = await stage.daemon.merging.carry_out("a1", by="ann")
        assert (done.phase, done.rounds) == (MergePhase.PARKED, 0)
        assert [one.agent for one in stage.daemon.board.summaries()] == ["a1"]


async def test_a_merge_whose_agent_is_stopped_before_it_was_resolved_is_parked_again(tmp_path: Path) -> None:
    model = commits("agent"), say("done"), bash("until [ -e never ]; do sleep 0.05; done")
    async with house(tmp_path, *model, policy=policy(merge="auto"), completion=complete_work) as stage:
        repo = stage.workspace
        await stage.submit(workspace="new")
        (repo / "work.txt").write_text("person\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "person")
        git(repo, "checkout", "-q", "--detach")
        await phase(stage, "a1", MergePhase.RESOLVING)
        await stage.until(events.ReviewMade, agent="a2")
        await stage.daemon.request(events.StopRequested(**stage.stamp("a2"), by="ann", force=True))
        left = "a2, which was to resolve it, is stopped"
        parked = await stage.until(MergeChanged, lambda event: left in event.merge.why, "a1")
        await stage.until(events.WorkspaceClosed, agent="a2")
    assert parked.merge.phase is MergePhase.PARKED
    assert git(repo, "show", f"{parked.merge.branch}:work.txt") == "agent"
