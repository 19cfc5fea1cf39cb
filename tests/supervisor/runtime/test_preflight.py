"""The configuration tried out: each thing that it names and that is not there, cannot be run, or should be known."""

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from supervisor.config.load import load
from supervisor.runtime.preflight import PreflightProblem, try_out

PLUGIN = "class Quiet:\n    name = 'quiet'\n    def see(self, observation):\n        return ()\nmake_detector = Quiet\n"


def flaws(tmp_path: Path, text: str, mode: int = 0o600) -> list[PreflightProblem]:
    """What is wrong with a configuration that is accepted as it stands."""
    file = tmp_path / "chaperon.yaml"
    file.write_text(text)
    file.chmod(mode)
    environ = {"HOME": str(tmp_path), "PATH": os.defpath}
    return try_out(load(environ, file, system=tmp_path / "none"), environ)


def only(tmp_path: Path, text: str) -> PreflightProblem:
    (flaw,) = flaws(tmp_path, text)
    return flaw


def test_a_configuration_that_works_has_no_flaw(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(PLUGIN)
    hook = tmp_path / "hook.sh"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    text = "plugins: {detectors: [quiet.py]}\nhooks: {on-pause: hook.sh}\nagent: {launcher: [env, A=1]}\n"
    assert flaws(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("plugins: {detectors: [nosuch.py]}", "nosuch.py could not be run, FileNotFoundError"),
        ("plugins: {detectors: [broken.py]}", "broken.py could not be run, ZeroDivisionError"),
        ("plugins: {reviewers: [quiet.py]}", "quiet.py defines no function `make_reviewer`"),
        ("plugins: {rules: [nosuch]}", "nosuch is no entry point of the group chaperon.rules"),
        ("interventions: {strategy: {type: custom}}", "custom"),
        ("patterns: {enabled_patterns: [repetitoin]}", "'repetitoin'"),
        (
            "reviewer: {rules: [{name: own.x, match: [deploy], why: deploys, yes: [build]}]}",
            "rule `own.x` does not match its own example `build`",
        ),
        ("interventions: {soft_correction: {custom_prompts_path: nosuch.yaml}}", "nosuch.yaml cannot be read"),
    ],
)
def test_what_keeps_the_daemon_from_starting_is_fatal(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "quiet.py").write_text(PLUGIN)
    found = only(tmp_path, text)
    assert found.fatal
    assert says in found.says
    assert "nothing was started" not in found.says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hooks: {on-pause: nosuch.sh}", "hooks.on-pause: {dir}/nosuch.sh is not there, so it will not run."),
        ("hooks: {on-pause: plain.sh}", "hooks.on-pause: {dir}/plain.sh is not executable (chmod +x {dir}/plain.sh)"),
        ("workspaces: {set_up: folder}", "workspaces.set_up: {dir}/folder is no file"),
        ("agent: {launcher: [nosuch, -x]}", "agent.launcher: there is no program 'nosuch'"),
    ],
)
def test_a_program_that_cannot_be_run_will_not_work(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "plain.sh").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    found = only(tmp_path, text)
    assert (found.fatal, found.harmless) == (False, False)
    assert says.format(dir=tmp_path) in found.says


CHANNEL = "notify: {channels: [{name: mail, url: 'mailto://user:hush@example.org'}]}\n"
TOLD = "interventions: {emergency_stop: {notification_channels: [mail]}}\n"


def test_channels_without_apprise_are_named_and_never_their_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervisor.runtime.preflight.find_spec", lambda _: None)
    found = only(tmp_path, CHANNEL + TOLD)
    assert "apprise is not installed, so nothing can be sent by: mail" in found.says
    assert f"{sys.executable} -m pip install apprise" in found.mend
    assert "hush" not in str(found)


def test_an_address_that_apprise_does_not_know_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = ModuleType("apprise")
    stand_in.Apprise = lambda: SimpleNamespace(add=lambda url: "mailto" in url)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "apprise", stand_in)
    monkeypatch.setattr("supervisor.runtime.preflight.find_spec", lambda _: object())
    assert flaws(tmp_path, CHANNEL + TOLD) == []
    found = only(tmp_path, CHANNEL.replace("mailto", "mialto") + TOLD)
    assert "no service for an address that begins 'mialto'" in found.says


def test_a_channel_that_nobody_set_up_is_known_and_harms_nothing(tmp_path: Path) -> None:
    found = only(tmp_path, "interventions: {emergency_stop: {notification_channels: [mial]}}")
    assert found.harmless
    assert "no channel is named mial; there are: none" in found.says


def test_a_hook_that_is_not_there_and_a_rule_that_is_passed_by_are_known(tmp_path: Path) -> None:
    rule = "rules: [{name: own.no-make, tool: Bash, match: '^make', decision: block, reason: Use ninja.}]\n"
    first, second = flaws(tmp_path, f"hooks: {{pre-merge: x.sh}}\n{rule}")
    assert "hooks.pre-merge: " in first.says
    assert "rules[0] (own.no-make) looks at how the text of a command begins" in second.says


@pytest.mark.parametrize(("mode", "told"), [(0o600, False), (0o640, True), (0o644, True)])
def test_a_file_with_secrets_that_others_can_read_is_told(tmp_path: Path, mode: int, told: bool) -> None:
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == tmp_path.owner() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    found = flaws(tmp_path, "agent: {environment: {ANTHROPIC_API_KEY: hush}}", mode)
    assert [f"{tmp_path}/chaperon.yaml holds agent.environment, and " in flaw.says for flaw in found] == [True] * told
    assert not any("hush" in str(flaw) for flaw in found)


def test_a_file_without_secrets_may_be_read_by_everybody(tmp_path: Path) -> None:
    assert flaws(tmp_path, "reviewer: {risk_threshold: 0.6}", 0o644) == []
