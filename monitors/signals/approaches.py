"""Approaches that a run which is stuck has not tried, by the way in which it is stuck."""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple


class Stuck(StrEnum):
    """How a run is stuck."""

    IN_VAIN = "in_vain"
    """Attempts that the tests say are no better."""
    UNTESTED = "untested"
    """One file changed over and over, and nothing tried out."""
    NOTHING_NEW = "nothing_new"
    """Nothing new read, tried or written."""


class Approach(NamedTuple):
    """Another way to work, with a name that people and statistics can use."""

    name: str
    advice: str
    """The advice, as a sentence to the agent."""


_SMALLEST = Approach("smallest_case", "Write the smallest case that shows the fault, run it alone, and work on that.")
_LAST_GOOD = Approach("last_good_state", "Go back to the last state that passed, and put your changes back one by one.")
_MEASURE = Approach(
    "measure", "Print what the code really does at the place where it goes wrong, before you change it."
)
_OTHER_CAUSE = Approach("other_cause", "List three other causes, and try the cheapest to rule out first.")
_RUN_TESTS = Approach(
    "run_tests", "Run the tests now, or the program itself, and read what they say before any change."
)
_READ_DIFF = Approach("read_the_diff", "Read the whole difference that you made, and take out what you cannot explain.")
_ELSEWHERE = Approach("look_elsewhere", "Look where you did not look: the callers, the configuration, the history.")
_HAND_OVER = Approach("hand_over", "Say what you know, what you ruled out and what you need, and end your turn.")

APPROACHES: dict[Stuck, tuple[Approach, ...]] = {
    Stuck.IN_VAIN: (_SMALLEST, _LAST_GOOD, _MEASURE, _OTHER_CAUSE, _HAND_OVER),
    Stuck.UNTESTED: (_RUN_TESTS, _READ_DIFF, _SMALLEST, _HAND_OVER),
    Stuck.NOTHING_NEW: (_ELSEWHERE, _OTHER_CAUSE, _MEASURE, _HAND_OVER),
}
"""The likeliest to help first; the last hands the work to a person."""


def another(stuck: Stuck, named: Collection[str]) -> Approach:
    """Return the first approach that was not named yet, and the last one if all were."""
    ways = APPROACHES[stuck]
    return next((way for way in ways if way.name not in named), ways[-1])
