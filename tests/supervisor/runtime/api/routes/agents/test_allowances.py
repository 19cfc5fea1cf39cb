"""The routes of allowances: a host is one, or refused in words, and the gateway is told of those that hold."""

import pytest

from supervisor.protocol.events import AllowanceGiven
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.parts import granted_hosts
from tests.stages.daemon import Base, reached, served


@pytest.fixture
def base(base: Base) -> Base:
    base.cli("begin()\nwhile True:\n    hear()")
    return base


async def test_a_host_is_opened_to_an_agent_and_closed_again(base: Base) -> None:
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        path = "/v1/agents/a1/allowances"
        wanted = {"tool": "host", "text": "example.org:8080", "once": False, "seconds": 600}
        given = await client.post(path, json=wanted)
        assert given.status_code == 201, given.text
        await client.post(path, json={"tool": "Bash", "text": "git push"})
        (granted,) = granted_hosts(daemon.board, Clock(), "a1")
        assert (granted.host, granted.uses, granted.id) == ("example.org:8080", None, given.json()["id"])
        assert 0 < (granted.seconds or 0) <= 600
        for wrong in ("https://example.org/", "example.org:0", "*", ""):
            answer = await client.post(path, json={**wanted, "text": wrong})
            assert answer.status_code == 422, wrong
        assert (await client.post(path, json={**wanted, "rule": "git.force-push"})).status_code == 422
        assert (await client.delete(f"{path}/{granted.id}")).status_code == 200
        assert granted_hosts(daemon.board, Clock(), "a1") == []
    assert [one.text for one in base.events(AllowanceGiven)] == ["example.org:8080", "git push"]
