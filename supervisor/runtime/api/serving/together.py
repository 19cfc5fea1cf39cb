"""Shared work: one run for all callers that requested it before it began."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class _Run(Generic[T]):
    def __init__(self) -> None:
        self.done = anyio.Event()
        self.result: list[T] = []
        """The result; empty if it was given up or failed, and each waiter asks again."""


class Together(Generic[T]):
    """Does work that several callers share. A result is never older than its request. Used from one event loop.

    Args:
        work: The work.
        every_seconds: The least time between two beginnings: a caller in between waits.
        mono: Gives the time, in seconds on a clock that is never set.
    """

    def __init__(self, work: Callable[[], Awaitable[T]], every_seconds: float, mono: Callable[[], float]) -> None:
        self._work, self._every_seconds, self._mono = work, every_seconds, mono
        self._one_at_a_time = anyio.Lock()
        self._coming: _Run[T] | None = None
        self._began = float("-inf")

    async def get(self) -> T:
        """Return what came of a run that began after this was called; raises what the work raises."""
        while True:
            run = self._coming
            if run is None:
                return await self._lead()
            await run.done.wait()
            if run.result:
                return run.result[0]

    async def _lead(self) -> T:
        run = self._coming = _Run[T]()
        try:
            async with self._one_at_a_time:
                await anyio.sleep(max(0.0, self._began + self._every_seconds - self._mono()))
                self._coming, self._began = None, self._mono()
                run.result.append(await self._work())
            return run.result[0]
        finally:
            if self._coming is run:
                self._coming = None
            run.done.set()
