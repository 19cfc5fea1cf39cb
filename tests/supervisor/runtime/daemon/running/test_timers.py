from collections.abc import Callable

import anyio

from supervisor.runtime.daemon.running.timers import Timers
from tests import virtual_time

Fired = list[tuple[str, float]]


def play(script: Callable[[Timers], None], later: Callable[[Timers], None] | None = None) -> Fired:
    """What fired and when, after a first script at 0 s and a second at 5 s."""
    fired: Fired = []

    async def work(now: Callable[[], float]) -> None:
        async with anyio.create_task_group() as tasks:
            timers = Timers(tasks, lambda name: fired.append((name, round(now(), 3))))
            script(timers)
            await anyio.sleep(5)
            if later:
                later(timers)

    virtual_time.run(work)
    return fired


def test_a_timer_fires_once_when_its_time_has_come() -> None:
    assert play(lambda timers: timers.start("a", 3)) == [("a", 3.0)]


def test_timers_fire_in_the_order_of_their_times() -> None:
    def script(timers: Timers) -> None:
        timers.start("late", 4)
        timers.start("early", 1)

    assert play(script) == [("early", 1.0), ("late", 4.0)]


def test_a_timer_started_again_counts_from_then_and_fires_once() -> None:
    assert play(lambda timers: timers.start("a", 9), lambda timers: timers.start("a", 9)) == [("a", 14.0)]


def test_a_timer_that_is_stopped_does_not_fire() -> None:
    assert play(lambda timers: timers.start("a", 9), lambda timers: timers.stop("a")) == []


def test_a_timer_stopped_before_it_began_to_wait_does_not_fire() -> None:
    def script(timers: Timers) -> None:
        timers.start("a", 0)
        timers.stop("a")

    assert play(script) == []


def test_stopping_what_was_never_started_does_nothing() -> None:
    assert play(lambda timers: timers.stop("a")) == []


def test_a_timer_may_start_itself_again_as_it_fires() -> None:
    fired: list[float] = []

    async def work(now: Callable[[], float]) -> None:
        async with anyio.create_task_group() as tasks:

            def fire(name: str) -> None:
                fired.append(now())
                if len(fired) < 3:
                    timers.start(name, 2)

            timers = Timers(tasks, fire)
            timers.start("a", 2)

    virtual_time.run(work)
    assert fired == [2, 4, 6]


def test_the_end_of_the_task_group_is_the_end_of_every_timer() -> None:
    fired: list[str] = []

    async def work(_now: Callable[[], float]) -> None:
        async with anyio.create_task_group() as tasks:
            Timers(tasks, fired.append).start("a", 5)
            await anyio.sleep(1)
            tasks.cancel_scope.cancel()
        await anyio.sleep(10)

    virtual_time.run(work)
    assert fired == []
