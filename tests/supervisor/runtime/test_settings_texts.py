"""From the configuration to settings: what must be read from a file on the way."""

from pathlib import Path

import pytest

from monitors.contract.errors import UsageError
from supervisor.config.model import Config, Plugins
from supervisor.config.sections.interventions import Interventions, SoftCorrectionSection
from supervisor.config.sections.patterns import CustomPatternSection, PatternsSection
from supervisor.runtime.assembly.settings import controller_settings


def config(path: Path) -> Config:
    return Config(interventions=Interventions(soft_correction=SoftCorrectionSection(custom_prompts_path=str(path))))


def test_the_users_texts_are_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "prompts.yaml"
    path.write_text("repetitive_errors: 'Again: {error}'\ntest_tampering:\n- one\n- two\n")
    made = controller_settings(config(path)).custom_prompts
    assert made == {"repetitive_errors": ("Again: {error}",), "test_tampering": ("one", "two")}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("repetitive_errors: '{eror}'", "did you mean 'error'"),
        ("nothing_known: x", "no issue type 'nothing_known'"),
        ("a: [b", "cannot be read"),
        ("- a", "a list and were not used"),
        ("", "a NoneType and were not used"),
    ],
)
def test_texts_that_cannot_be_used_stop_the_start(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "prompts.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        controller_settings(config(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml cannot be read"):
        controller_settings(config(tmp_path / "none.yaml"))


def test_a_pattern_of_ones_own_may_have_a_text_and_with_detectors_of_plugins_any_type_may(tmp_path: Path) -> None:
    path = tmp_path / "prompts.yaml"
    path.write_text("own_pattern: Look again.\n")
    with pytest.raises(UsageError, match="no issue type 'own_pattern'"):
        controller_settings(config(path))
    patterns = PatternsSection(
        custom_patterns=(CustomPatternSection(name="own_pattern", description="It says x.", match="x"),)
    )
    own = config(path).model_copy(update={"patterns": patterns})
    assert controller_settings(own).custom_prompts == {"own_pattern": ("Look again.",)}
    plugged = config(path).model_copy(update={"plugins": Plugins(detectors=("theirs",))})
    assert controller_settings(plugged).custom_prompts == {"own_pattern": ("Look again.",)}
