"""Hosts that agents were refused, in the list of what waits for a person."""

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.host_requests import MOST, HostRequests
from supervisor.runtime.gateway.messages import Refused
from supervisor.runtime.parts import host_refused
from tests.stages.daemon import Base, reached, served, until

WAITS = "begin()\nwhile True:\n    hear()"
HOST = "example.org:443"


async def test_a_person_sees_them_beside_actions_and_opens_or_turns_them_down_there(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        for host in (HOST, "other.example:443", HOST, ""):
            host_refused(daemon, Refused("a1", f"CONNECT {host}", "it is not among the hosts", host))
        rows = (await client.get("/v1/approvals")).json()
        assert [(row["agent"], row["tool"], row["input"]["url"]) for row in rows] == [
            ("a1", "host", "other.example:443"),
            ("a1", "host", HOST),
        ]
        ids = {row["input"]["url"]: row["request_id"] for row in rows}
        answer = await client.post(f"/v1/agents/a1/approvals/{ids[HOST]}", json={"granted": True})
        assert answer.status_code == 200
        (given,) = base.events(events.AllowanceGiven)
        assert (given.tool, given.text, given.uses, given.seconds) == ("host", HOST, None, 3_600.0)
        said = {"granted": False, "note": "use the mirror"}
        await client.post(f"/v1/agents/a1/approvals/{ids['other.example:443']}", json=said)
        assert [each.text for each in base.events(events.SayRequested)] == ["use the mirror"]
        await until(lambda: "host_denied" in [each["type"] for each in base.incidents()])
        for host in (HOST, "other.example:443"):
            host_refused(daemon, Refused("a1", f"CONNECT {host}", "it is not among the hosts", host))
        assert (await client.get("/v1/approvals")).json() == []
        again = await client.post(f"/v1/agents/a1/approvals/{ids[HOST]}", json={"granted": True})
        assert again.status_code in (404, 409), "it was answered"


class Later(Clock):
    by = 0.0

    def mono(self) -> float:
        return super().mono() + self.by


async def test_an_agents_requests_are_bounded_and_go_with_time_and_with_the_agent(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        clock = Later()
        asked = HostRequests(daemon.board, clock)
        for number in range(50):
            asked.add("a1", f"h{number}.example:443", "no")
        assert len(asked.waiting()) == MOST
        asked.add("gone", HOST, "no")
        assert {each.agent for each in asked.waiting()} == {"a1"}
        assert asked.find("a1", "host-00000000") is None
        clock.by = 3_601.0
        assert asked.waiting() == []


async def test_an_agent_cannot_tell_which_hosts_have_one_id(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        ids = set()
        for _ in range(2):
            asked = HostRequests(daemon.board, Clock())
            asked.add("a1", HOST, "no")
            (one,) = asked.waiting()
            ids.add(one.id)
        assert len(ids) == 2


async def test_what_ended_agents_asked_for_is_forgotten_if_nobody_ever_looks(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        asked = HostRequests(daemon.board, Clock())
        for number in range(1_000):
            asked.add(f"gone{number}", HOST, "no")
        assert str(vars(asked)).count(HOST) == 1
