"""What is done about checkpoints when nothing else is to do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from checkpoints.model import Reason
from checkpoints.retention import RetentionPolicy
from monitors.contract.tasks import Task
from supervisor.protocol import events
from supervisor.protocol.commands import Capture
from supervisor.protocol.moments import RunMoment
from supervisor.runtime.clock import Clock
from supervisor.runtime.service import run_daemon
from supervisor.runtime.services.checkpoint_upkeep import IDLE_SECONDS, SCRUB_SECONDS, TIDY_SECONDS, CheckpointUpkeep
from tests.stages.daemon import Base, served, until
from tests.stages.live import Live, live, make_repository

pytestmark = pytest.mark.slow


class Later(Clock):
    """A clock that runs ahead."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def mono(self) -> float:
        return super().mono() + self.seconds

    def wall(self) -> float:
        return super().wall() + self.seconds


@asynccontextmanager
async def staged(tmp_path: Path) -> AsyncIterator[Live]:
    """A daemon over a repository of two files, of which one never changes."""
    make_repository(tmp_path / "repo", {"a.txt": "a\n", "folder/b.txt": "b\n"})
    (tmp_path / "home").mkdir(exist_ok=True)
    async with live(tmp_path, ()) as made:
        yield made


async def capture(stage: Live, count: int = 1) -> None:
    for number in range(count):
        (stage.repo / "a.txt").write_text(f"{number}\n")
        task = Task("t-1", "do it", str(stage.repo))
        await stage.daemon.checkpoint_manager.capture(
            "a1", Capture(f"turn:{number}", Reason.TURN, RunMoment(), task, str(stage.repo))
        )


def upkeep(stage: Live, policy: RetentionPolicy, clock: Clock) -> CheckpointUpkeep:
    daemon = stage.daemon
    return CheckpointUpkeep(daemon.board, daemon.checkpoint_manager, daemon.fault, clock, policy)


async def names(stage: Live) -> list[str]:
    return [one.name for one in (await stage.daemon.checkpoint_manager.stores.all()).checkpoints]


async def test_a_workspace_that_was_just_used_is_left_alone(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await capture(stage, 5)
        await upkeep(stage, RetentionPolicy(max_count=3), Clock()).look()
        assert len(await names(stage)) == 5
        assert stage.daemon.checkpoint_manager.places


async def test_old_checkpoints_go_and_the_last_three_stay(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await capture(stage, 5)
        await upkeep(stage, RetentionPolicy(max_count=3), Later(IDLE_SECONDS + 1)).look()
        assert await names(stage) == ["a1-turn-3", "a1-turn-4", "a1-turn-5"]
        assert all(store.is_settled for store in stage.daemon.checkpoint_manager.stores.opened.values())


async def test_a_store_over_its_quota_drops_more_and_tells_once_where_that_is_not_enough(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await capture(stage, 10)
        clock = Later(IDLE_SECONDS + 1)
        kept = upkeep(stage, RetentionPolicy(max_count=100, quota_bytes=1), clock)
        for clock.seconds in (IDLE_SECONDS + 1, TIDY_SECONDS * 2):
            await kept.look()
        assert len(await names(stage)) < 10
        told = [event.incident for event in await stage.events(events.FaultSeen)]
        assert [incident.type for incident in told] == ["checkpoints_over_quota"]
        assert str(stage.repo) in told[0].summary


async def test_a_store_that_cannot_be_tidied_is_told_of_once_until_it_could_be(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await capture(stage, 5)
        clock = Later(0)
        kept = upkeep(stage, RetentionPolicy(max_count=3), clock)
        (store,) = stage.daemon.checkpoint_manager.stores.opened.values()
        objects, away = store.folder / "objects.git", tmp_path / "away"
        for broken in (True, True, True, False, True, True):
            if broken is objects.exists():
                (objects if broken else away).rename(away if broken else objects)
            clock.seconds += TIDY_SECONDS * 2
            await kept.look()
        away.rename(objects)
        told = [event.incident for event in await stage.events(events.FaultSeen)]
        assert [incident.type for incident in told] == ["checkpoints_untended"] * 2
        assert all("it only grows" in incident.way_out for incident in told)


async def test_who_is_told_of_a_store_that_was_never_packed_is_told_that_it_relies_on_the_repository(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path) as stage:
        await capture(stage, 5)
        objects = stage.repo / ".git/objects"
        objects.rename(tmp_path / "away")
        await upkeep(stage, RetentionPolicy(max_count=3), Later(TIDY_SECONDS * 2)).look()
        (tmp_path / "away").rename(objects)
        [told] = [event.incident for event in await stage.events(events.FaultSeen)]
        assert (told.type, f"rely on objects of {stage.repo}" in told.way_out) == ("checkpoints_untended", True)


async def test_a_workspace_without_an_agent_is_watched_no_longer_and_again_when_it_is_used(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await capture(stage)
        await upkeep(stage, RetentionPolicy(), Later(IDLE_SECONDS + 1)).look()
        assert not stage.daemon.checkpoint_manager.places
        await capture(stage)
        assert len(await names(stage)) == 2


async def test_a_change_that_went_unnoticed_is_told(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await capture(stage)
        place = stage.daemon.checkpoint_manager.places[str(stage.repo)]
        place.capturer.watcher.take()
        (stage.repo / "a.txt").write_text("unseen\n")
        place.capturer.watcher.take()  # the kernel's note is lost on purpose
        await upkeep(stage, RetentionPolicy(), Later(SCRUB_SECONDS + 1)).look()
        told = [event.incident for event in await stage.events(events.FaultSeen)]
        assert [(incident.type, "a.txt" in incident.summary) for incident in told] == [("capture_missed", True)]


async def test_the_end_of_the_daemon_leaves_a_checkpoint_of_each_live_workspace(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await until(lambda: bool(base.events(events.CheckpointMade)))
        (base.repo / "late.txt").write_text("late")
    last = base.events(events.CheckpointMade)[-1]
    assert (last.key, last.reason) == ("end:a1", "unattended")
    async with served(base) as (daemon, _):
        found = await daemon.checkpoint_manager.stores.find(last.name)
        assert found.tree == last.tree != base.events(events.CheckpointMade)[0].tree
