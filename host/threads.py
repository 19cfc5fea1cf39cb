"""Worker threads on a machine that gives no more of them, and with work in them that would wait for ever.

A program may use up all processes of its user, or of their control group; each thread counts as one. Then
`anyio.to_thread.run_sync` raises, and whatever asked for the thread would end, the daemon with it. Foreign code in a
thread may wait for what an agent holds up: `host.cut_waits` says how, and cuts it.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import anyio
import anyio.to_thread

from host.cut_waits import waits_cut

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
