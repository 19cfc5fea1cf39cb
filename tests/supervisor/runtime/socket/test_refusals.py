"""What is told of refused peers: each is counted, and a storm of them is one incident an agent and while."""

from monitors.contract.words import Severity
from supervisor.runtime.shim.credentials import Peer
from supervisor.runtime.socket.admission import RefusedPeer
from supervisor.runtime.socket.refusals import AGAIN_SECONDS, RefusedPeers


class Told:
    def __init__(self) -> None:
        self.now = 0.0
        self.incidents: list[tuple[str, Severity, str]] = []
        self.counted: list[str] = []
        self.refusals = RefusedPeers(self._fault, self.counted.append, lambda: self.now)

    def _fault(self, agent: str, _type: str, summary: str, severity: Severity, _way_out: str) -> None:
        self.incidents.append((agent, severity, summary))


OF_A1 = RefusedPeer("agent", "an agent's own process may not steer agents", Peer(7, 1000), "python3", agent="a1")


def test_a_storm_of_an_agent_is_one_incident_and_all_of_it_is_counted() -> None:
    told = Told()
    for _ in range(1_000):
        told.refusals.saw(OF_A1)
    assert len(told.incidents) == 1
    assert told.incidents[0][:2] == ("a1", Severity.HIGH)
    assert "Process 7 ('python3') of user 1000, which belongs to agent a1," in told.incidents[0][2]
    assert told.counted == ["agent"] * 1_000


def test_after_a_while_it_is_told_again_with_what_was_not_told() -> None:
    told = Told()
    for _ in range(5):
        told.refusals.saw(OF_A1)
    told.now = AGAIN_SECONDS
    told.refusals.saw(OF_A1)
    assert len(told.incidents) == 2
    assert "it happened 4 more times" in told.incidents[1][2]


def test_one_agents_storm_hides_no_other_agent_and_no_other_reason() -> None:
    told = Told()
    told.refusals.saw(OF_A1)
    told.refusals.saw(RefusedPeer("agent", "", Peer(8, 1000), agent="a2"))
    told.refusals.saw(RefusedPeer("unknown", "", Peer(9, 1000)))
    told.refusals.saw(RefusedPeer("full", "", Peer(9, 1000)))
    assert [(agent, severity) for agent, severity, _ in told.incidents] == [
        ("a1", Severity.HIGH), ("a2", Severity.HIGH), ("", Severity.HIGH), ("", Severity.MEDIUM),
    ]  # fmt: skip


def test_a_command_that_was_ended_as_it_began_is_counted_and_is_no_incident() -> None:
    told = Told()
    told.refusals.saw(RefusedPeer("gone", "", Peer(9, 1000)))
    assert (told.incidents, told.counted) == ([], ["gone"])


def test_what_was_told_long_ago_is_forgotten() -> None:
    told = Told()
    for number in range(1_000):
        told.now += AGAIN_SECONDS
        told.refusals.saw(RefusedPeer("agent", "", Peer(9, 1000), agent=f"a{number}"))
    assert len(told.refusals._reported) == 1
