"""Waits for the outcome of a request, by the request's id."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import anyio

from supervisor.protocol import events

Outcome = events.CheckpointMade | events.CaptureFailed | events.CheckpointRestored | events.RestoreFailed

Good = TypeVar("Good", bound=Outcome)
Bad = TypeVar("Bad", bound=Outcome)
Either = TypeVar("Either", bound=Outcome)


class ExpectedOutcome(Generic[Either]):
    """One outcome that a caller waits for."""

    def __init__(self, kinds: tuple[type[Either], ...]) -> None:
        self._kinds = kinds
        self._came = anyio.Event()
        self._found: tuple[int, Either] | None = None

    def saw(self, seq: int, event: Outcome) -> None:
        """Take the event in if it is of an expected kind; the first counts."""
        if self._found is None and isinstance(event, self._kinds):
            self._found = seq, event
            self._came.set()

    async def wait(self, seconds: float) -> tuple[int, Either] | None:
        """Return the outcome and its number in the journal; None if it did not come within so many seconds."""
        with anyio.move_on_after(seconds):
            await self._came.wait()
        return self._found


class Outcomes:
    """All awaited outcomes. They are in memory alone: a waiter does not outlive the daemon."""

    def __init__(self) -> None:
        self._expected: dict[str, Callable[[int, Outcome], None]] = {}

    @contextmanager
    def expect(self, id_: str, good: type[Good], bad: type[Bad]) -> Iterator[ExpectedOutcome[Good | Bad]]:
        """Keep what comes of the request of this id, from before it is made until the block ends."""
        expected = ExpectedOutcome[Good | Bad]((good, bad))
        self._expected[id_] = expected.saw
        try:
            yield expected
        finally:
            del self._expected[id_]

    def saw(self, seq: int, event: events.AnyEvent) -> None:
        """Check whether an event is an awaited outcome."""
        match event:
            case events.CheckpointMade(key=id_) | events.CaptureFailed(key=id_):
                pass
            case events.CheckpointRestored(intervention=id_) | events.RestoreFailed(intervention=id_):
                pass
            case _:
                return
        if (saw := self._expected.get(id_)) is not None:
            saw(seq, event)
