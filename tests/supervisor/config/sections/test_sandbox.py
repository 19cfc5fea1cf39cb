"""The section `sandbox`."""

import pytest
from pydantic import ValidationError

from supervisor.config.model import Config


def test_without_a_word_agents_are_held_by_review_alone_and_a_sandbox_would_be_that_of_a_project() -> None:
    config = Config()
    assert (config.agent.sandbox, config.sandbox.profile) == ("none", "project")


def test_paths_begin_at_the_home_directory_or_the_root() -> None:
    made = Config.model_validate({"sandbox": {"read": ["~/.npmrc", "/srv"]}}, context={"home": "/home/ada"})
    assert made.sandbox.read == ("/home/ada/.npmrc", "/srv")
    with pytest.raises(ValidationError, match="no absolute path"):
        Config.model_validate({"sandbox": {"write": ["cache"]}})
