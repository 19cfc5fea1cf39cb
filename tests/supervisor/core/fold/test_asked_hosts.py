"""Hosts that an agent was refused wait for a person, and are in the state that a journal gives back."""

from typing import Any

from supervisor.core.fold.asked_hosts import AGAIN_SECONDS, KEPT_SECONDS, MOST, AskedHosts
from supervisor.protocol import events
from tests.stages.session import Play

HOST = "example.org:443"


def refused(host: str = HOST, at: float = 0.0, id_: str = "host-1") -> events.HostRefused:
    return events.HostRefused(agent="a1", at=at, mono=at, id=id_, host=host, why="it is not among the hosts")


def asked(*seen: events.AnyEvent) -> AskedHosts:
    hosts = AskedHosts()
    for event in seen:
        hosts.remember(event)
    return hosts


def test_one_waits_for_an_hour_after_the_agent_last_asked_and_keeps_its_id() -> None:
    hosts = asked(refused())
    assert (hosts.id_for(HOST, 1.0, "fresh"), hosts.id_for("other:443", 1.0, "fresh")) == ("", "fresh")
    assert hosts.id_for(HOST, AGAIN_SECONDS, "fresh") == "host-1"
    hosts.remember(refused(at=AGAIN_SECONDS))
    assert [one.id for one in hosts.waiting(KEPT_SECONDS)] == ["host-1"]
    assert hosts.waiting(AGAIN_SECONDS + KEPT_SECONDS) == []
    assert hosts.find("host-1", KEPT_SECONDS) is not None
    assert hosts.find("host-1", AGAIN_SECONDS + KEPT_SECONDS) is None


def test_one_that_a_person_turned_down_is_noted_no_more_and_one_that_is_opened_waits_no_more() -> None:
    denied: dict[str, Any] = {"agent": "a1", "at": 1.0, "mono": 1.0, "by": "ann"}
    hosts = asked(refused(), refused("b:443", id_="host-2"), events.HostDenied(**denied, host=HOST))
    assert [one.host for one in hosts.waiting(1.0)] == ["b:443"]
    assert hosts.id_for(HOST, KEPT_SECONDS * 9, "fresh") == ""
    hosts.remember(events.AllowanceGiven(**denied, id="w-1", tool="host", text="b:443"))
    assert hosts.waiting(1.0) == []


def test_an_agent_cannot_fill_the_list_or_the_journal() -> None:
    hosts = AskedHosts()
    for number in range(MOST):
        hosts.remember(refused(f"h{number}:443", id_=hosts.id_for(f"h{number}:443", 0.0, f"host-{number}")))
    assert hosts.id_for("one-more:443", 0.0, "fresh") == ""
    assert hosts.id_for("one-more:443", KEPT_SECONDS, "fresh") == "fresh"
    hosts.remember(refused("one-more:443", at=KEPT_SECONDS))
    assert len(hosts.waiting(0.0)) == 1, "those of before are forgotten"


def test_the_summary_has_them_until_one_is_answered() -> None:
    play = Play().running()
    for number, host in enumerate((HOST, "b:443"), 1):
        play.feed(events.HostRefused(**play.stamp(), id=f"host-{number}", host=host, why="so"))
    assert play.session is not None
    assert [one.host for one in play.session.summary.hosts] == [HOST, "b:443"]
    play.feed(events.HostDenied(**play.stamp(), host=HOST, by="ann"))
    assert [(one.request_id, one.host) for one in play.session.summary.hosts] == [("host-2", "b:443")]
    play.feed(events.AllowanceGiven(**play.stamp(), id="w-1", by="ann", tool="host", text="b:443"))
    assert play.session.summary.hosts == []
