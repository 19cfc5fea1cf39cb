import asyncio
import threading

import anyio
import pytest

from supervisor.runtime.journal.writing.waiters import Wakeups


class Counter:
    """A number that a thread raises."""

    def __init__(self) -> None:
        self.value = 0
        self.failure: Exception | None = None
        self.wakeups = Wakeups(lambda: self.failure)

    def count_to(self, value: int) -> None:
        while self.value < value:
            self.value += 1
            self.wakeups.notify()

    async def reaches(self, value: int) -> None:
        await self.wakeups.until(lambda: self.value >= value)


@pytest.mark.parametrize("waiters", [1, 50])
def test_every_waiter_is_woken_when_its_own_number_is_reached_and_not_before(waiters: int) -> None:
    counter = Counter()
    seen: list[int] = []

    async def wait(value: int) -> None:
        await counter.reaches(value)
        assert counter.value >= value
        seen.append(value)

    async def main() -> None:
        thread = threading.Thread(target=counter.count_to, args=(waiters * 100,))
        async with anyio.create_task_group() as tasks:
            for place in range(waiters):
                tasks.start_soon(wait, (place + 1) * 100)
            await anyio.lowlevel.checkpoint()
            thread.start()
        thread.join()

    anyio.run(main)
    assert sorted(seen) == [(place + 1) * 100 for place in range(waiters)]


def test_a_failure_is_raised_by_each_that_can_not_be_reached_any_more() -> None:
    counter = Counter()
    outcomes: list[str] = []

    async def wait(value: int) -> None:
        try:
            await counter.reaches(value)
        except OSError as error:
            outcomes.append(f"{value}: {error}")
        else:
            outcomes.append(f"{value}: reached")

    def fail() -> None:
        counter.value = 1
        counter.failure = OSError("broken")
        counter.wakeups.notify()

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for value in (1, 2, 3):
                tasks.start_soon(wait, value)
            await anyio.lowlevel.checkpoint()
            await anyio.to_thread.run_sync(fail)

    anyio.run(main)
    assert sorted(outcomes) == ["1: reached", "2: broken", "3: broken"]


def test_a_loop_that_ended_before_it_was_woken_does_not_keep_the_next_from_waking() -> None:
    counter = Counter()

    async def leave_in_the_middle() -> None:
        with anyio.move_on_after(0):
            await counter.reaches(1)
        counter.wakeups.notify()  # due in a loop that ends now

    anyio.run(leave_in_the_middle)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(counter.reaches, 3)
            await anyio.lowlevel.checkpoint()
            await anyio.to_thread.run_sync(counter.count_to, 3)

    anyio.run(main)


def test_the_loop_is_woken_once_for_all_that_happened_meanwhile() -> None:
    counter = Counter()

    async def main() -> None:
        woken = 0
        loop = asyncio.get_running_loop()
        plain = loop.call_soon_threadsafe

        def counted(*args: object, **options: object) -> object:
            nonlocal woken
            woken += 1
            return plain(*args, **options)  # type: ignore[arg-type]

        loop.call_soon_threadsafe = counted  # type: ignore[assignment, method-assign]
        waiting = asyncio.ensure_future(counter.reaches(1000))
        await asyncio.sleep(0)
        counter.count_to(1000)
        await waiting
        assert woken == 1

    asyncio.run(main())


def test_a_call_is_made_once_when_its_number_is_reached_and_never_before_it_was_registered_whole() -> None:
    counter = Counter()
    made: list[int] = []

    async def main() -> None:
        counter.value = 5
        counter.wakeups.call(lambda: counter.value >= 5, lambda: made.append(5))  # reached already
        counter.wakeups.call(lambda: counter.value >= 100, lambda: made.append(counter.value))
        assert made == []
        thread = threading.Thread(target=counter.count_to, args=(1_000,))
        thread.start()
        await counter.reaches(1_000)
        thread.join()

    anyio.run(main)
    assert made[0] == 5
    assert made[1] >= 100
    assert len(made) == 2


def test_a_call_that_registers_another_loses_none() -> None:
    counter = Counter()
    made: list[str] = []

    async def main() -> None:
        def first() -> None:
            made.append("first")
            counter.wakeups.call(lambda: counter.value >= 2, lambda: made.append("third"))

        counter.wakeups.call(lambda: counter.value >= 1, first)
        counter.wakeups.call(lambda: counter.value >= 1, lambda: made.append("second"))
        counter.count_to(1)
        await anyio.wait_all_tasks_blocked()
        assert made == ["first", "second"]
        counter.count_to(2)
        await counter.reaches(2)
        await anyio.wait_all_tasks_blocked()

    anyio.run(main)
    assert made == ["first", "second", "third"]


def test_a_call_is_made_too_if_its_number_will_never_be_reached() -> None:
    counter = Counter()
    made: list[str] = []

    async def main() -> None:
        counter.wakeups.call(lambda: False, lambda: made.append("failed"))
        counter.failure = OSError("the disk failed")
        counter.wakeups.notify()
        await anyio.wait_all_tasks_blocked()
        counter.wakeups.call(lambda: False, lambda: made.append("failed before"))
        await anyio.wait_all_tasks_blocked()

    anyio.run(main)
    assert made == ["failed", "failed before"]
