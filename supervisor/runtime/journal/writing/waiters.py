"""Coroutines and calls of one event loop that wait for what a thread does."""

import asyncio
from collections.abc import Callable


class Wakeups:
    """Wakes waiters. The thread changes something and calls `notify`; each waiter checks its own condition.

    However much the thread does, the loop is woken once for all changes until it runs. A check costs a fraction of a
    microsecond, and there is about one waiter for each agent.

    Args:
        failure: Returns the reason why nothing will change any more; None while something may.
    """

    def __init__(self, failure: Callable[[], Exception | None]) -> None:
        self._failure = failure
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None] | Callable[[], object]]] = []
        self._is_due = False

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until `reached` gives true; it must be quick, and true for ever once it is.

        Raises:
            Exception: What `failure` gives, where it never will.
        """
        while not reached():
            if (failure := self._failure()) is not None and not reached():
                raise failure.with_traceback(None)
            await self._next_change(reached)

    def call(self, reached: Callable[[], bool], do: Callable[[], object]) -> None:
        """Call `do` in the loop once `reached` gives true, or never will; not before this returns.

        A coroutine that waits runs a whole round of the loop later, which is as long as all that others have to do.

        Args:
            reached: As for `until`.
            do: Must not raise.
        """
        loop = asyncio.get_running_loop()
        self._take_over(loop)
        self._waiting.append((reached, do))
        if reached() or self._failure() is not None:  # the thread may not notify again
            loop.call_soon(self._wake)

    def notify(self) -> None:
        """Have the waiters look. Called in the thread, after the change."""
        loop = self._loop
        if loop is None or self._is_due:
            return
        self._is_due = True
        try:
            loop.call_soon_threadsafe(self._wake)
        except RuntimeError:  # the loop has ended, and with it all who waited
            self._is_due = False

    async def _next_change(self, reached: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        self._take_over(loop)
        future = loop.create_future()
        self._waiting.append((reached, future))
        # The thread may have gone on between the look before and the loop being known to it.
        if reached() or self._failure() is not None:
            future.cancel()
        else:
            await future

    def _take_over(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake in this loop from now on; none waits in another any more."""
        if loop is not self._loop:
            self._loop, self._is_due, self._waiting = loop, False, []

    def _wake(self) -> None:
        # First, so that a change behind this line wakes again.
        self._is_due = False
        failed = self._failure() is not None
        waiting, self._waiting = self._waiting, []
        still: list[tuple[Callable[[], bool], asyncio.Future[None] | Callable[[], object]]] = []
        for reached, waits in waiting:
            if isinstance(waits, asyncio.Future):
                if waits.done():
                    continue
                if failed or reached():
                    waits.set_result(None)
                else:
                    still.append((reached, waits))
            elif failed or reached():
                waits()
            else:
                still.append((reached, waits))
        self._waiting = still + self._waiting  # a call may have brought more
