"""Waits that grow, and end."""

from itertools import pairwise

from interventions.recovery.backoff import Backoff


def test_waits_double_up_to_the_most_and_end() -> None:
    waits = [Backoff().delay(attempt, chance=1.0) for attempt in range(1, 10)]
    assert waits == [5, 10, 20, 40, 80, 160, 320, 600, None]


def test_chance_spreads_over_the_upper_half() -> None:
    assert [Backoff().delay(3, chance) for chance in (0.0, 0.5, 1.0, 9.0)] == [10, 15, 20, 20]


def test_a_later_retry_never_comes_sooner() -> None:
    latest = [Backoff().delay(attempt, 1.0) or 0 for attempt in range(1, 9)]
    assert all(earlier <= later for earlier, later in pairwise(latest))
