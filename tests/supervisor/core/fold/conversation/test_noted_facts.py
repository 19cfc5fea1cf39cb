"""Facts that an agent notes, due until the journal has them."""

from monitors.contract.observations import AgentSpoke
from supervisor.core.discoveries import MOST_OF_AN_AGENT
from supervisor.core.fold.conversation.noted_facts import NotedFacts
from supervisor.protocol.words import DiscoveryScope


def spoke(text: str, subagent: str = "") -> AgentSpoke:
    return AgentSpoke(seq=1, mono=1.0, text=text, subagent=subagent)


def test_a_fact_is_due_once_and_until_it_is_journalled() -> None:
    facts = NotedFacts()
    facts.observed(spoke("[discovery] Redis is on 6380."))
    facts.observed(spoke("As said: \n[discovery] Redis is on 6380."))
    assert facts.due == [(DiscoveryScope.REPOSITORY, "Redis is on 6380.")]
    facts.journalled("Redis is on 6380.")
    assert facts.due == []


def test_a_subagent_notes_none_and_an_agent_no_more_than_a_bounded_number() -> None:
    facts = NotedFacts()
    facts.observed(spoke("[discovery] one", subagent="toolu_1"))
    assert facts.due == []
    facts.observed(spoke("\n".join(f"[discovery] fact {number}" for number in range(MOST_OF_AN_AGENT + 5))))
    assert len(facts.due) == MOST_OF_AN_AGENT
