"""Which agents have ended, as a journal's lines say."""

import dataclasses

from interventions.decisions import Incident
from monitors.contract.words import Severity
from supervisor.protocol import events, records
from supervisor.protocol.words import AgentState
from supervisor.runtime.journal.past_agents import PastAgents


def past(*happened: events.AnyEvent) -> PastAgents:
    found, before = PastAgents(), records.ORIGIN
    for number, event in enumerate(happened, 1):
        line, before = records.encode(number, event, before)
        found.look([line[:-1]])
    return found


def changed(agent: str, after: AgentState, why: str = "") -> events.StateChanged:
    return events.StateChanged(agent=agent, at=1.0, mono=1.0, before=AgentState.RUNNING, after=after, why=why)


def test_an_agent_that_ended_is_past_and_one_that_works_is_not() -> None:
    found = past(
        *(changed(f"a-{state}", state) for state in AgentState),
        changed("a-quoting", AgentState.RUNNING, why='"kind":"state_changed","after":"done"'),
        changed('a"\udcff', AgentState.DONE),
    )
    assert all((f"a-{state}" in found) == state.ended for state in AgentState)
    assert "a-quoting" not in found
    assert 'a"\udcff' in found


def test_an_agent_of_which_a_detector_failed_is_watched_again() -> None:
    told = Incident("a1-1", 1.0, "a1", "detector_failed-outputs", Severity.MEDIUM, "It failed.", "Report it.", seq=1)
    opened = events.IncidentOpened(agent="a1", at=1.0, mono=1.0, incident=told, report=None)
    other = dataclasses.replace(opened, agent="a2", incident=dataclasses.replace(told, type="outage"))
    found = past(opened, changed("a1", AgentState.DONE), other, changed("a2", AgentState.DONE))
    assert "a1" not in found
    assert "a2" in found
