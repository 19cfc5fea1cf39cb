"""The locks around the login, as the CLI takes them."""

import os
from contextlib import ExitStack
from pathlib import Path

import anyio.to_thread
import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway import login_locks
from supervisor.runtime.gateway.login_locks import LockHeldError, refreshing, take, writing
from tests.stages.daemon import until

CLOCK = Clock()


def age(path: Path, seconds: float) -> None:
    then = CLOCK.wall() - seconds
    os.utime(path, (then, then))


def test_one_that_is_held_is_not_taken_and_one_without_a_holder_is(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    first = take(lock, 60, CLOCK)
    age(lock, 50)
    with pytest.raises(LockHeldError):
        take(lock, 60, CLOCK)
    age(lock, 61)
    second = take(lock, 60, CLOCK)
    first.leave()
    assert (lock.is_dir(), first.is_ours, second.is_ours) == (True, False, True)
    second.leave()
    assert not lock.exists()


@pytest.mark.parametrize("other", [".claude/.oauth_refresh.lock", ".claude.lock"])
def test_each_of_the_two_locks_of_a_refresh_holds_it(tmp_path: Path, other: str) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / other).mkdir()
    with pytest.raises(LockHeldError), refreshing(tmp_path / ".claude", CLOCK):
        pytest.fail("it is held")
    assert {each.name for each in tmp_path.rglob("*lock")} == {Path(other).name}


async def test_a_lock_is_touched_for_as_long_as_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_locks, "TOUCH_SECONDS", 0.01)
    (tmp_path / ".claude").mkdir()
    with ExitStack() as stack:
        await anyio.to_thread.run_sync(stack.enter_context, refreshing(tmp_path / ".claude", CLOCK))
        locks = tmp_path / ".claude/.oauth_refresh.lock", tmp_path / ".claude.lock"
        made = [each.stat().st_mtime_ns for each in locks]
        await until(lambda: all(each.stat().st_mtime_ns > at for each, at in zip(locks, made, strict=True)))
        await anyio.to_thread.run_sync(stack.close)
    assert not [each for each in locks if each.exists()]


def test_a_write_waits_for_another_and_takes_over_one_that_ended_without_a_word(tmp_path: Path) -> None:
    lock = tmp_path / ".storage-write.lock"
    lock.mkdir()
    age(lock, 14.9)
    with writing(tmp_path, CLOCK):
        assert lock.is_dir()
    assert not lock.exists()


def test_a_folder_above_that_cannot_be_written_is_passed_by_as_the_cli_does(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 254)  # whose name is too long for a lock beside it
    folder.mkdir()
    with refreshing(folder, CLOCK) as held:
        assert held.is_ours
