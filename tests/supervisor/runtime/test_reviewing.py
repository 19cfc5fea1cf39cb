import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from supervisor.protocol.actions import Action, Context, Review
from supervisor.runtime.clock import Clock
from supervisor.runtime.reviewing import ReviewDeadlineError, WatchedReviewer
from tests.play import ALLOW

ACTION, CONTEXT = Action("Bash", {"command": "ls"}), Context(None)


@dataclass
class Doing:
    """A reviewer that does something, and then allows."""

    do: Callable[[], object]

    def review(self, action: Action, context: Context) -> Review:  # noqa: ARG002 - the protocol's
        self.do()
        return ALLOW


def burn() -> None:
    while True:
        sum(range(1000))


def burn_and_catch() -> None:
    """What a plug-in with a broad `except` does: it goes on when it is told to end, at first."""
    try:
        burn()
    except Exception:  # noqa: BLE001
        burn()


def watched(do: Callable[[], object], deadline: float = 0.05, longest: float = 10.0) -> Review:
    return WatchedReviewer(Doing(do), Clock(), deadline, longest).review(ACTION, CONTEXT)


def test_a_review_is_given_back_with_the_time_it_took() -> None:
    review = watched(lambda: None)
    assert review.decision == ALLOW.decision
    assert review.micros >= 0


@pytest.mark.parametrize("do", [burn, burn_and_catch])
def test_a_review_that_uses_up_its_processor_time_is_ended(do: Callable[[], None]) -> None:
    with pytest.raises(ReviewDeadlineError, match=r"more than 0\.05 s of processor time"):
        watched(do)


def test_a_review_that_waits_is_ended_by_the_clock() -> None:
    with pytest.raises(ReviewDeadlineError, match=r"more than 0\.1 s on the clock"):
        watched(lambda: time.sleep(30), longest=0.1)


def test_what_a_reviewer_raises_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 / 0)


def test_signals_and_timers_are_afterwards_as_they_were() -> None:
    """Among them the time limit of this very test."""
    before = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGVTALRM)
    limited = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    with pytest.raises(ReviewDeadlineError):
        watched(burn)
    assert (signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGVTALRM)) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == limited


def test_the_deadline_is_each_reviews_own() -> None:
    for _ in range(5):
        watched(lambda: sum(range(100_000)), deadline=0.5)
