"""A start with what there is of snapshot and archive, against one that folds the whole journal."""

import contextlib
import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import anyio
import anyio.to_thread
import pytest

from host.durable import Disk, RealDisk
from monitors.contract.errors import ChaperonError
from supervisor.config.paths import StatePaths
from supervisor.core.board import Board
from supervisor.core.registers.past import OF_ONE_SESSION
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.runtime.daemon.summary_json import written
from supervisor.runtime.journal.base import BASE_STATE_NAME, BaseDamagedError
from supervisor.runtime.journal.cutting import base_for
from supervisor.runtime.journal.past_agents import PastAgents
from supervisor.runtime.journal.reader import list_segments, read_records
from supervisor.runtime.state_files import FOLDS, StateFiles
from tests.faults import FaultyDisk
from tests.simulation.world import World
from tests.stages.session import Play

MakeSession = Callable[[events.TaskSubmitted], Session]

RECORDED = Path(__file__).parents[2] / "recordings" / "journal"


def places_in(directory: Path) -> StatePaths:
    (directory / "state").mkdir(parents=True)
    return StatePaths(directory / "state", directory / "run")


def known(places: StatePaths, make: MakeSession) -> dict[str, Any]:
    """All that a daemon knows that starts with these files, as JSON."""
    board = Board(make)
    opened = StateFiles(places).open(board, PastAgents())
    opened.journal.close()
    assert board.failed == {}
    return {
        "agents": [json.loads(written(one)) for one in board.summaries()],
        "live": sorted(session.summary.agent for session in board.live()),
        "metrics": _sorted(opened.metrics.as_json()),
        "costs": [round(board.costs.cost_usd, 6), board.costs.tokens],
        "problem": opened.problem,
        **{name: getattr(board, name).as_json() for name in FOLDS},
    }


SINCE_THE_START = ("chaperon_intervention_act_seconds", "chaperon_intervention_escalations_total")
"""Metrics that are of interventions between whose events no daemon began."""


def _sorted(counts: dict[str, Any]) -> dict[str, Any]:
    """Counters, and counts of histograms: their sums are of floats, which are added in another order."""
    return {
        kind: {
            name: sorted(json.dumps(one[:2]) for one in each)
            for name, each in some.items()
            if name not in SINCE_THE_START
        }
        for kind, some in counts.items()
    }


async def _live_on(
    places: StatePaths, make: MakeSession, happened: Sequence[events.AnyEvent], snapshots: set[int]
) -> None:
    """Start with what is there, let this happen, and take snapshots behind some of the events."""
    board = Board(make)
    files = StateFiles(places)
    opened = await anyio.to_thread.run_sync(files.open, board, PastAgents())
    for number, event in enumerate(happened):
        seq = opened.journal.append(event)
        opened.metrics.saw(seq, event)
        board.remember(seq, event)
        if number in snapshots:
            board.settle()
            await files.take_snapshot(opened.journal, board, opened.metrics)
    await opened.journal.synced(opened.journal.last)
    await anyio.to_thread.run_sync(opened.journal.close)


def live_on(*arguments: Any) -> None:
    """See `_live_on`."""
    anyio.run(_live_on, *arguments)


def damage(places: StatePaths, rng: Random) -> str:
    """Do what a crash, a disk or a person may do to snapshot and archive."""
    how = rng.choice(["whole", "no snapshot", "no archive", "cut", "flipped", "an old snapshot"])
    if how == "no snapshot":
        places.snapshot.unlink(missing_ok=True)
    elif how == "no archive":
        places.archive.unlink(missing_ok=True)
    elif how in ("cut", "flipped") and places.archive.exists() and (data := bytearray(places.archive.read_bytes())):
        place = rng.randrange(len(data))
        data[place] ^= 1 << rng.randrange(8)
        places.archive.write_bytes(data if how == "flipped" else data[:place])
    if rng.random() < 0.3:
        places.snapshot.unlink(missing_ok=True)
    return how


async def _live_on_and_cut(
    places: StatePaths, make: MakeSession, happened: Sequence[events.AnyEvent], cuts: set[int], disk: Disk
) -> int:
    """Let this happen in a journal of small files, and cut it behind some of the events; how many files went."""
    board, removed = Board(make), 0
    files = StateFiles(places, disk, segment_bytes=6_000)
    opened = await anyio.to_thread.run_sync(files.open, board, PastAgents())
    try:
        for number, event in enumerate(happened):
            seq = opened.journal.append(event)
            opened.metrics.saw(seq, event)
            board.remember(seq, event)
            if number in cuts:
                board.settle()
                await opened.journal.synced(seq)
                removed += await files.cut(opened.journal, board, opened.metrics, math.inf, None)
    finally:
        with contextlib.suppress(ChaperonError):
            await anyio.to_thread.run_sync(opened.journal.close)
    return removed


@pytest.mark.parametrize("seed", range(12))
def test_a_start_from_a_journal_without_its_beginning_knows_what_the_whole_one_says(tmp_path: Path, seed: int) -> None:
    rng, world = Random(f"cut {seed}"), World(seed, dice=bool(seed % 2))
    world.run()
    happened = world.journal
    whole, places, removed, end = places_in(tmp_path / "whole"), places_in(tmp_path / "cut"), 0, 0
    live_on(whole, world.make, happened, set())
    for start in range(3):
        begin, end = end, len(happened) if start == 2 else rng.randrange(end, len(happened) + 1)
        cuts = {rng.randrange(end - begin) for _ in range(3)} | {end - begin - 1} if end > begin else set()
        removed += anyio.run(_live_on_and_cut, places, world.make, happened[begin:end], cuts, RealDisk())
        damage(places, rng)
    found, known_whole = known(places, world.make), known(whole, world.make)
    assert {**found, "problem": ""} == {**known_whole, "problem": ""}
    assert removed == 0 or next(read_records(places.journal)).n > 1


@pytest.mark.slow
@pytest.mark.parametrize("landed", [0.0, 0.5])
def test_a_cut_that_ends_at_any_step_leaves_a_journal_that_says_the_same(tmp_path: Path, landed: float) -> None:
    world = World(3, dice=True)
    world.run()
    whole, before = places_in(tmp_path / "whole"), places_in(tmp_path / "before")
    live_on(whole, world.make, world.journal, set())
    anyio.run(_live_on_and_cut, before, world.make, world.journal, set(), RealDisk())
    expected = {**known(whole, world.make), "problem": ""}
    before.snapshot.unlink(missing_ok=True)
    before.archive.unlink(missing_ok=True)
    outcomes = set()
    for step in range(1, 40):
        places = places_in(tmp_path / f"step{step}")
        shutil.copytree(before.journal, places.journal)
        shutil.copy(before.state / "signing.json", places.state)
        board, files = Board(world.make), StateFiles(places, segment_bytes=6_000)
        opened = files.open(board, PastAgents())
        places.snapshot.unlink(missing_ok=True)
        files._disk = disk = FaultyDisk(step, mode="dead", landed=landed)
        anyio.run(files.cut, opened.journal, board, opened.metrics, math.inf, None)
        opened.journal.close()
        outcomes.add(disk.fired)
        assert {**known(places, world.make), "problem": ""} == expected, disk.fired
    assert {"", "write", "rename", "unlink", "sync"} <= outcomes


def test_a_journal_without_its_beginning_whose_state_is_damaged_stops_the_start_and_stays_as_it_is(
    tmp_path: Path,
) -> None:
    world = World(3, dice=True)
    world.run()
    places = places_in(tmp_path)
    removed = anyio.run(_live_on_and_cut, places, world.make, world.journal, {len(world.journal) - 1}, RealDisk())
    assert removed > 1
    places.snapshot.unlink(missing_ok=True)
    state = places.journal / BASE_STATE_NAME
    state.write_bytes(state.read_bytes()[:-9])
    kept = {path: path.read_bytes() for path in places.journal.iterdir()}
    with pytest.raises(BaseDamagedError, match="Nothing was changed"):
        known(places, world.make)
    assert {path: path.read_bytes() for path in places.journal.iterdir()} == kept


def test_records_of_live_agents_and_those_that_were_not_sent_stay(tmp_path: Path) -> None:
    world = World(3, dice=True)
    world.run()
    places = places_in(tmp_path)
    anyio.run(_live_on_and_cut, places, world.make, world.journal, set(), RealDisk())
    firsts = [segment.first for segment in list_segments(places.journal)]
    assert len(firsts) > 3
    upto = firsts[2] + 1
    base = base_for(places.journal, upto, math.inf)
    assert base is not None
    assert base.first == firsts[2]
    assert base_for(places.journal, firsts[1] - 2, math.inf) is None
    assert base_for(places.journal, 10**9, 0.0) is None


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_left_of_snapshot_and_archive_a_start_knows_what_the_whole_journal_says(
    tmp_path: Path, seed: int
) -> None:
    rng, world = Random(f"state {seed}"), World(seed, dice=bool(seed % 2))
    world.run()
    happened = world.journal[: rng.choice([len(world.journal), rng.randrange(1, len(world.journal))])]
    places, end, old = places_in(tmp_path), 0, b""
    for start in range(3):  # three lives of the daemon
        begin, end = end, len(happened) if start == 2 else rng.randrange(end, len(happened) + 1)
        due = {rng.randrange(end - begin) for _ in range(rng.randrange(4))} if end > begin else set()
        live_on(places, world.make, happened[begin:end], due)
        if how := damage(places, rng) == "an old snapshot" and old:
            places.snapshot.write_bytes(old)
        old = places.snapshot.read_bytes() if places.snapshot.exists() and rng.random() < 0.5 else old
        alone = places_in(tmp_path / f"alone{start}")
        shutil.copytree(places.journal, alone.journal)
        shutil.copy(places.state / "signing.json", alone.state)
        found, whole = known(places, world.make), known(alone, world.make)
        assert {**found, "problem": ""} == {**whole, "problem": ""}, how


def test_the_recorded_journal_with_every_kind_of_event_comes_to_the_same_with_and_without_its_archive(
    tmp_path: Path,
) -> None:
    def make(submitted: events.TaskSubmitted) -> Session:
        return Play().make(submitted)

    recorded: list[Any] = [record.event for record in read_records(RECORDED)]
    places = places_in(tmp_path)
    live_on(places, make, recorded, {len(recorded) - 1})
    places.snapshot.unlink()
    alone = places_in(tmp_path / "alone")
    shutil.copytree(places.journal, alone.journal)
    shutil.copy(places.state / "signing.json", alone.state)
    assert known(places, make) == known(alone, make)


def test_a_start_that_reads_long_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("supervisor.runtime.state_files.TOLD_SECONDS", -1.0)
    recorded: list[Any] = [record.event for record in read_records(RECORDED)]
    places = places_in(tmp_path)
    live_on(places, Play().make, recorded, {len(recorded) - 1})
    places.snapshot.unlink()
    caplog.clear()
    with caplog.at_level("INFO", "chaperon"):
        known(places, Play().make)
    said = [one.getMessage() for one in caplog.records if "reading" in one.getMessage()]
    assert said[0] == f"reading the journal: event 1 of {len(recorded):,}"


@pytest.mark.parametrize("seed", [3, 4])
def test_with_the_archive_a_start_makes_no_session_and_decodes_few_lines_of_those_who_ended(
    tmp_path: Path, seed: int
) -> None:
    world = World(seed, dice=False)
    world.run()
    places, made = places_in(tmp_path), list[str]()

    def make(submitted: events.TaskSubmitted) -> Session:
        made.append(submitted.agent)
        return world.make(submitted)

    live_on(places, make, world.journal, {len(world.journal) - 1})
    assert made
    made.clear()
    places.snapshot.unlink()
    known(places, make)
    assert made == []
    of_sessions = sum(event.kind in OF_ONE_SESSION for event in world.journal)
    assert of_sessions > len(world.journal) / 3


def test_an_archive_of_another_journal_is_believed_of_nobody(tmp_path: Path) -> None:
    one, other = World(5, dice=False), World(6, dice=False)
    one.run()
    other.run()
    places, alone = places_in(tmp_path / "one"), places_in(tmp_path / "alone")
    live_on(places, one.make, one.journal, {len(one.journal) - 1})
    shutil.rmtree(places.journal)
    later = [replace(event, at=event.at + 1) for event in other.journal]
    live_on(alone, other.make, [*later, *later[-1:] * len(one.journal)], set())
    shutil.copytree(alone.journal, places.journal)
    shutil.copy(alone.state / "signing.json", places.state)
    places.snapshot.unlink()
    found = known(places, other.make)
    assert found["agents"] == known(alone, other.make)["agents"]


def test_a_way_back_that_was_taken_is_told_once_however_often_the_daemon_starts(tmp_path: Path) -> None:
    """While an older agent lives, its event is read again at each start, and was noted again."""
    ended = [event for event in World(5, dice=False).run().journal if event.agent == "a0"]
    older = replace(ended[0], agent="older")
    taken = events.RecoveryTaken(
        agent="a0", at=ended[-1].at, mono=ended[-1].mono, incident_id="i1", option="fresh", by="ann"
    )
    happened = [older, *ended, taken]
    places = places_in(tmp_path)
    live_on(places, World(5, dice=False).make, happened, {len(happened) - 1})
    for _ in range(2):
        (summary,) = [one for one in known(places, World(5, dice=False).make)["agents"] if one["agent"] == "a0"]
        assert len(summary["recovered"]) == 1
