"""The commands that attach and detach, as a person types them."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from supervisor.cli.__main__ import main
from supervisor.runtime.attached.adapters.other_cli import adapter
from supervisor.runtime.attached.relay_client import process_of
from supervisor.runtime.attached.relay_settings import read
from supervisor.runtime.attached.settings import attachments
from supervisor.runtime.attached.settings.hook_entries import PROXIES, ways_in
from supervisor.runtime.attached.settings.settings_text import hooks_in
from supervisor.runtime.shim.process_tree import pause, start_ticks
from tests.stages.daemon import Base, ended, served


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's CLI, which says which version it is and can do nothing else."""
    path = tmp_path / "bin/claude"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho '2.1.329 (Claude Code)'\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    return path


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Path) -> Iterator[Path]:
    """Settings of a project in this directory; a relay that is started is ended."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    path = tmp_path / ".claude/settings.local.json"
    path.parent.mkdir()
    path.write_text('{"model": "opus"}\n')
    yield path
    if number := process_of(tmp_path / "state/attached"):
        os.kill(number, signal.SIGKILL)


def gate(settings: Path) -> dict[str, Any]:
    """Return the hook that says whether a call runs."""
    [entry] = json.loads(settings.read_text())["hooks"]["PreToolUse"]
    [hook] = entry["hooks"]
    return dict(hook)


def test_attach_shows_the_change_if_asked_makes_it_and_says_so_in_a_few_lines_and_detach_undoes_it(
    settings: Path,
) -> None:
    before = settings.read_bytes()
    shown = CliRunner().invoke(main, ["attach", "--print"]).output
    assert '"hooks"' in shown
    assert settings.read_bytes() == before
    done = CliRunner().invoke(main, ["attach"])
    assert done.exit_code == 0, done.output
    come, go = (sum(line[0] == sign for line in shown.splitlines()[2:]) for sign in "+-")
    said, without_daemon = done.output.splitlines()
    assert said == f"{settings}: written: {come} lines added, {go} removed"
    assert without_daemon.startswith("No daemon runs.")
    assert gate(settings)["url"].startswith("http://127.0.0.1:")
    assert gate(settings)["onFailure"] == "block"
    assert "already attached" in CliRunner().invoke(main, ["attach", "--local"]).output
    assert CliRunner().invoke(main, ["detach"]).output.splitlines()[1:] == []
    assert settings.read_bytes() == before


def test_who_attaches_where_git_would_commit_the_hooks_is_told_how_to_keep_them_out(settings: Path) -> None:
    subprocess.run(["git", "init", "-q", str(settings.parents[1])], check=True)
    told = CliRunner().invoke(main, ["attach"]).output
    [line] = [line for line in told.splitlines() if line.startswith("git does not ignore")]
    subprocess.run(["sh", "-c", line.rpartition(": ")[2]], check=True, cwd="/")
    CliRunner().invoke(main, ["detach"])
    assert "ignore" not in CliRunner().invoke(main, ["attach"]).output
    ignored = ["git", "-C", str(settings.parent), "check-ignore", settings.name]
    assert subprocess.run(ignored, capture_output=True, text=True, check=False).stdout.strip() == settings.name


@pytest.mark.parametrize(
    ("choice", "told"), [("block", "do not run"), ("ask", "are asked"), ("allow", "without a review")]
)
def test_who_attaches_without_a_daemon_is_told_what_calls_meet_until_there_is_one(
    settings: Path, choice: str, told: str
) -> None:
    settings.unlink()
    assert "No daemon runs" not in CliRunner().invoke(main, ["attach", "--print"]).output
    assert json.loads(CliRunner().invoke(main, ["attach", "--json", "--by", "command"]).output)["written"]
    done = CliRunner().invoke(main, ["attach", "--when-away", choice])
    last = done.output.splitlines()[-1]
    assert told in last
    assert last.endswith("Start one: chaperon serve")
    assert f"{settings}: removed, as it was not there before" in CliRunner().invoke(main, ["detach"]).output
    assert not settings.exists()


def test_a_file_with_a_token_is_this_users_alone_and_has_its_permissions_back_behind_it(settings: Path) -> None:
    settings.chmod(0o644)
    assert CliRunner().invoke(main, ["attach"]).exit_code == 0
    assert settings.stat().st_mode & 0o777 == 0o600
    assert CliRunner().invoke(main, ["attach", "--when-away", "ask"]).exit_code == 0
    assert CliRunner().invoke(main, ["detach"]).exit_code == 0
    assert settings.stat().st_mode & 0o777 == 0o644


def test_the_relay_listens_once_something_is_attached_and_ends_once_nothing_is(settings: Path, tmp_path: Path) -> None:
    folder = tmp_path / "state/attached"
    CliRunner().invoke(main, ["attach", "--print"])
    assert process_of(folder) == 0
    CliRunner().invoke(main, ["attach"])
    number = process_of(folder)
    assert number
    CliRunner().invoke(main, ["detach"])
    while start_ticks(number):
        pause(0.01)


def test_an_attempt_for_which_there_is_no_room_leaves_nothing_behind(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, a relay went on listening, and the file counted as one with hooks."""

    folder, started = tmp_path / "state/attached", list[int]()

    def full(change: attachments.SettingsChange) -> None:
        started.append(process_of(folder))
        change.path.parent.mkdir()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    settings.unlink()
    settings.parent.rmdir()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(attachments, "_write", full)
        done = CliRunner().invoke(main, ["attach"])
    assert done.exit_code == 1
    assert f"{settings}: It cannot be written ([Errno 28] No space left on device); it is as it was." in done.output
    assert not settings.parent.exists()
    assert attachments.Attachments(folder).files() == []
    while start_ticks(started[0]):
        pause(0.01)
    assert CliRunner().invoke(main, ["attach"]).exit_code == 0


@pytest.mark.parametrize(
    ("version", "proxy", "scope", "why"),
    [
        ("2.1.294", "", "--local", "a CLI 2.1.294"),
        ("nothing", "", "--local", "not found"),
        ("2.1.329", "http://proxy:3128", "--local", "HTTP_PROXY"),
        ("2.1.329", "", "--project", "shared"),
    ],
)
def test_hooks_come_by_a_program_where_http_would_let_calls_run_or_show_a_token(
    settings: Path, cli: Path, monkeypatch: pytest.MonkeyPatch, version: str, proxy: str, scope: str, why: str
) -> None:
    cli.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    if proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
    done = CliRunner().invoke(main, ["attach", scope])
    assert (done.exit_code, why in done.output) == (0, True)
    path = settings.with_name("settings.json") if scope == "--project" else settings
    assert gate(path)["type"] == "command"
    assert gate(path)["command"].endswith("exit 2; }")
    found = read(settings.parents[1] / "state/attached")
    assert found is not None
    assert found.key not in path.read_text()
    assert found.token("c-") not in path.read_text()


def test_a_change_is_shown_without_the_token_that_it_writes(settings: Path) -> None:
    shown = CliRunner().invoke(main, ["attach", "--by", "http", "--print"]).output
    shown += CliRunner().invoke(main, ["attach", "--by", "http"]).output
    token = gate(settings)["headers"]["authorization"].removeprefix("Bearer ")
    assert token.startswith("f-")
    assert '"authorization": "Bearer ***"' in shown
    assert token not in shown


def test_the_name_of_a_folder_passes_for_no_line_of_the_change_that_is_shown(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "a\n+b"
    odd.mkdir()
    monkeypatch.chdir(odd)
    first, second, third, *_ = CliRunner().invoke(main, ["attach", "--print"]).output.splitlines()
    assert first.endswith("a\\n+b/.claude/settings.local.json")
    assert (first[:3], second[:3], third[:2]) == ("---", "+++", "@@")


async def test_a_program_of_an_agent_cannot_take_hooks_out_or_put_them_in_otherwise(base: Base) -> None:
    """These commands ask no daemon, which would have refused it; a program is not reviewed once it runs."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(base.home),
        "STATE_DIRECTORY": str(base.places.state),
        "RUNTIME_DIRECTORY": str(base.places.runtime),
    }
    base.cli(
        f"""
begin()
import subprocess
for words in (["detach"], ["attach", "--when-away", "allow"], ["keys", "--recovery"]):
    command = [{sys.executable!r}, "-m", "supervisor.cli", *words]
    told = subprocess.run(command, env={environ!r}, capture_output=True, text=True, timeout=60).stderr
    open("told", "a").write(told)
done()
hear()
"""
    )
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    refused = "chaperon: The daemon refuses this: an agent's own process may not steer agents. Nothing was done."
    assert [line.startswith(refused) for line in (base.repo / "told").read_text().splitlines()] == [True] * 3
    assert not (base.repo / ".claude").exists()


def test_a_token_is_not_put_where_others_read_it(settings: Path) -> None:
    done = CliRunner().invoke(main, ["attach", "--project", "--by", "http"])
    assert done.exit_code == 2
    assert "nothing was changed" in done.output


def everything_below(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("way", [[], ["--by", "command"]], ids=["any way", "by command"])
@pytest.mark.parametrize(
    "asked", [[], ["--project"], ["--for", "gemini", "--project"]], ids=["local", "project", "gemini"]
)
def test_print_writes_nothing_anywhere_and_shows_what_is_written_then(
    settings: Path, tmp_path: Path, asked: list[str], way: list[str]
) -> None:
    before = everything_below(tmp_path)
    shown = json.loads(CliRunner().invoke(main, ["attach", *asked, *way, "--print", "--json"]).output)
    assert everything_below(tmp_path) == before
    made = json.loads(CliRunner().invoke(main, ["attach", *asked, *way, "--json"]).output)
    assert (shown["written"], made["written"]) == (False, True)
    assert shown["difference"] == made["difference"]
    attached = everything_below(tmp_path)
    shown = json.loads(CliRunner().invoke(main, ["detach", *asked, "--print", "--json"]).output)
    assert shown["difference"]
    assert everything_below(tmp_path) == attached


def test_what_cannot_be_changed_is_told_with_its_path(settings: Path) -> None:
    settings.write_text("{ // mine\n}")
    done = CliRunner().invoke(main, ["attach"])
    assert done.exit_code == 2
    assert f"{settings}: It is not JSON" in done.output
    assert settings.read_text() == "{ // mine\n}"


def test_what_is_not_attached_cannot_be_detached(settings: Path) -> None:
    done = CliRunner().invoke(main, ["detach", "--project"])
    assert done.exit_code == 2
    assert "no hook of chaperon" in done.output


def test_as_json_a_change_says_where_what_and_whether_it_was_written(settings: Path) -> None:
    shown = json.loads(CliRunner().invoke(main, ["attach", "--print", "--json"]).output)
    made = json.loads(CliRunner().invoke(main, ["attach", "--json"]).output)
    assert (shown["path"], shown["written"], made["written"]) == (str(settings), False, True)
    assert made["difference"] == shown["difference"]
    assert '"hooks"' in made["difference"]
    again = json.loads(CliRunner().invoke(main, ["attach", "--json"]).output)
    assert (again["written"], again["difference"]) == (False, "")
    assert json.loads(CliRunner().invoke(main, ["detach", "--json"]).output)["written"]


@pytest.mark.parametrize(("cli", "place"), [("gemini", ".gemini/settings.json"), ("cursor", ".cursor/hooks.json")])
@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        '{"model": {"name": "x"}}\n',
        '{\r\n\t"version": 1,\r\n\t"hooks": {"BeforeTool": [], "preToolUse": [{"command": "own.sh"}]}\r\n}',
    ],
)
def test_another_clis_settings_are_back_byte_for_byte_behind_attach_and_detach(
    settings: Path, tmp_path: Path, cli: str, place: str, text: str | None
) -> None:
    path = tmp_path / place
    path.parent.mkdir()
    if text is not None:
        path.write_bytes(text.encode())
    asked = ["--for", cli, "--project"]
    done = CliRunner().invoke(main, ["attach", *asked])
    assert done.exit_code == 0, done.output
    assert set(hooks_in(path.read_text())) == set(adapter(cli).EVENTS)
    assert adapter(cli).TOP.items() <= json.loads(path.read_text()).items()
    assert ways_in(path) == "by Python; while no daemon is there: block"
    assert "already attached" in CliRunner().invoke(main, ["attach", *asked]).output
    done = CliRunner().invoke(main, ["detach", *asked])
    assert done.exit_code == 0, done.output
    assert (path.read_bytes().decode() if path.exists() else None) == text
    assert settings.read_text() == '{"model": "opus"}\n'


def test_another_cli_has_no_settings_of_one_persons_in_a_project_and_no_hooks_by_http(settings: Path) -> None:
    for asked in (["--for", "gemini"], ["--for", "cursor", "--local"]):
        done = CliRunner().invoke(main, ["attach", *asked])
        assert done.exit_code == 2
        assert "no settings that are yours in one project" in done.output
    done = CliRunner().invoke(main, ["attach", "--for", "gemini", "--project", "--by", "http"])
    assert done.exit_code == 2
    assert "cannot go by HTTP" in done.output
    assert not (settings.parents[1] / ".gemini").exists()


def test_another_clis_user_settings_are_in_the_home_directory(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert CliRunner().invoke(main, ["attach", "--for", "cursor", "--user"]).exit_code == 0
    assert (tmp_path / "home/.cursor/hooks.json").exists()
    assert settings.exists()
