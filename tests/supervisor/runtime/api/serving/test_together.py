"""One run of some work for all who asked before it began."""

import anyio
import pytest

from supervisor.runtime.api.serving.together import Together


class Work:
    """Counts its runs; each lasts until it is let go."""

    def __init__(self) -> None:
        self.runs = 0
        self.go_on = anyio.Event()

    async def __call__(self) -> int:
        self.runs += 1
        run = self.runs
        await self.go_on.wait()
        return run


async def test_those_who_ask_while_a_run_goes_on_share_the_next() -> None:
    """What it gives would be older than their question."""
    work, got = Work(), list[int]()
    together = Together(work, 0.0, lambda: 0.0)

    async def ask() -> None:
        got.append(await together.get())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        for _ in range(10):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert work.runs == 1
        work.go_on.set()
    assert sorted(got) == [1] + [2] * 10


async def test_one_who_gives_up_leaves_the_others_an_answer() -> None:
    work, got = Work(), list[int]()
    together = Together(work, 0.0, lambda: 0.0)

    async def ask() -> None:
        got.append(await together.get())

    async def give_up(scope: anyio.CancelScope) -> None:
        with scope:
            await together.get()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        scope = anyio.CancelScope()
        tasks.start_soon(give_up, scope)  # who would lead the next run
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
        work.go_on.set()
    assert got == [1, 2]


async def test_a_run_that_fails_is_told_to_who_led_it_and_done_again_for_the_others() -> None:
    runs = 0

    async def work() -> int:
        nonlocal runs
        runs += 1
        await anyio.lowlevel.checkpoint()
        if runs == 1:
            raise ValueError("the first")
        return runs

    together, got = Together(work, 0.0, lambda: 0.0), list[object]()

    async def ask() -> None:
        try:
            got.append(await together.get())
        except ValueError as error:
            got.append(str(error))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(ask)
    assert sorted(got, key=str) == [2, 2, "the first"]


async def test_between_two_runs_is_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 50.0
    slept = []

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept.append(seconds)

    async def work() -> float:
        return now

    monkeypatch.setattr("supervisor.runtime.api.serving.together.anyio.sleep", sleep)
    together = Together(work, 0.25, lambda: now)
    assert [await together.get() for _ in range(3)] == [50.0, 50.25, 50.5]
    now += 9
    assert await together.get() == 59.5
    assert slept == [0.0, 0.25, 0.25, 0.0]
