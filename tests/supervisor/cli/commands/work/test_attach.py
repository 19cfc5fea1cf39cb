"""The commands that attach and detach, as a person types them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from supervisor.cli.commands.work.attach import attach, detach


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    path = tmp_path / ".claude/settings.local.json"
    path.parent.mkdir()
    path.write_text('{"model": "opus"}\n')
    return path


def test_attach_shows_the_change_and_makes_it_and_detach_undoes_it(settings: Path) -> None:
    before = settings.read_bytes()
    done = CliRunner().invoke(attach, [])
    assert done.exit_code == 0, done.output
    assert '+  "hooks": {' in done.output or '"hooks"' in done.output
    assert str(settings) in done.output
    command = json.loads(settings.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    assert str(settings.parents[1] / "run/hooks.sock") in command
    assert "already attached" in CliRunner().invoke(attach, ["--local"]).output
    assert CliRunner().invoke(detach, []).exit_code == 0
    assert settings.read_bytes() == before


def test_print_changes_nothing(settings: Path) -> None:
    before = settings.read_bytes()
    assert '"hooks"' in CliRunner().invoke(attach, ["--print"]).output
    assert settings.read_bytes() == before


def test_what_cannot_be_changed_is_told_with_its_path(settings: Path) -> None:
    settings.write_text("{ // mine\n}")
    done = CliRunner().invoke(attach, [])
    assert done.exit_code == 2
    assert f"{settings}: It is not JSON" in done.output
    assert settings.read_text() == "{ // mine\n}"


def test_what_is_not_attached_cannot_be_detached(settings: Path) -> None:
    done = CliRunner().invoke(detach, ["--project"])
    assert done.exit_code == 2
    assert "no hook of chaperon" in done.output


def test_as_json_a_change_says_where_what_and_whether_it_was_written(settings: Path) -> None:
    shown = json.loads(CliRunner().invoke(attach, ["--print", "--json"]).output)
    made = json.loads(CliRunner().invoke(attach, ["--json"]).output)
    assert (shown["path"], shown["written"], made["written"]) == (str(settings), False, True)
    assert made["difference"] == shown["difference"]
    assert '"hooks"' in made["difference"]
    again = json.loads(CliRunner().invoke(attach, ["--json"]).output)
    assert (again["written"], again["difference"]) == (False, "")
    assert json.loads(CliRunner().invoke(detach, ["--json"]).output)["written"]
