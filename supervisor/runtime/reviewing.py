"""The reviewer as the daemon runs it: timed, and with an end to its patience.

A reviewer is pure and quick; a plug-in may not be. Its deadline counts the processor time that it uses, not the wall
clock: under load honest reviews take longer on the wall, and a deadline there would block honest work.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from supervisor.protocol.actions import Action, Context, Review, Reviewer
from supervisor.protocol.errors import ChaperonError
from supervisor.runtime.clock import Clock

DEADLINE_SECONDS = 2.0
"""Processor seconds a review may use: ten thousand times the usual fraction of a millisecond."""


class ReviewDeadlineError(ChaperonError):
    """A review used more processor time than it may; the action is blocked."""

    def __init__(self, seconds: float) -> None:
        """Say how much it may use."""
        super().__init__(f"the review used more than {seconds:g} s of processor time and was ended")


class WatchedReviewer:
    """Asks another reviewer, notes how long it took, and ends it when it takes too long.

    Args:
        reviewer: Does the reviewing.
        clock: Tells the time that reviews take.
        deadline_seconds: Processor seconds that one review may use.
    """

    def __init__(self, reviewer: Reviewer, clock: Clock, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._reviewer = reviewer
        self._clock = clock
        self._deadline_seconds = deadline_seconds

    def review(self, action: Action, context: Context) -> Review:
        """Review the action.

        Raises:
            ReviewDeadlineError: It took too long. Whatever else the reviewer raises comes through as well.
        """
        started = self._clock.mono()
        with _deadline(self._deadline_seconds):
            review = self._reviewer.review(action, context)
        return replace(review, micros=round((self._clock.mono() - started) * 1e6))


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise ReviewDeadlineError inside the block once it has used so much processor time.

    Signals are handled by the main thread alone; elsewhere, as in tests, there is no deadline.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(_number: int, _frame: FrameType | None) -> None:
        raise ReviewDeadlineError(seconds)

    before = signal.signal(signal.SIGVTALRM, expired)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
