"""Reviews that take longer than the gate's loop may be held: they go on in another process."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

from monitors.contract.actions import Action, Review, ReviewContext
from supervisor.core import gate
from supervisor.protocol import events
from supervisor.protocol.commands import ReviewElsewhere
from supervisor.runtime.clock import Clock

Ask = Callable[[Action, ReviewContext], Awaitable[Review]]
"""Has a review made in another process; raises whatever goes wrong there."""

ANSWER_SECONDS = 60.0
"""Longest time that an answer is waited for: a review takes ten seconds at most, and a few may wait before it."""


class DeferredReviews:
    """Has reviews made in another process. Whatever fails there is a block; nothing runs unreviewed.

    Args:
        clock: Stamps what happens.
        tasks: Where answers are waited for.
        happened: Told of each review that arrives.
    """

    def __init__(self, clock: Clock, tasks: TaskGroup, happened: Callable[[events.AnyEvent], object]) -> None:
        self._ask: Ask | None = None
        self._there = anyio.Event()
        self._clock = clock
        self._tasks = tasks
        self._happened = happened

    def ask(self, ask: Ask) -> None:
        """Have reviews made there from here on; what was wanted before waits for this."""
        self._ask = ask
        self._there.set()

    def make(self, agent: str, wanted: ReviewElsewhere) -> None:
        """Have a review made; `ReviewArrived` follows."""
        self._tasks.start_soon(self._make, agent, wanted, name=f"review for {agent}")

    async def _make(self, agent: str, wanted: ReviewElsewhere) -> None:
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                await self._there.wait()
                assert self._ask is not None
                review = await self._ask(wanted.action, wanted.context)
        except Exception as error:  # noqa: BLE001 - whatever failed, a call waits for the answer
            review = gate.failed(wanted.action, error)
        stamp = self._clock.stamp(agent)
        self._happened(events.ReviewArrived(**stamp, request_id=wanted.request_id, review=review))
