from dataclasses import replace
from pathlib import Path

import pytest

from checkpoints.retention import RetentionPolicy
from interventions.settings import InterventionSettings
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.core.decisions.decide import SessionSettings
from supervisor.runtime.assembly.settings import (
    controller_settings,
    gateway_settings,
    retention,
    session_settings,
)
from supervisor.runtime.gateway.credential import CredentialError
from supervisor.runtime.gateway.messages import CredentialSource

PLACES = StatePaths(Path("/var/lib/chaperon"), Path("/run/chaperon"))


def config(**changes: object) -> Config:
    return Config.model_validate(changes)


def test_the_ladder_is_as_configured() -> None:
    given = config(stop={"interrupt_seconds": 1, "end_of_input_seconds": 2, "terminate_seconds": 4})
    ladder = session_settings(given, PLACES, {"HOME": "/home/ann"}).stop_sequence
    assert (ladder.interrupt_seconds, ladder.end_of_input_seconds, ladder.terminate_seconds) == (1, 2, 4)


def test_what_nobody_configures_is_what_the_pure_parts_do_by_themselves() -> None:
    """The two are written down apart, so that the reference of settings can show its own."""
    plain = session_settings(config(), PLACES, {})
    same = replace(plain, home="", protected=(), captures=replace(plain.captures, enabled=False))
    assert same == SessionSettings()
    assert replace(retention(config()), quota_bytes=None) == RetentionPolicy()
    assert controller_settings(config()) == InterventionSettings()


def test_the_agents_home_is_the_daemons() -> None:
    assert session_settings(config(), PLACES, {"HOME": "/home/ann"}).home == "/home/ann"


def test_interventions_can_be_limited() -> None:
    given = config(interventions={"max_interventions_per_execution": 3})
    assert controller_settings(given).max_interventions_per_execution == 3


def test_an_emptied_credential_is_taken_from_agents_behind_the_gateway_unless_the_environment_has_one() -> None:
    assert gateway_settings(Config(), {}, last=False).credential == CredentialSource("none")
    of_environment = gateway_settings(Config(), {"ANTHROPIC_API_KEY": "k"}, last=False).credential
    assert (of_environment.kind, of_environment.value) == ("value", "k")
    with pytest.raises(CredentialError, match="no credential that the gateway could hold"):
        gateway_settings(Config.model_validate({"agent": {"sandbox": "auto"}}), {}, last=False)
