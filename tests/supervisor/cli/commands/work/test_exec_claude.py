"""The arguments with which `chaperon exec` becomes the CLI; tests/end_to_end/test_attaching.py has a real one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from monitors.contract.errors import UsageError
from supervisor.cli.__main__ import main
from supervisor.cli.commands.work.exec_claude import program, with_hooks
from supervisor.runtime.attached.relay_client import process_of

OURS: dict[str, dict[str, Any]] = {"PreToolUse": {"hooks": []}, "Stop": {"hooks": []}}


def settings(arguments: list[str]) -> dict[str, Any]:
    assert arguments[0] == "--settings"
    assert "--settings" not in arguments[1:]
    return dict(json.loads(arguments[1]))


def test_every_other_argument_stays_as_it_is_and_where_it_is() -> None:
    given = ["-p", "--settings", "{}", "What?", "--model", "opus", "--", "--settings=x", "last"]
    found = with_hooks(given, OURS)
    assert (
        found[2:] == ["-p", "What?", "--model", "opus", "--", "--settings=x", "last"] or found.count("--settings") == 1
    )


@pytest.mark.parametrize("form", ["json", "file", "equals"])
def test_hooks_stand_beside_those_of_the_caller(tmp_path: Path, form: str) -> None:
    theirs = {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(theirs))
    given = {
        "json": ["--settings", json.dumps(theirs)],
        "file": ["--settings", str(path)],
        "equals": [f"--settings={path}"],
    }
    found = settings(with_hooks(given[form], OURS))
    assert found == {
        "model": "opus",
        "hooks": {"Stop": [*theirs["hooks"]["Stop"], OURS["Stop"]], "PreToolUse": [OURS["PreToolUse"]]},  # type: ignore[index]
    }


@pytest.mark.parametrize("given", ["/nowhere/settings.json", "{", '{"hooks": []}', '{"hooks": {"Stop": 1}}'])
def test_settings_that_cannot_be_read_start_nothing(given: str) -> None:
    with pytest.raises(UsageError, match="nothing was started"):
        with_hooks(["--settings", given], OURS)


def test_a_link_to_ourselves_is_never_taken_for_the_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, real = tmp_path / "ours/claude", tmp_path / "real/claude"
    for folder in (ours, real):
        folder.parent.mkdir()
    (tmp_path / "chaperon").write_text("")
    ours.symlink_to(tmp_path / "chaperon")
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(ours)])
    monkeypatch.setenv("PATH", f"{ours.parent}:{real.parent}")
    with click.Context(main):
        assert program("claude") == str(real)


def test_another_program_is_refused() -> None:
    with pytest.raises(UsageError, match="not the Claude CLI"):
        program("python")


@pytest.mark.parametrize("there", [False, True])
def test_a_cli_that_cannot_be_started_is_told_in_a_sentence(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "claude"
    if there:
        path.write_text("#!/bin/sh\n")
    done = subprocess.run(
        [sys.executable, "-m", "supervisor.cli", "exec", "--", str(path), "-p", "x"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    if relay := process_of(tmp_path / ".local/state/chaperon/attached"):
        os.kill(relay, signal.SIGKILL)
    assert (done.returncode, "cannot be started" in done.stderr, "Traceback" in done.stderr) == (1, True, False)
