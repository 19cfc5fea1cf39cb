"""A claim that becomes true is seen, and one that does not ends the wait."""

from supervisor.runtime.waiting import LOOK_SECONDS, becomes


async def test_a_claim_is_looked_at_until_it_is_true() -> None:
    looks = iter([False, False, True])
    assert await becomes(lambda: next(looks), 10.0)
    assert list(looks) == []


async def test_a_claim_that_stays_untrue_ends_the_wait_after_one_more_look() -> None:
    looks = 0

    def untrue() -> bool:
        nonlocal looks
        looks += 1
        return False

    assert not await becomes(untrue, 2 * LOOK_SECONDS)
    assert looks == 3
