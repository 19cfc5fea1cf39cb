"""Turns of captures, without captures."""

import anyio
import anyio.lowlevel

from supervisor.runtime.checkpointing.capture_turns import OLDEST_EVERY, CaptureTurns


async def test_who_is_waited_for_is_next_and_the_others_follow_in_their_order() -> None:
    asked, order, let_go = {"c"}, list[str](), anyio.Event()
    turns = CaptureTurns(1, lambda agent: agent in asked)

    async def capture(agent: str) -> None:
        async with turns.of(agent):
            order.append(agent)
            await let_go.wait()

    async with anyio.create_task_group() as tasks:
        for agent in "abcd":
            tasks.start_soon(capture, agent)
        await anyio.wait_all_tasks_blocked()
        assert order == ["a"]
        asked.add("d")  # while it waits
        let_go.set()
    assert order == ["a", "c", "d", "b"]


async def test_one_that_no_call_waits_for_has_its_turn_while_calls_come_without_end() -> None:
    order = list[str]()
    turns = CaptureTurns(1, lambda agent: agent != "ended")

    async def capture(agent: str, times: int) -> None:
        for _ in range(times):
            async with turns.of(agent):
                order.append(agent)
                await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for agent, times in (("a", 50), ("b", 50), ("ended", 1)):
            tasks.start_soon(capture, agent, times)
    assert order.index("ended") <= OLDEST_EVERY


async def test_so_many_go_on_at_once_and_no_turn_is_lost_with_one_that_gives_up() -> None:
    turns, at_once, most, let_go = CaptureTurns(2, lambda _: False), 0, 0, anyio.Event()

    async def capture() -> None:
        nonlocal at_once, most
        async with turns.of("a"):
            at_once += 1
            most = max(most, at_once)
            await let_go.wait()
            at_once -= 1

    async with anyio.create_task_group() as tasks, anyio.create_task_group() as given_up:
        tasks.start_soon(capture)
        tasks.start_soon(capture)
        await anyio.wait_all_tasks_blocked()
        given_up.start_soon(capture)
        given_up.start_soon(capture)
        await anyio.wait_all_tasks_blocked()
        let_go.set()  # the turns are given back in the round of the loop in which these two are cancelled
        given_up.cancel_scope.cancel()
    with anyio.fail_after(5):
        async with turns.of("a"), turns.of("b"):
            pass
    assert most == 2
