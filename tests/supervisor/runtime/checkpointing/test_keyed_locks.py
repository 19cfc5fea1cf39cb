"""Locks by key."""

import anyio
import pytest

from supervisor.runtime.checkpointing.keyed_locks import KeyedLocks


async def test_one_key_is_held_once_and_another_meanwhile() -> None:
    locks, seen, free = KeyedLocks(), list[str](), anyio.Event()

    async def hold(key: str, name: str) -> None:
        async with locks.of(key):
            seen.append(name)
            if name != "other":
                await free.wait()

    async with anyio.create_task_group() as tasks:
        for key, name in (("a", "first"), ("a", "second"), ("b", "other")):
            tasks.start_soon(hold, key, name)
        await anyio.wait_all_tasks_blocked()
        assert seen == ["first", "other"]
        assert len(locks) == 1
        free.set()
    assert seen == ["first", "other", "second"]
    assert len(locks) == 0


async def test_one_who_gives_up_waiting_leaves_the_lock_to_its_holder() -> None:
    locks, gave_up = KeyedLocks(), anyio.Event()

    async def give_up() -> None:
        with anyio.CancelScope() as waiting:
            tasks.start_soon(cancel, waiting)
            async with locks.of("a"):
                pytest.fail("it was held")
        gave_up.set()

    async def cancel(waiting: anyio.CancelScope) -> None:
        await anyio.wait_all_tasks_blocked()
        waiting.cancel()

    async with anyio.create_task_group() as tasks, locks.of("a"):
        tasks.start_soon(give_up)
        await gave_up.wait()
        assert len(locks) == 1
    assert len(locks) == 0
