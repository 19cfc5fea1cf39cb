from pydantic import TypeAdapter

from supervisor.core.fold.summary import Summary
from supervisor.runtime.api.serving import answer_types
from supervisor.runtime.api.serving.answer_types import AgentAnswer


def test_an_agent_is_described_and_written_as_its_type_is() -> None:
    assert TypeAdapter(AgentAnswer).json_schema() == TypeAdapter(Summary).json_schema()
    assert TypeAdapter(list[AgentAnswer]).json_schema() == TypeAdapter(list[Summary]).json_schema()


def test_what_describes_an_agent_is_made_once() -> None:
    TypeAdapter(AgentAnswer)
    before = answer_types._described.cache_info().misses
    TypeAdapter(list[AgentAnswer])
    assert answer_types._described.cache_info().misses == before
