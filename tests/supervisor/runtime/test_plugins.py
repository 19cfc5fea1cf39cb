"""Real files and a real installed entry point."""

import sys
from pathlib import Path

import pytest

from monitors.defaults import DetectorSettings, make_detectors
from supervisor.protocol.tasks import Task
from supervisor.runtime.plugins import GROUP, PluginError, installed_plugins, plugin_file
from tests.monitors.steps import Run

TASK = Task("t", "mend it", "/w")

GOOD = """
from supervisor.protocol.issues import Issue
from supervisor.protocol.words import Severity

class Shouting:
    name = "shouting"
    def see(self, observation):
        text = getattr(observation, "text", "")
        if text.isupper():
            return [Issue("shouting", Severity.LOW, 0.9, 0.1, observation.seq, "The agent shouts.", (observation.seq,))]
        return ()

def make_detector():
    return Shouting()
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_detector_from_a_file_runs_beside_ours(tmp_path: Path) -> None:
    plugin = plugin_file(written(tmp_path / "shouting.py", GOOD))
    detectors = make_detectors(DetectorSettings(), TASK, plugins=(plugin.detector(TASK),))
    issues = [issue for one in Run().says("STOP IT") for detector in detectors for issue in detector.see(one)]
    assert [issue.type for issue in issues] == ["shouting"]
    assert plugin.detector(TASK) is not plugin.detector(TASK)


def test_a_plugin_may_ask_for_the_task(tmp_path: Path) -> None:
    text = "class D:\n    def __init__(self, task): self.name = 'of_' + task.id\n    def see(self, _): return ()\n\nmake_detector = D\n"
    assert plugin_file(written(tmp_path / "d.py", text)).detector(TASK).name == "of_t"


def test_one_that_raises_while_it_watches_is_switched_off_and_the_others_go_on(tmp_path: Path) -> None:
    text = GOOD.replace("text.isupper()", "text.no_such_method()")
    plugin = plugin_file(written(tmp_path / "bad.py", text))
    detectors = make_detectors(DetectorSettings(), TASK, plugins=(plugin.detector(TASK),))
    run = Run()
    issues = [
        issue for _ in range(3) for one in run.bash("ls", "a") for detector in detectors for issue in detector.see(one)
    ]
    assert [issue.type for issue in issues] == ["repetition"]
    assert [detector.name for detector in detectors if detector.failure] == ["shouting"]


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.py", "def make_detector(: pass", "could not be run, SyntaxError"),
        ("a.py", "raise RuntimeError('no')", "could not be run, RuntimeError: no"),
        ("a.py", "x = 1", "defines no function `make_detector`"),
        ("a.txt", GOOD, "its name must end in .py"),
    ],
)
def test_a_file_that_is_no_plugin_is_refused_with_the_reason(tmp_path: Path, name: str, text: str, what: str) -> None:
    with pytest.raises(PluginError, match=what):
        plugin_file(written(tmp_path / name, text))
    with pytest.raises(PluginError, match="could not be run, FileNotFoundError"):
        plugin_file(tmp_path / "nowhere.py")


@pytest.mark.parametrize(
    ("body", "what"), [("return 5", "made int, which lacks a `name`"), ("raise KeyError('k')", "raised KeyError: 'k'")]
)
def test_what_makes_no_detector_is_refused_with_the_reason(tmp_path: Path, body: str, what: str) -> None:
    plugin = plugin_file(written(tmp_path / "a.py", f"def make_detector():\n    {body}\n"))
    with pytest.raises(PluginError, match=what):
        plugin.detector(TASK)


def test_an_installed_entry_point_is_loaded_by_its_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "shouting_plugin.py", GOOD)
    info = tmp_path / "shouting_plugin-1.0.dist-info"
    info.mkdir()
    written(info / "METADATA", "Metadata-Version: 2.1\nName: shouting-plugin\nVersion: 1.0\n")
    written(
        info / "entry_points.txt",
        f"[{GROUP}]\nshouting = shouting_plugin:make_detector\nbroken = shouting_plugin:nothing\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "shouting_plugin" not in sys.modules
    [plugin] = installed_plugins(["shouting"])
    assert plugin.detector(TASK).name == "shouting"
    with pytest.raises(PluginError, match="installed are: broken, shouting"):
        installed_plugins(["whispering"])
    with pytest.raises(PluginError, match="could not be imported, AttributeError"):
        installed_plugins(["broken"])
    sys.modules.pop("shouting_plugin", None)
