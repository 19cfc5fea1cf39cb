"""Worker threads on a machine that gives no more of them, and with work in them that would wait for ever.

A program may use up all processes of its user, or of their control group; each thread counts as one. Then
`anyio.to_thread.run_sync` raises, and whatever asked for the thread would end, the daemon with it. Foreign code in a
thread may wait for what an agent holds up: `host.cut_waits` says how, and cuts it. Other work is told if it is given
up.
"""

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from host.cut_waits import waits_cut

T = TypeVar("T")

AGAIN_SECONDS = 0.1
"""Between two tries to get a thread."""
NO_THREAD = "can't start new thread"
"""The words of `threading` if the kernel gives no thread."""


def wait_for_threads(tell: Callable[[str], object]) -> None:
    """Have `anyio.to_thread.run_sync` wait for a thread from here on, in all libraries; done once for a process.

    Waits of foreign code in these threads are cut.

    Args:
        tell: Told once each time that there is none.
    """
    run_sync = anyio.to_thread.run_sync
    if hasattr(run_sync, "waits"):
        return

    @wraps(run_sync)
    async def waiting(func: Callable[..., object], *args: Any, **options: Any) -> object:
        begun = told = False

        def begin() -> object:
            nonlocal begun
            begun = True
            with waits_cut():
                return func(*args)

        while True:
            try:
                return await run_sync(begin, **options)
            except RuntimeError as error:
                if begun or str(error) != NO_THREAD:
                    raise
            if not told:
                told = True
                tell(
                    "The kernel gives no more threads: the processes that this user may have are used up. What needs "
                    "one waits; agents' calls wait as well. See who has them: ps -eLf. To end an agent: "
                    "chaperon stop --force AGENT"
                )
            await anyio.sleep(AGAIN_SECONDS)

    waiting.waits = True  # type: ignore[attr-defined]
    setattr(anyio.to_thread, run_sync.__name__, waiting)


async def until_cancelled(work: Callable[[int], T], limiter: anyio.CapacityLimiter) -> T:
    """Do what blocks in a thread, and let it know if this is cancelled; it returns once the work has ended.

    Args:
        work: It is given a descriptor that becomes readable then.
        limiter: Bounds the threads.
    """
    stop = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    done: list[T] = []
    failed: list[Exception] = []
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_tell_when_cancelled, stop)
            try:
                done.append(await anyio.to_thread.run_sync(work, stop, limiter=limiter))
            except Exception as error:  # noqa: BLE001 - within the group it would come out as a group of errors
                failed.append(error)
            tasks.cancel_scope.cancel()
    finally:
        os.close(stop)
    await anyio.lowlevel.checkpoint_if_cancelled()  # a result that nobody waits for is none
    if failed:
        raise failed[0]
    return done[0]


async def _tell_when_cancelled(stop: int) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        os.eventfd_write(stop, 1)
