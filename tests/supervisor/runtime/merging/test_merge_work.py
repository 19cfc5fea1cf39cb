"""The way of one merge onto its target: made, checked on the merged files, moved or parked."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from supervisor.protocol.events import MergeChanged
from supervisor.protocol.merges import STEPS, ConflictLevel, MergePhase
from tests.stages.branches import git, makes, phases, worked
from tests.stages.daemon import Base, served

pytestmark = pytest.mark.timeout(180)


async def test_a_check_is_made_by_the_rules_of_its_begin_whatever_is_configured_meanwhile(base: Base) -> None:
    base.config["verify"] = "test -e prepared-before"
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("made.txt"))
        programs = {when: base.root / f"{when}.sh" for when in ("before", "after")}
        for when, program in programs.items():
            program.write_text(f"#!/bin/sh\ntouch prepared-{when}\n")
            program.chmod(0o755)
        daemon.merging.work.rules = replace(daemon.merging.work.rules, set_up=str(programs["before"]))
        note = daemon.merging.work._happened

        def happened(event: Any) -> int:
            if isinstance(event, MergeChanged) and event.merge.phase is MergePhase.VERIFYING:
                daemon.merging.work.rules = replace(daemon.merging.work.rules, set_up=str(programs["after"]))
            return note(event)

        daemon.merging.work._happened = happened
        done = await daemon.merging.carry_out("a1", "ann")
    assert done.check is not None
    assert done.check.passed, done.check.output


async def test_merged_work_is_checked_on_the_merged_files_before_the_target_moves(base: Base) -> None:
    base.config |= {"verify": "test -e one.txt && test ! -e two.txt && git rev-parse HEAD && echo checked"}
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("one.txt"))
        await worked(base, daemon, "a2", makes("two.txt"))
        assert (await daemon.merging.carry_out("a1", "ann")).phase is MergePhase.MERGED
        parked = await daemon.merging.carry_out("a2", "ann")
    assert parked.phase is MergePhase.PARKED
    assert "failed with exit code 1" in parked.why
    assert not (base.repo / "two.txt").exists()
    assert git(base.repo, "show", "chaperon/a2:two.txt") == "made"
    assert not list((base.root / "workspaces").glob("*-merging/*"))


async def test_a_conflict_is_explained_and_parks_with_all_kept(base: Base) -> None:
    async with served(base) as (daemon, _):
        await worked(
            base,
            daemon,
            "a1",
            't = open("file.txt").read().replace("\\n7\\n", "\\nagent\\n"); open("file.txt", "w").write(t)',
        )
        (base.repo / "file.txt").write_text((base.repo / "file.txt").read_text().replace("\n7\n", "\nperson\n"))
        git(base.repo, "commit", "-qam", "mine")
        parked = await daemon.merging.carry_out("a1", "ann")
    assert (parked.phase, parked.level) == (MergePhase.PARKED, ConflictLevel.TEXTUAL)
    (conflict,) = parked.conflicts
    assert conflict.path == "file.txt"
    assert conflict.excerpt.splitlines()[:5] == ["<<<<<<< main", "person", "=======", "agent", ">>>>>>> chaperon/a1"]
    assert git(base.repo, "log", "-1", "--format=%s") == "mine"
    assert git(base.repo, "rev-parse", "chaperon/a1")


async def test_each_step_of_a_merge_is_one_of_the_table(base: Base) -> None:
    base.config |= {"verify": "test ! -e bad.txt"}
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("bad.txt"))
        await worked(base, daemon, "a2", makes("good.txt"))
        for agent in ("a1", "a2", "a2"):
            await daemon.merging.carry_out(agent, "ann")
        await daemon.merging.withdraw("a1", "ann")
    for agent, last in (("a1", MergePhase.WITHDRAWN), ("a2", MergePhase.MERGED)):
        took = phases(base, agent)
        assert took[-1] is last
        assert all(after in STEPS[before] for before, after in itertools.pairwise(took))


async def test_a_target_that_moves_during_the_check_has_the_merge_made_anew(base: Base) -> None:
    moves = f"git -C {base.repo} -c user.name=P -c user.email=p@x commit -q --allow-empty -m meanwhile"
    base.config |= {"verify": f"test -e {base.root}/moved || {{ touch {base.root}/moved; {moves}; }}"}
    async with served(base) as (daemon, _):
        await worked(base, daemon, "a1", makes("made.txt"))
        done = await daemon.merging.carry_out("a1", "ann")
    assert done.phase is MergePhase.MERGED, done.why
    assert phases(base).count(MergePhase.VERIFYING) == 2
    assert git(base.repo, "log", "--format=%s").split() == ["work", "meanwhile", "first"]
