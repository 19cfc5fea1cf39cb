"""Waiting for what is yet to be written."""

import anyio

from supervisor.runtime.reading.jobs import FileProgress
from supervisor.runtime.reading.progress import Follower


async def test_a_follower_wakes_when_its_record_is_written_and_not_before() -> None:
    follower, woken = Follower(), list[int]()

    async def wait(n: int) -> None:
        await follower.reach(n)
        woken.append(n)

    async with anyio.create_task_group() as tasks:
        for n in (1, 5, 6):
            tasks.start_soon(wait, n)
        for written, expected in ((1, [1]), (4, [1]), (5, [1, 5]), (9, [1, 5, 6])):
            follower.tell(FileProgress(written, 0))
            await anyio.wait_all_tasks_blocked()
            assert woken == expected


async def test_nobody_waits_once_nothing_follows() -> None:
    follower = Follower()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follower.reach, 7)
        tasks.start_soon(follower.change)
        await anyio.wait_all_tasks_blocked()
        follower.tell(FileProgress(3, 0, over=True))
    await follower.reach(99)
    await follower.change()
