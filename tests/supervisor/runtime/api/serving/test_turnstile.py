"""Requests that only ask wait their turn."""

import anyio
import httpx
import pytest

from supervisor.runtime.api.serving.turnstile import QuestionsInTurn, Turnstile


class Time:
    """A clock that goes on as somebody sleeps."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        patch.setattr("supervisor.runtime.api.serving.turnstile.anyio.sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await anyio.lowlevel.checkpoint()

    def __call__(self) -> float:
        return self.now


async def test_some_go_through_at_once_and_then_so_many_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)
    turnstile = Turnstile(time, a_second=10, at_once=5)
    through = []
    for _ in range(25):
        await turnstile.enter()
        through.append(round(time.now - 100, 3))
    assert through[:5] == [0.0] * 5
    assert through[5:] == [round(number / 10, 3) for number in range(1, 21)]
    time.now += 3_600
    before = time.now
    for _ in range(5):
        await turnstile.enter()
    assert time.now == before, "after a pause as many go through at once, and not a whole hour's"


async def test_one_that_costs_more_is_waited_for_by_those_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)
    turnstile = Turnstile(time, a_second=10, at_once=5)
    through = []
    for _ in range(4):
        await turnstile.enter()
        turnstile.charge(4)
        through.append(round(time.now - 100, 3))
    assert through == [0.0, 0.1, 0.6, 1.1]


async def test_they_go_through_in_the_order_in_which_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    turnstile, order = Turnstile(Time(monkeypatch), a_second=10, at_once=1), list[int]()

    async def enter(number: int) -> None:
        await turnstile.enter()
        order.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(9):
            tasks.start_soon(enter, number)
            await anyio.lowlevel.checkpoint()
    assert order == sorted(order)


async def test_what_wants_something_done_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)

    async def answer(_scope: object, _receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]

    app = QuestionsInTurn(answer, Turnstile(time, a_second=1, at_once=1))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        await client.get("/v1/agents")
        for method, path, waits in (
            ("POST", "/v1/agents/a1/stop", 0.0), ("DELETE", "/v1/agents/a1/allowances/1", 0.0),
            ("POST", "/v1/review", 1.0), ("GET", "/metrics", 1.0), ("HEAD", "/", 1.0),
        ):  # fmt: skip
            before = time.now
            assert (await client.request(method, path)).status_code == 200
            assert time.now - before == pytest.approx(waits), (method, path)
