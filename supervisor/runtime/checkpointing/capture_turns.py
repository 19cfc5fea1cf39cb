"""Turns of captures: so many at once, and next the one whose agent waits for an answer.

A call that changes something waits for each capture of its workspace that is due. A thousand agents that begin or end
together want a thousand captures; in the order in which they were wanted, a call waited four seconds for its own.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

OLDEST_EVERY = 8
"""Of so many turns one goes to the oldest: as long as calls come faster than captures, the end of an agent, which none
waits for, would not be captured. A call then waits an eighth longer."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A capture that waits for its turn."""

    agent: str
    given: anyio.Event = field(default_factory=anyio.Event)


class CaptureTurns:
    """Turns that are taken and given back in one event loop.

    Args:
        most: Most at once.
        is_waited_for: Whether a call of this agent waits for an answer.
    """

    def __init__(self, most: int, is_waited_for: Callable[[str], bool]) -> None:
        self._free = most
        self._is_waited_for = is_waited_for
        self._waiting: list[_Waiting] = []
        """Oldest first."""
        self._passed_on = 0

    @asynccontextmanager
    async def of(self, agent: str) -> AsyncIterator[None]:
        """Have a turn of this agent's in the block."""
        await self._take(agent)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, agent: str) -> None:
        if self._free:
            self._free -= 1
            return
        own = _Waiting(agent)
        self._waiting.append(own)
        try:
            await own.given.wait()
        except BaseException:
            if own in self._waiting:
                self._waiting.remove(own)
            else:  # it was given in the moment in which it was no longer wanted
                self._give_back()
            raise

    def _give_back(self) -> None:
        """Give the turn to the oldest that a call waits for; to the oldest if there is none, and now and then."""
        if not self._waiting:
            self._free += 1
            return
        self._passed_on += 1
        chosen = self._waiting[0]
        if self._passed_on % OLDEST_EVERY:
            chosen = next((one for one in self._waiting if self._is_waited_for(one.agent)), chosen)
        self._waiting.remove(chosen)
        chosen.given.set()
