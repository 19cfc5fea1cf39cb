"""Work of agents without a stored task that cannot be merged: given back in the same workspace, a bounded number of times."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from supervisor.protocol import events
from supervisor.protocol.events import MergeChanged
from supervisor.protocol.merges import Merge, MergePhase
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.processes import handed_sessions
from supervisor.runtime.service import complete_work, run_daemon
from tests.stages.branches import git
from tests.stages.daemon import Base, ended, served, until
from tests.stages.house import House, bash, house, say
from tests.supervisor.runtime.tasks.test_finished_work import commits, policy

pytestmark = pytest.mark.timeout(240)

RESOLVES = """
first = greet()
take(first)
say({"type": "system", "subtype": "init", "session_id": "stand-in", "cwd": os.getcwd(), "tools": []})
import subprocess
git = "git -c user.name=A -c user.email=a@x"
if "<<<<<<<" in first:
    subprocess.run(f"{git} merge -q main", shell=True)
else:
    while not os.path.exists(os.environ["HOME"] + "/go"):
        time.sleep(0.01)
open("work.txt", "w").write("both" if "<<<<<<<" in first else "agent")
subprocess.run(f"git add -A && {git} commit -qm work", shell=True, check=True)
done()
hear()
"""
"""A stand-in that commits what disagrees with its target, and that resolves it if it is told so."""


class Held:
    """A daemon's submission of agents that resolve merges, which is held until it is let go."""

    def __init__(self, daemon: Daemon) -> None:
        self.resolving = daemon.merging.settled.__self__  # type: ignore[attr-defined]
        self.submit, self.asked = self.resolving._submit, anyio.Event()
        self.resolving._submit = self._hold

    async def _hold(self, *_about: object) -> None:
        self.asked.set()
        await anyio.sleep_forever()

    def let_go(self) -> None:
        self.resolving._submit = self.submit


@pytest.fixture
def base(tmp_path: Path) -> Base:
    made = Base(tmp_path, {"merge": "auto", "workspaces": {"folder": str(tmp_path / "workspaces")}})
    git(made.repo, "checkout", "-qb", "main")
    git(made.repo, "commit", "-q", "--allow-empty", "-m", "first")
    made.cli(RESOLVES)
    return made


async def disagrees(base: Base, daemon: Daemon) -> Held:
    """Have an agent commit what its target disagrees with; returns once its merge is about to be given to another."""
    held = Held(daemon)
    await daemon.submit(base.submission(workspace="new"), by="test")
    (base.repo / "work.txt").write_text("person\n")
    git(base.repo, "add", "work.txt")
    git(base.repo, "commit", "-qm", "person")
    git(base.repo, "checkout", "-q", "--detach")
    (base.home / "go").touch()
    await held.asked.wait()
    return held


def resolved(base: Base) -> tuple[str, list[str]]:
    """What the target has at the end, and the phases of the first agent's merge from when it was given away."""
    phases = [str(event.merge.phase) for event in base.events(MergeChanged) if event.merge.id == "a1"]
    return git(base.repo, "show", "main:work.txt"), phases[phases.index("resolving") :]


TWICE = ["resolving", "queued", "merging", "parked", "resolving", "withdrawn"]


async def test_a_merge_whose_agent_was_not_submitted_yet_as_its_project_begins_to_go_back_is_made_anew(
    base: Base,
) -> None:
    async with served(base) as (daemon, _):
        held = await disagrees(base, daemon)
        assert daemon.board.merges.find("a1").phase is MergePhase.RESOLVING
        await daemon.merging.stand_still(str(base.repo))
        assert daemon.board.merges.find("a1").phase is MergePhase.QUEUED, "nobody would resolve it"
        held.let_go()
        daemon.merging.go_on()
        await until(lambda: "a2" in {one.id for one in daemon.board.merges.all()})
        await until(lambda: daemon.board.merges.find("a2").phase is MergePhase.MERGED)
        assert daemon.board.merges.find("a2").rounds == 1, "a round that nobody began does not count"
    assert resolved(base) == ("both", TWICE)


async def test_a_merge_whose_agent_was_not_submitted_as_the_daemon_ended_is_made_anew_by_the_next(base: Base) -> None:
    async with run_daemon(base.setup()) as daemon:
        await disagrees(base, daemon)
    async with served(base) as (daemon, _):
        await until(lambda: "a2" in {one.id for one in daemon.board.merges.all()})
        await until(lambda: daemon.board.merges.find("a2").phase is MergePhase.MERGED)
    assert resolved(base) == ("both", TWICE)


@pytest.mark.parametrize("mode", ["off", "propose"])
async def test_what_was_under_way_by_itself_waits_for_a_person_if_the_next_daemon_is_not_to_merge(
    base: Base, mode: str
) -> None:
    async with run_daemon(base.setup()) as daemon:
        await disagrees(base, daemon)
    base.config["merge"] = mode
    async with served(base) as (daemon, _):
        await until(lambda: daemon.board.merges.find("a1").phase is MergePhase.PROPOSED)
        assert daemon.board.merges.find("a1").why.startswith(f"merge.mode is {mode} now; before: the daemon ended")
        assert (await daemon.merging.carry_out("a1", "ann")).phase is MergePhase.PARKED, "a person has it tried"
        assert daemon.board.known("a2") is None


async def test_an_agent_that_has_ended_with_a_merge_has_it_until_all_is_done_at_its_end(base: Base) -> None:
    async with served(base) as (daemon, _):
        held = await disagrees(base, daemon)
        held.let_go()
        await daemon.merging.stand_still(str(base.repo))
        began = anyio.Event()
        over = daemon.merging.propose

        async def propose(agent: str) -> None:
            began.set()
            await daemon.merging.stand_still(str(base.repo))
            assert daemon.board.merges.find("a1").phase is MergePhase.RESOLVING
            await over(agent)

        daemon.merging.propose = propose  # type: ignore[method-assign]
        daemon.merging.go_on()
        await began.wait()
        await until(lambda: "a2" in {one.id for one in daemon.board.merges.all()})
        await until(lambda: daemon.board.merges.find("a2").phase is MergePhase.MERGED)


async def test_work_that_was_resolved_as_merges_were_switched_off_is_parked(base: Base) -> None:
    async with served(base) as (daemon, _):
        held = await disagrees(base, daemon)

        async def submit_and_switch_off(*about: Any) -> object:
            rules = daemon.merging.work.rules
            daemon.merging.work.rules = replace(rules, merge=replace(rules.merge, mode="off"))
            return await held.submit(*about)

        held.resolving._submit = submit_and_switch_off
        await daemon.merging.stand_still(str(base.repo))
        daemon.merging.go_on()
        await ended(daemon, "a1")
        await until(lambda: daemon.board.known("a2") is not None)
        await until(lambda: daemon.board.merges.find("a1").phase is MergePhase.PARKED)
        assert "a2 is done with it, and merge.mode is off" in daemon.board.merges.find("a1").why


async def phase(stage: House, agent: str, *phases: MergePhase) -> Merge:
    """Wait until the merge of an agent is in one of these phases."""
    changed = await stage.until(MergeChanged, lambda event: event.merge.phase in phases, agent)
    return changed.merge


@pytest.mark.real_cli
@pytest.mark.parametrize("session", ["the CLI's", "handed over", "too long to be handed over"])
async def test_a_conflict_is_resolved_in_the_same_workspace_and_in_the_session_if_it_can_be_had_and_then_merged(
    tmp_path: Path, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if too_long := session == "too long to be handed over":
        monkeypatch.setattr(handed_sessions, "MOST_BYTES", 10)
    resolve = (
        "git -c user.name=A -c user.email=a@x merge -q main || true; printf 'both\\n' > work.txt; git add -A; "
        "git -c user.name=A -c user.email=a@x commit -qm 'Merge main'"
    )
    model = commits("agent"), say("done"), bash(resolve), say("resolved")
    about = {"agent": {"own_config_dir": session != "the CLI's"}}
    async with house(tmp_path, *model, policy={**policy(merge="auto"), **about}, completion=complete_work) as stage:
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
        told, last = stage.told(), str(stage.model.requests[-1].body)
    assert merged.phase is MergePhase.MERGED, merged.why
    assert git(repo, "show", "main:work.txt") == "both"
    assert "<<<<<<< main" in told
    assert "Do the task." in last, "the conversation goes on"
    assert (second.workspace, second.branch) == (first.workspace, first.branch)
    assert (second.session_id != first.session_id) is too_long
    anew = [chosen.recovery.why for chosen in stage.events(events.RecoveryChosen)]
    assert ["refused to resume its session (No conversation found" in why for why in anew] == [True] * too_long
    assert second.task.labels == ("night",)
    assert ("a1", MergePhase.RESOLVING) in phases
    assert ("a1", MergePhase.WITHDRAWN) in phases
    assert not Path(first.workspace).exists()


@pytest.mark.real_cli
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


@pytest.mark.real_cli
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


@pytest.mark.real_cli
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
