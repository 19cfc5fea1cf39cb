"""Real files and a real installed entry point."""

import sys
from pathlib import Path

import pytest

from monitors.contract.tasks import Task
from monitors.detectors import DetectorSettings, make_detectors
from supervisor import testing
from supervisor.config.model import Plugins
from supervisor.runtime.assembly.plugins import DETECTORS, KINDS, RULES, PluginError, load
from tests.monitors.steps import Run

TASK = Task("t", "mend it", "/w")

GOOD = """
from monitors import Issue, Severity

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


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_part_from_a_file_works_beside_ours_and_is_made_afresh_each_time(tmp_path: Path) -> None:
    [plugin] = load(DETECTORS, [written(tmp_path / "shouting.py", GOOD)])
    detectors = make_detectors(DetectorSettings(), TASK, plugins=(plugin.make(TASK),))
    issues = [issue for one in Run().says("STOP IT") for detector in detectors for issue in detector.see(one)]
    assert [issue.type for issue in issues] == ["shouting"]
    assert plugin.make(TASK) is not plugin.make(TASK)


def test_a_plugin_may_ask_for_the_task(tmp_path: Path) -> None:
    text = "class D:\n    def __init__(self, task): self.name = 'of_' + task.id\n    def see(self, _): return ()\n\nmake_detector = D\n"
    [plugin] = load(DETECTORS, [written(tmp_path / "d.py", text)])
    assert plugin.make(TASK).name == "of_t"


def test_a_file_may_define_dataclasses_and_two_files_may_have_one_name(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n@dataclass\nclass D:\n"
        "    name: str = 'NAME'\n    def see(self, _): return ()\n\nmake_detector = D\n"
    )
    (tmp_path / "more").mkdir()
    paths = [
        written(tmp_path / "d.py", text.replace("NAME", "one")),
        written(tmp_path / "more/d.py", text.replace("NAME", "two")),
    ]
    assert [plugin.make().name for plugin in load(DETECTORS, paths)] == ["one", "two"]


def test_one_that_raises_while_it_watches_is_switched_off_and_the_others_go_on(tmp_path: Path) -> None:
    text = GOOD.replace("text.isupper()", "text.no_such_method()")
    [plugin] = load(DETECTORS, [written(tmp_path / "bad.py", text)])
    detectors = make_detectors(DetectorSettings(), TASK, plugins=(plugin.make(TASK),))
    run = Run()
    issues = [
        issue for _ in range(3) for one in run.bash("ls", "a") for detector in detectors for issue in detector.see(one)
    ]
    assert [issue.type for issue in issues] == ["repetition"]
    assert [detector.name for detector in detectors if detector.failure] == ["shouting"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def make_detector(: pass", "could not be run, SyntaxError"),
        ("raise RuntimeError('no')", "could not be run, RuntimeError: no"),
        ("x = 1", "defines no function `make_detector`"),
    ],
)
def test_a_file_that_is_no_plugin_is_refused_with_the_reason(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(PluginError, match=what):
        load(DETECTORS, [written(tmp_path / "a.py", text)])


def test_what_is_not_there_is_refused_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="could not be run, FileNotFoundError"):
        load(DETECTORS, [str(tmp_path / "nowhere.py")])
    with pytest.raises(PluginError, match=r"no path that ends in \.py; installed are: none"):
        load(DETECTORS, ["a.txt"])


@pytest.mark.parametrize(
    ("body", "what"), [("return 5", "made int, which lacks `name`"), ("raise KeyError('k')", "raised KeyError: 'k'")]
)
def test_what_makes_no_part_of_its_kind_is_refused_with_the_reason(tmp_path: Path, body: str, what: str) -> None:
    [plugin] = load(DETECTORS, [written(tmp_path / "a.py", f"def make_detector():\n    {body}\n")])
    with pytest.raises(PluginError, match=what) as raised:
        plugin.make(TASK)
    assert "take it out of plugins.detectors" in str(raised.value)


def test_rules_whose_own_examples_do_not_hold_are_refused(tmp_path: Path) -> None:
    text = (
        "from monitors.review.rules.rules import Rule\n\ndef make_rules():\n"
        "    return [Rule('own.deploy', ('deploy prod',), 0.8, 'changes production', yes=('deploy test',))]\n"
    )
    [plugin] = load(RULES, [written(tmp_path / "rules.py", text)])
    with pytest.raises(PluginError, match="does not match its own example `deploy test`"):
        plugin.make()
    [plugin] = load(RULES, [written(tmp_path / "rules.py", text.replace("deploy test", "deploy prod --now"))])
    assert [rule.name for rule in plugin.make()] == ["own.deploy"]


def test_an_installed_entry_point_is_loaded_by_its_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "shouting_plugin.py", GOOD)
    info = tmp_path / "shouting_plugin-1.0.dist-info"
    info.mkdir()
    written(info / "METADATA", "Metadata-Version: 2.1\nName: shouting-plugin\nVersion: 1.0\n")
    points = "shouting = shouting_plugin:make_detector\nbroken = shouting_plugin:nothing\n"
    written(info / "entry_points.txt", f"[{DETECTORS.group}]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "shouting_plugin" not in sys.modules
    [plugin] = load(DETECTORS, ["shouting"])
    assert plugin.make(TASK).name == "shouting"
    with pytest.raises(PluginError, match="installed are: broken, shouting"):
        load(DETECTORS, ["whispering"])
    with pytest.raises(PluginError, match="could not be imported, AttributeError"):
        load(DETECTORS, ["broken"])
    sys.modules.pop("shouting_plugin", None)


def test_the_configuration_knows_every_kind() -> None:
    assert {kind.name for kind in KINDS} == set(Plugins.model_fields)


def test_there_is_a_check_for_each_kind_and_the_table_has_each_check() -> None:
    table = [line.split(" | ") for line in (testing.__doc__ or "").splitlines() if line.startswith("| `")]
    assert {row[2].strip("`| ") for row in table} == {kind.name for kind in KINDS}
    assert sorted(row[0].strip("`| ") for row in table) == testing.__all__
