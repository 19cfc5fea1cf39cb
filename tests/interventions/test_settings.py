"""Settings: declared here, written in the configuration file."""

import pytest

from interventions.settings import InterventionSettings
from interventions.words import InterventionKind
from supervisor.config.model import Config
from supervisor.config.sections.interventions import Interventions
from supervisor.runtime.assembly.settings import controller_settings


def test_the_configurations_defaults_are_the_settings_defaults() -> None:
    assert controller_settings(Config()) == InterventionSettings()


def test_every_key_that_the_settings_share_with_the_configuration_is_taken_over() -> None:
    given = Interventions.model_validate(
        {
            "auto_rollback": True,
            "soft_correction": False,
            "context_reinforcement": {"reinforcement_strength": "strong"},
            "resource_throttling": {"reduction_factors": {"severe": 0.1}},
            "strategy": {"type": "pattern_specific", "effectiveness_threshold": 0.4},
        }
    )
    made = controller_settings(Config(interventions=given))
    assert made.auto_rollback
    assert not made.allows(InterventionKind.SOFT_CORRECTION)
    assert made.context_reinforcement.reinforcement_strength == "strong"
    assert made.resource_throttling.reduction_factors.severe == 0.1
    assert (made.strategy.type, made.strategy.effectiveness_threshold) == ("pattern_specific", 0.4)


@pytest.mark.parametrize("kind", InterventionKind)
def test_nothing_is_allowed_where_interventions_are_off(kind: InterventionKind) -> None:
    assert InterventionSettings().allows(kind)
    assert not InterventionSettings(enabled=False).allows(kind)
