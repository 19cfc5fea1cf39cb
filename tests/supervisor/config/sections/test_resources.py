from typing import Any

from monitors.contract.tasks import Limits
from supervisor.config.sections.resources import Resources


def made(**keys: Any) -> Resources:
    return Resources.model_validate(keys)


def test_the_defaults_are_those_of_the_protocol_where_both_have_them() -> None:
    assert Resources().limits() == Limits()


def test_the_mission_profile_tightens_what_is_not_written_beside_it() -> None:
    assert made(profile="mission", max_memory_mb=900).limits() == Limits(100, 900, 300, 100_000)


def test_null_lifts_a_limit() -> None:
    assert made(max_token_usage=None).limits().max_token_usage is None
