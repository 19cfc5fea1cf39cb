import json

import pytest

from tests.daemons import Base, ended, served
from tests.supervisor.cli.conftest import chaperon

pytestmark = pytest.mark.anyio


async def test_the_journal_is_printed_for_people_and_as_it_is(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        told = (await chaperon("tail", "--agent", "a1")).output
        assert "allow    Bash ls" in told
        assert "a1" in told
        records = [json.loads(line) for line in (await chaperon("tail", "--json")).output.splitlines()]
        assert [record["n"] for record in records] == list(range(1, daemon.journal.last + 1))
        later = [json.loads(line)["n"] for line in (await chaperon("tail", "--json", "-n", "4")).output.splitlines()]
        assert later == [record["n"] for record in records[4:]]


async def test_incidents_are_printed_with_their_way_out(base: Base) -> None:
    base.cli("begin()\nsys.stderr.write('bad \\x1b[2J luck')\nraise SystemExit(3)")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        told = (await chaperon("incidents")).output
        assert "agent_failed" in told
        assert "claude --resume" in told
        assert "\x1b[2J" not in told
        assert json.loads((await chaperon("incidents", "--json")).output)["type"] == "agent_failed"
