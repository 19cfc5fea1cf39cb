from dataclasses import replace
from pathlib import Path

import pytest

from monitors.contract.errors import UsageError
from monitors.contract.tasks import Task
from supervisor.config.model import Config
from supervisor.runtime.assembly.detectors import MakeDetectors
from supervisor.runtime.assembly.interventions import Patience
from supervisor.runtime.assembly.plugins import PluginError
from tests.monitors.steps import Run

TASK = Task("t-1", "Do it.", "/repo")

PLUGIN = """
class Shouting:
    name = "shouting"
    def see(self, observation):
        return ()

def make_detector(task):
    if not task.prompt:
        raise ValueError("no prompt")
    return Shouting()
"""


def with_plugin(path: Path, text: str = PLUGIN) -> Config:
    file = path / "shouting.py"
    file.write_text(text)
    return Config.model_validate({"plugins": {"detectors": [str(file)]}})


def test_a_session_has_the_built_in_detectors_the_reviewers_own_and_the_plugins(tmp_path: Path) -> None:
    names = [detector.name for detector in MakeDetectors.of(with_plugin(tmp_path))(TASK)]
    assert names[0] == "repetitive_errors"
    assert names[-4:] == ["refusals", "outputs", "shouting", "combinations"]


def test_each_session_has_detectors_of_its_own(tmp_path: Path) -> None:
    make = MakeDetectors.of(with_plugin(tmp_path))
    assert not set(map(id, make(TASK))) & set(map(id, make(TASK)))


def test_a_plugin_that_cannot_be_loaded_keeps_the_daemon_from_starting(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="make_detector"):
        MakeDetectors.of(with_plugin(tmp_path, "x = 1"))


def test_a_plugin_that_makes_none_for_a_session_is_switched_off_there_and_the_run_goes_on(tmp_path: Path) -> None:
    detectors = MakeDetectors.of(with_plugin(tmp_path))(Task("t-2", "", "/repo"))
    for observation in Run().bash("ls"):
        assert not any(detector.see(observation) for detector in detectors)
    (failed,) = (detector.failure for detector in detectors if detector.failure)
    assert "no prompt" in failed.sentence


def test_a_plugin_that_does_not_come_back_is_switched_off_and_the_run_goes_on(tmp_path: Path) -> None:
    spins = PLUGIN.replace("return ()", "\n        while True: pass")
    make = replace(MakeDetectors.of(with_plugin(tmp_path, spins)), patience=Patience(0.05, 20.0))
    for detectors in (make(TASK), make(TASK)):
        for observation in Run().bash("ls"):
            assert not any(detector.see(observation) for detector in detectors)
        (failed,) = (detector.failure for detector in detectors if detector.failure)
        assert "shouting took" in failed.sentence


def test_a_pattern_that_there_is_none_of_is_refused_with_the_nearest_name() -> None:
    config = Config.model_validate({"patterns": {"enabled_patterns": ["scope_crep"]}})
    with pytest.raises(UsageError, match="scope_crep") as refused:
        MakeDetectors.of(config)
    assert "scope_creep" in refused.value.way_out
