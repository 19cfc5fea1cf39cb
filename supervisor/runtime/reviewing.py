"""The reviewer as the daemon runs it: timed, and with an end to its patience.

A reviewer is pure and quick; a plug-in may not be. Its deadline counts the processor time that it uses, not the wall
clock: under load honest reviews take longer on the wall, and a deadline there would block honest work. One that waits
for something uses no processor time, so there is a second deadline on the wall, far behind what load can explain.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from monitors.review import NoFacts, make_reviewer
from monitors.review.own import OwnRule, OwnRules
from supervisor.config.model import Config
from supervisor.protocol.actions import Action, Context, Review, Reviewer
from supervisor.protocol.errors import ChaperonError
from supervisor.runtime.clock import Clock
from supervisor.runtime.facts import FileFacts
from supervisor.runtime.settings import review_settings

DEADLINE_SECONDS = 2.0
"""Processor seconds a review may use: ten thousand times the usual fraction of a millisecond."""


LONGEST_SECONDS = 10.0
"""Seconds on the wall a review may take: nothing else happens in the daemon meanwhile, so it is less than the 20 s and more that
service managers wait for a heartbeat."""

AGAIN_SECONDS = 0.1
"""A reviewer that catches the end of its time, as `except Exception` does, is told again and again."""


class ReviewDeadlineError(ChaperonError):
    """A review took more time than it may; the action is blocked."""

    def __init__(self, seconds: float, of: str) -> None:
        """Say how much it may take, and of what."""
        super().__init__(f"the review took more than {seconds:g} s {of} and was ended")


class WatchedReviewer:
    """Asks another reviewer, notes how long it took, and ends it when it takes too long.

    Args:
        reviewer: Does the reviewing.
        clock: Tells the time that reviews take.
        deadline_seconds: Processor seconds that one review may use.
        longest_seconds: Seconds that it may take on the wall.
    """

    def __init__(
        self,
        reviewer: Reviewer,
        clock: Clock,
        deadline_seconds: float = DEADLINE_SECONDS,
        longest_seconds: float = LONGEST_SECONDS,
    ) -> None:
        self._reviewer = reviewer
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._longest_seconds = longest_seconds

    def review(self, action: Action, context: Context) -> Review:
        """Review the action.

        Raises:
            ReviewDeadlineError: It took too long. Whatever else the reviewer raises comes through as well.
        """
        started = self._clock.mono()
        others = signal.getitimer(signal.ITIMER_REAL)
        try:
            with _deadline(self._deadline_seconds, self._longest_seconds):
                review = self._reviewer.review(action, context)
        finally:
            _disarm(others)  # once more: a deadline can fall into the very moment in which the timers are being stopped
        return replace(review, micros=round((self._clock.mono() - started) * 1e6))


def make_gate_reviewer(config: Config, clock: Clock, *, strict: bool = False) -> WatchedReviewer:
    """The reviewer that the gate, the socket and the command line share, so that all give the same answer.

    Args:
        config: The user's settings and rules.
        clock: Tells the time that reviews take.
        strict: Nothing is in a workspace, nothing is reversible, and nothing of this machine is looked up.
    """
    settings = review_settings(config)
    if strict:
        inner = make_reviewer(replace(settings, profile="strict"), NoFacts())
    else:
        inner = make_reviewer(settings, FileFacts())
    rules = [OwnRule(rule.name, rule.tool, rule.match, rule.decision, rule.reason) for rule in config.rules]
    return WatchedReviewer(OwnRules(rules, inner), clock)


@contextmanager
def _deadline(seconds: float, longest_seconds: float) -> Iterator[None]:
    """Raise ReviewDeadlineError inside the block once it has used so much processor time, or taken so long.

    Signals are handled by the main thread alone; elsewhere, as in tests, there is no deadline.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGVTALRM:
            raise ReviewDeadlineError(seconds, "of processor time")
        raise ReviewDeadlineError(longest_seconds, "on the clock")

    others = signal.getitimer(signal.ITIMER_REAL)
    before = {number: signal.signal(number, expired) for number in (signal.SIGVTALRM, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, longest_seconds, AGAIN_SECONDS)
    try:
        yield
    finally:
        _disarm(others)
        for number, handler in before.items():
            signal.signal(number, handler)


def _disarm(others: tuple[float, float]) -> None:
    """Stop both timers; the clock's is given back to whoever had it, as a test's time limit may."""
    if threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, *others)
