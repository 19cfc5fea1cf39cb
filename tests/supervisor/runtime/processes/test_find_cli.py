import os
import select
import sys
from pathlib import Path

import pytest

import supervisor.runtime.processes.find_cli as find
from supervisor.runtime.processes.find_cli import CliError, bundled_cli, find_cli

ANSWER = 'echo "2.1.400 (Claude Code)"'


def script(path: Path, body: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}


def refused(command: str | None, environ: dict[str, str]) -> str:
    with pytest.raises(CliError) as caught:
        find_cli(command, environ)
    assert caught.value.way_out
    return str(caught.value)


def test_the_configured_one_comes_before_the_one_on_path(tmp_path: Path, environ: dict[str, str]) -> None:
    on_path = script(tmp_path / "bin/claude", ANSWER)
    configured = script(tmp_path / "mine", 'echo "2.1.401 (Claude Code)"')
    assert find_cli(configured, environ) == find.Cli(configured, (2, 1, 401), "agent.command")
    found = find_cli(None, environ)
    assert (found.path, found.version_text, found.source) == (on_path, "2.1.400", "PATH")


@pytest.mark.real_cli
def test_the_extras_one_is_found_last_and_answers(environ: dict[str, str]) -> None:
    brought = bundled_cli()
    if brought is None:
        pytest.skip("the [claude] extra is not installed")
    found = find_cli(None, environ)
    assert (found.path, found.source) == (brought, "the [claude] extra")
    assert found.version >= find.MEASURED


def test_none_at_all_says_where_was_looked_and_how_to_get_one(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "bundled_cli", lambda: None)
    said = refused(None, environ)
    assert said.startswith("No Claude CLI was found: agent.command is not set, there is no `claude` on PATH")
    assert f"{sys.executable} -m pip install claude-agent-sdk" in said


def test_a_path_with_nothing_or_no_program_there_is_named(tmp_path: Path, environ: dict[str, str]) -> None:
    assert "gone' (from agent.command) cannot be used: No such file" in refused(f"{tmp_path}/gone", environ)
    assert "no file that can be executed" in refused(str(tmp_path), environ)
    (tmp_path / "text").write_text("x")
    assert f"Try: chmod +x {tmp_path}/text" in refused(f"{tmp_path}/text", environ)


def test_a_program_for_another_machine_or_without_its_interpreter_is_named(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    path = tmp_path / "odd"
    path.write_text("#!/nowhere/sh\n")
    path.chmod(0o755)
    assert "could not be started: No such file" in refused(str(path), environ)
    path.write_bytes(b"\x7fELF\0\0\0")
    assert "could not be started: Exec format error" in refused(str(path), environ)


def test_one_that_fails_shows_its_status_and_what_it_printed(tmp_path: Path, environ: dict[str, str]) -> None:
    assert "ended with exit status 3 when asked for its version; it printed 'no login'" in refused(
        script(tmp_path / "a", "echo no login >&2; exit 3"), environ
    )
    assert "ended with signal SIGSEGV" in refused(script(tmp_path / "b", "kill -SEGV $$"), environ)


@pytest.mark.parametrize(
    "body", ["echo hello", "echo 2.1.400", "printf '\\377\\000'", "true", "echo '2.x (Claude Code)'"]
)
def test_one_that_answers_nonsense_is_no_claude_cli(tmp_path: Path, environ: dict[str, str], body: str) -> None:
    assert "is no Claude CLI: asked for its version it printed" in refused(script(tmp_path / "c", body), environ)


def test_one_that_hangs_is_ended_with_its_children(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "VERSION_SECONDS", 0.3)
    path = script(tmp_path / "slow", f"sleep 300 & echo $! > {tmp_path}/pid; wait")
    assert "did not answer `--version` within 0.3 s and was ended" in refused(path, environ)
    assert ends(int((tmp_path / "pid").read_text()))


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone within five seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 5)[0])
    finally:
        os.close(descriptor)


def test_one_that_floods_is_ended_and_not_read_to_its_end(tmp_path: Path, environ: dict[str, str]) -> None:
    assert "is no Claude CLI" in refused(script(tmp_path / "flood", "exec yes"), environ)


def test_one_that_is_too_old_is_told_with_both_versions(tmp_path: Path, environ: dict[str, str]) -> None:
    said = refused(script(tmp_path / "old", 'echo "2.1.8 (Claude Code)"'), environ)
    assert "is version 2.1.8; chaperon needs 2.1.9 or newer" in said
    assert "claude update" in said


def test_warnings_before_the_version_do_no_harm(tmp_path: Path, environ: dict[str, str]) -> None:
    assert find_cli(script(tmp_path / "w", f"echo warning >&2; {ANSWER}"), environ).version == (2, 1, 400)


def test_an_answer_is_remembered_until_the_file_changes(tmp_path: Path, environ: dict[str, str]) -> None:
    path = script(tmp_path / "m", f"echo asked >> {tmp_path}/log; {ANSWER}")
    find_cli(path, environ)
    find_cli(path, environ)
    assert (tmp_path / "log").read_text() == "asked\n"
    os.utime(path, (1, 1))
    find_cli(path, environ)
    assert (tmp_path / "log").read_text() == "asked\nasked\n"


def test_it_runs_in_the_agents_environment_and_nothing_else(tmp_path: Path, environ: dict[str, str]) -> None:
    path = script(tmp_path / "e", f"env > {tmp_path}/env; {ANSWER}")
    find_cli(path, {**environ, "X": "1"})
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names - {"PWD", "_", "OLDPWD", "SHLVL"} == {"PATH", "HOME", "X"}
