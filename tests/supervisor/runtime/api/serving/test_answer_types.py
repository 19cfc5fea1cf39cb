from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from supervisor.core.fold.summary import Summary
from supervisor.runtime.api.serving.answer_types import AgentAnswer, facts


@dataclass(frozen=True)
class Held:
    at: Path
    below: tuple["Held", ...]


def test_an_agent_is_described_as_its_type_is() -> None:
    of_type = TypeAdapter(Summary).json_schema()
    described = TypeAdapter(AgentAnswer).json_schema()
    shared = {**of_type.pop("$defs"), "Summary": of_type}
    assert (described["$ref"], described["$defs"]) == ("#/$defs/Summary", shared)


def test_what_checks_and_writes_an_agent_is_made_once() -> None:
    one, other = TypeAdapter(AgentAnswer), TypeAdapter(AgentAnswer)
    assert one.validator is other.validator
    assert one.serializer is other.serializer


def test_a_record_is_plain_data_with_all_that_it_holds() -> None:
    assert facts(Held(Path("/x"), (Held(Path("/y"), ()),))) == {"at": "/x", "below": [{"at": "/y", "below": []}]}
