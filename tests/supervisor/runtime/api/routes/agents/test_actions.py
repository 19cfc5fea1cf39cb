"""Hosts that agents were refused, in the list of what waits for a person."""

from supervisor.cli.output.agent_words import below_row
from supervisor.core.fold.asked_hosts import MOST
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.gateway.messages import Refused
from supervisor.runtime.parts import host_refused
from supervisor.runtime.service import run_daemon
from tests.stages.daemon import Base, client_on, reached, served

WAITS = "begin()\nwhile True:\n    hear()"
HOST = "example.org:443"
OTHER = "other.example:443"


def refuse(daemon: Daemon, *hosts: str, agent: str = "a1") -> None:
    for host in hosts:
        host_refused(daemon, Refused(agent, f"CONNECT {host}", "it is not among the hosts", host))


async def test_a_person_sees_them_beside_actions_and_opens_or_turns_them_down_there_after_a_restart_too(
    base: Base,
) -> None:
    base.cli(WAITS)
    async with run_daemon(base.setup()) as daemon, client_on(base.places.socket) as client:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        refuse(daemon, HOST, OTHER, HOST, "")
        first = (await client.get("/v1/approvals")).json()
        assert [(row["agent"], row["tool"], row["input"]["url"]) for row in first] == [
            ("a1", "host", HOST),
            ("a1", "host", OTHER),
        ]
    async with served(base) as (daemon, client):
        await reached(daemon, AgentState.RUNNING)
        assert (await client.get("/v1/approvals")).json() == first
        shown = "\n".join(below_row((await client.get("/v1/agents/a1")).json(), daemon.wall()))
        assert f"refused the host {HOST}" in shown
        assert "chaperon approve a1 ID" in shown
        ids = {row["input"]["url"]: row["request_id"] for row in first}
        answer = await client.post(f"/v1/agents/a1/approvals/{ids[HOST]}", json={"granted": True})
        assert answer.status_code == 200
        (given,) = base.events(events.AllowanceGiven)
        assert (given.tool, given.text, given.uses, given.seconds) == ("host", HOST, None, 3_600.0)
        said = {"granted": False, "note": "use the mirror"}
        await client.post(f"/v1/agents/a1/approvals/{ids[OTHER]}", json=said)
        assert [each.text for each in base.events(events.SayRequested)] == ["use the mirror"]
        assert [each.host for each in base.events(events.HostDenied)] == [OTHER]
        refuse(daemon, HOST, OTHER)
        assert (await client.get("/v1/approvals")).json() == []
        again = await client.post(f"/v1/agents/a1/approvals/{ids[HOST]}", json={"granted": True})
        assert again.status_code in (404, 409), "it was answered"


async def test_what_an_agent_asks_for_is_bounded_and_its_ids_cannot_be_foreseen(base: Base) -> None:
    base.cli(WAITS)
    async with served(base) as (daemon, client):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
            await reached(daemon, AgentState.RUNNING, name)
        refuse(daemon, *(f"h{number}.example:443" for number in range(50)), HOST)
        refuse(daemon, "h0.example:443", agent="a2")
        refuse(daemon, HOST, agent="gone")
        rows = (await client.get("/v1/approvals")).json()
        assert [row["agent"] for row in rows] == ["a1"] * MOST + ["a2"]
        assert len({row["request_id"] for row in rows}) == MOST + 1, "not even of the same host"
