"""The daemon's long work, and how far it is."""

from contextlib import ExitStack

import orjson

from supervisor.runtime.long_work import TOLD_SECONDS, LongWork
from tests.stages.daemon import Base, served, until


class Clock:
    now = 0.0

    def mono(self) -> float:
        return self.now


def test_work_is_told_of_once_it_lasts_and_until_it_is_over() -> None:
    clock = Clock()
    table = LongWork(clock)
    with table.under_way("restoring", "/w", "file") as report:
        report(3, 10)
        assert table.rows() == {}
        clock.now = TOLD_SECONDS
        assert [one.sentence for one in table.rows().values()] == ["restoring /w: 3 of 10 files, 30 %"]
    assert table.rows() == {}


async def test_the_api_tells_how_far_long_work_is_at_once_and_as_it_goes_on(base: Base) -> None:
    async with served(base) as (daemon, client):
        table = daemon.checkpoint_manager.work
        with ExitStack() as work:
            report = work.enter_context(table.under_way("capturing", "/w", "file"))
            report(64, 100)
            await until(lambda: bool(table.rows()))
            (row,) = (await client.get("/v1/work")).json()
            assert (row["what"], row["done"], row["total"]) == ("capturing", 64, 100)
            async with client.stream("GET", "/v1/work", params={"follow": "true"}) as stream:
                lines = stream.aiter_lines()
                assert orjson.loads(await anext(lines))["done"] == 64
                report(99, 100)
                assert orjson.loads(await anext(lines))["done"] == 99
                work.close()
                last = orjson.loads(await anext(lines))
                assert (last["over"], last["done"]) == (True, 99)
        assert (await client.get("/v1/work")).json() == []
