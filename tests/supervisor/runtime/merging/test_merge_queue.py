"""Agents' branches on their way into their targets, by a real daemon, real git and real checks."""

import random
from contextlib import suppress

import anyio
import pytest

from host import apart
from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from supervisor.protocol.merges import MergePhase
from supervisor.runtime.merging.git_merge import MergeError
from tests.stages.branches import git, makes, phases, worked
from tests.stages.daemon import Base, ended, served, until

pytestmark = pytest.mark.timeout(180)


async def test_work_is_proposed_at_its_agents_end_and_merged_when_a_person_asks(base: Base) -> None:
    async with served(base) as (daemon, client):
        await worked(base, daemon, "a1", makes("made.txt"))
        (proposed,) = (await client.get("/v1/merges")).json()
        assert (proposed["phase"], proposed["commits"], proposed["target"]) == ("proposed", 1, "main")
        assert not (base.repo / "made.txt").exists()
        plan = (await client.post("/v1/merges/a1/plan", json={})).json()
        assert plan["paths"] == ["made.txt"]
        assert plan["checked_out"] == [str(base.repo)]
        done = (await client.post("/v1/merges/a1/carry-out", json={})).json()
    assert done["phase"] == "merged", done
    assert (base.repo / "made.txt").read_text() == "made"
    assert git(base.repo, "status", "--porcelain") in ("", "?? plan.json")
    assert git(base.repo, "log", "-1", "--format=%an|%cn|%s") == "Ada|chaperon|work"
    trailers = git(base.repo, "log", "-1", "--format=%(trailers)")
    assert trailers == f"Chaperon-Task: {proposed['task']}\nChaperon-Agent: a1"
    assert git(base.repo, "for-each-ref", "--format=%(refname)").split() == [
        "refs/chaperon/merged/a1",
        "refs/heads/main",
    ]
    assert phases(base) == ["proposed", "queued", "merging", "moving", "merged"]


@pytest.mark.slow
async def test_a_target_moves_by_itself_only_where_nobody_has_it_checked_out(base: Base) -> None:
    base.config |= {"merge": "auto"}
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("one.txt"))
        await until(lambda: phases(base)[-1] is MergePhase.PROPOSED)
        assert "has it checked out" in daemon.board.merges.find("a1").why
        git(base.repo, "branch", "next")
        await worked(base, daemon, "a2", makes("two.txt"), base="next")
        await until(lambda: phases(base, "a2")[-1] is MergePhase.MERGED)
    assert git(base.repo, "show", "next:two.txt") == "made"
    assert git(base.repo, "log", "--format=%s", "main") == "first"


async def test_a_checkout_with_changes_is_never_touched(base: Base) -> None:
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("made.txt"))
        (base.repo / "file.txt").write_text("a person writes\n")
        done = await daemon.merging.carry_out("a1", "ann")
        assert done.phase is MergePhase.PARKED
        assert f"{base.repo} has 1 change that is not committed" in done.why
        assert done.why.endswith("To have it: chaperon merge a1 --yes, once nothing there is uncommitted.")
        assert (base.repo / "file.txt").read_text() == "a person writes\n"
        assert not (base.repo / "made.txt").exists()
        git(base.repo, "checkout", "-q", "file.txt")
        assert (await daemon.merging.carry_out("a1", "ann")).phase is MergePhase.MERGED
    assert (base.repo / "made.txt").exists()


async def test_a_file_in_the_way_keeps_the_target_where_it_is(base: Base) -> None:
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("made.txt"))
        before = git(base.repo, "rev-parse", "main")
        (base.repo / "made.txt").write_text("a person's own")
        done = await daemon.merging.carry_out("a1", "ann")
    assert done.phase is MergePhase.PARKED
    assert "in the way" in done.why
    assert (base.repo / "made.txt").read_text() == "a person's own"
    assert git(base.repo, "rev-parse", "main") == before


async def test_a_branch_is_never_its_own_target(base: Base) -> None:
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("made.txt"))
        with pytest.raises(UsageError, match="is the branch of a1 itself"):
            await daemon.merging.carry_out("a1", "ann", "chaperon/a1")
    assert git(base.repo, "show", "chaperon/a1:made.txt") == "made"


async def test_a_repository_that_has_vanished_is_told_and_another_ones_merges_go_on(base: Base) -> None:
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("made.txt"))
        base.repo.rename(base.root / "elsewhere")
        with pytest.raises(MergeError, match="cannot be opened"):
            await daemon.merging.carry_out("a1", "ann")
        (base.root / "elsewhere").rename(base.repo)
        assert (await daemon.merging.carry_out("a1", "ann")).phase is MergePhase.MERGED


@pytest.mark.parametrize("name", ["packed-refs", "commondir"])
async def test_a_repository_that_an_agent_broke_ends_no_daemon_and_refuses_no_start(base: Base, name: str) -> None:
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("made.txt"))
        await daemon.merging.carry_out("a1", "ann")
    (base.repo / ".git/loop").symlink_to("loop")
    (base.repo / ".git" / name).write_bytes(b"loop/x\xff")
    base.cli("begin()\ndone()")
    async with served(base) as (daemon, client):
        with suppress(ChaperonError):  # without a repository none is taken
            await daemon.submit(base.submission(name="a2"), by="ann")
            await ended(daemon, "a2")
        assert (await client.get("/v1/health")).status_code == 200


async def test_two_branches_that_are_merged_into_one_at_once_are_both_in_it(base: Base) -> None:
    git(base.repo, "branch", "release")
    async with served(base) as (daemon, _):
        for agent in ("a1", "a2"):
            await worked(base, daemon, agent, makes(f"{agent}.txt", agent))
        async with anyio.create_task_group() as both:
            for agent in ("a1", "a2"):
                both.start_soon(daemon.merging.carry_out, agent, "ann", "release")
        ended_as = {merge.id: merge.phase for merge in daemon.merging.all()}
    assert ended_as == {"a1": MergePhase.MERGED, "a2": MergePhase.MERGED}
    assert [git(base.repo, "show", f"release:{agent}.txt") for agent in ("a1", "a2")] == ["a1", "a2"]


async def test_an_agent_on_another_ones_branch_has_nothing_to_be_merged_by_itself(base: Base) -> None:
    async with served(base) as (daemon, _):
        base.cli(f"begin()\n{makes('mine.txt')}\nwhile True:\n    hear()")
        first = await daemon.submit(base.submission(name="a1", workspace="new"), by="ann")
        base.cli("begin()\ndone()\nhear()")
        await daemon.submit(base.submission(name="a2", repository=first.workspace), by="ann")
        await ended(daemon, "a2")
        with pytest.raises(UsageError, match=r"a2 worked in .* itself and has no branch of its own"):
            await daemon.merging.carry_out("a2", "ann")
        shared = [one["agent"] for one in base.incidents() if one["type"] == "workspace_shared"]
    assert shared == ["a2"]


@pytest.mark.parametrize(
    "name", ["../../outside", "/etc/passwd", "a..b", "-f", "refs/../../x", "x.lock", "HEAD", "a b", "a\nb", "x/"]
)
async def test_a_target_whose_name_is_a_path_or_an_option_is_refused_and_nothing_is_made(base: Base, name: str) -> None:
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("one.txt"))
        refs, files = git(base.repo, "for-each-ref"), sorted(map(str, base.root.iterdir()))
        with pytest.raises(ChaperonError) as refused:
            await daemon.merging.carry_out("a1", "ann", name)
        assert refused.value.what
    assert git(base.repo, "for-each-ref") == refs
    assert sorted(map(str, base.root.iterdir())) == files


@pytest.mark.slow
async def test_texts_that_take_minutes_to_compare_hold_up_nobody_but_who_asked(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = random.Random(1)
    text = ["".join(f"{lines.randrange(50)}\n" for _ in range(200_000)) for _ in range(3)]
    (base.repo / "long.txt").write_text(text[0])
    git(base.repo, "add", "-A")
    git(base.repo, "commit", "-qm", "long")
    (base.repo.parent / "theirs.txt").write_text(text[1])
    async with served(base) as (daemon, _):
        take = f"import shutil; shutil.copy({str(base.repo.parent / 'theirs.txt')!r}, 'long.txt')"
        await worked(base, daemon, "a1", take, base="main")
        await until(lambda: phases(base) == [MergePhase.PROPOSED])
        (base.repo / "long.txt").write_text(text[2])
        git(base.repo, "commit", "-qam", "longer")
        monkeypatch.setattr(apart, "APART_SECONDS", 2.0)
        with pytest.raises(MergeError, match="took longer than 2 s"):
            await daemon.merging.plan("a1")
        assert daemon.board.merges.find("a1").phase is MergePhase.PROPOSED


async def test_a_name_that_nobody_has_is_refused_with_the_list_of_merges_and_not_of_agents(base: Base) -> None:
    async with served(base) as (daemon, _):
        base.cli("begin()\nhear()")
        await daemon.submit(base.submission(name="a1"), by="ann")
        with pytest.raises(NotFoundError) as refused:
            await daemon.merging.carry_out("nosuch", "ann")
    assert "'nosuch'" in str(refused.value)
    assert "a1" not in str(refused.value)
    assert refused.value.way_out == "chaperon merge lists what waits to be merged."
