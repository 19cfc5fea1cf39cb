"""A review stage by stage, with the time that each took: for `chaperon explain`."""

from collections.abc import Callable
from dataclasses import dataclass

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.review.reviewer import StepReviewer


@dataclass(frozen=True, slots=True)
class ReviewStage:
    """One stage of a review."""

    name: str
    """`read`, `judge`, `weigh`, `decide`, `rewrite`."""
    micros: float
    """How long it took, in microseconds, by the caller's clock."""
    lines: tuple[str, ...]
    """The results, for a person."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a review came about."""

    review: Review
    stages: tuple[ReviewStage, ...]


def explain(reviewer: StepReviewer, action: Action, context: ReviewContext, clock: Callable[[], int]) -> Explanation:
    """Review the action and keep what each stage said.

    Args:
        reviewer: as `make_reviewer` makes it; the review is the same that the gate would give.
        action: the tool call.
        context: what the review may lean on.
        clock: nanoseconds of a clock that never goes back.
    """
    stages: list[ReviewStage] = []
    last = clock()

    def note(name: str, lines: Callable[[], list[str]]) -> None:
        nonlocal last
        now = clock()
        stages.append(ReviewStage(name, (now - last) / 1000, tuple(lines())))
        last = clock()

    review = reviewer.review(action, context, note)
    return Explanation(review, tuple(stages))
