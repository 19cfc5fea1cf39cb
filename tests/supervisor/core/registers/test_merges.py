"""Merges as a fold: the last step counts, once, and those that are over are kept up to a bound."""

from dataclasses import replace

import pytest

from monitors.contract.errors import NotFoundError
from supervisor.core.registers.merges import MOST_OVER, Merges
from supervisor.protocol.events import MergeChanged
from supervisor.protocol.merges import STEPS, Merge, MergePhase

MADE = Merge(
    id="a1", task="t-1", project="/repo", branch="chaperon/a1", base="0" * 40, target="main", phase=MergePhase.PROPOSED, why="done"
)  # fmt: skip


def changed(merge: Merge) -> MergeChanged:
    return MergeChanged(agent=merge.id, at=0.0, mono=0.0, merge=merge)


def test_the_last_step_counts_however_often_the_journal_is_read() -> None:
    merges = Merges()
    for seq, phase in ((1, MergePhase.PROPOSED), (2, MergePhase.QUEUED), (1, MergePhase.PROPOSED)):
        merges.remember(seq, changed(replace(MADE, phase=phase)))
    assert merges.find("t-1").phase is merges.find("a1").phase is MergePhase.QUEUED
    with pytest.raises(NotFoundError, match="no merge of 'a2'"):
        merges.find("a2")


def test_a_snapshot_holds_all_of_it() -> None:
    merges, again = Merges(), Merges()
    merges.remember(7, changed(MADE))
    again.restore(merges.as_json())
    assert again.all() == [MADE]
    again.remember(7, changed(replace(MADE, phase=MergePhase.MERGED)))
    assert again.find("a1").phase is MergePhase.PROPOSED


def test_merges_that_are_over_go_first_come_first_gone_and_no_other_does() -> None:
    merges = Merges()
    merges.remember(1, changed(MADE))
    for number in range(MOST_OVER + 2):
        merges.remember(number + 2, changed(replace(MADE, id=f"b{number}", phase=MergePhase.MERGED)))
    names = [one.id for one in merges.all()]
    assert len(names) == MOST_OVER + 1
    assert names[:2] == ["a1", "b2"]


def test_each_phase_that_is_not_over_can_end() -> None:
    assert set(STEPS) == set(MergePhase)
    for phase in MergePhase:
        assert phase.over == (STEPS[phase] == ())
        reached = {phase}
        while more := {after for before in reached for after in STEPS[before]} - reached:
            reached |= more
        assert phase.over or {MergePhase.MERGED, MergePhase.PARKED} <= reached


def test_the_work_of_a_task_is_awaited_until_it_is_merged_or_given_up() -> None:
    merges = Merges()
    assert not merges.awaited("t-1")
    for number, phase in enumerate((MergePhase.PROPOSED, MergePhase.PARKED, MergePhase.MERGED), 1):
        merges.remember(number, changed(replace(MADE, task="t-1", phase=phase)))
        assert merges.awaited("t-1") == (phase is not MergePhase.MERGED)
