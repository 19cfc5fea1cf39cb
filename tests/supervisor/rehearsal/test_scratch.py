import os
import subprocess
from pathlib import Path

import pytest

from supervisor.config.paths import LONGEST_SOCKET_PATH
from supervisor.rehearsal import scratch
from supervisor.rehearsal.scenario import File, Scenario, ScenarioPaths, ScratchRepository, load, shipped


def places(base: Path) -> ScenarioPaths:
    return ScenarioPaths(*(str(base / name) for name in ("workspace", "home", "state")))


def scenario(**repository: object) -> Scenario:
    made = load(shipped()["demo"])
    given = ScratchRepository.model_validate(repository)
    return made.model_copy(update={"repository": given, "home": (File(path="notes/a.txt", content="mine"),)})


def git(workspace: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", workspace, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def test_the_repository_has_one_commit_with_the_files_that_are_committed(tmp_path: Path) -> None:
    where = places(tmp_path / "base")
    files = [{"path": "a/b.txt", "content": "x"}, {"path": "new.txt", "committed": False}]
    await scratch.make(scenario(files=files), where)
    assert git(where.workspace, "log", "--format=%s") == "The scratch repository"
    assert git(where.workspace, "ls-files") == "a/b.txt"
    assert git(where.workspace, "status", "--short") == "?? new.txt"
    assert (Path(where.home) / "notes" / "a.txt").read_text() == "mine"


async def test_a_remote_has_what_the_workspace_has(tmp_path: Path) -> None:
    where = places(tmp_path / "base")
    await scratch.make(scenario(remote=True), where)
    assert git(where.workspace, "rev-parse", "origin/main") == git(where.workspace, "rev-parse", "HEAD")


async def test_a_git_that_fails_is_told_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho 'fatal: out of luck' >&2\nexit 128\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(scratch.ScratchError, match=r"git init.*out of luck"):
        await scratch.make(scenario(), places(tmp_path / "base"))


def test_the_environment_leads_to_the_scripted_model_and_to_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "real")
    made = scratch.environment(Path("/h"), "http://127.0.0.1:1", "/bin")
    assert made["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert "real" not in made.values()
    assert made["HOME"] == "/h"


def test_a_socket_has_a_short_path_however_long_the_base_is(tmp_path: Path) -> None:
    with scratch.socket_directory(tmp_path / "short") as near:
        assert near == tmp_path / "short" / "run"
    with scratch.socket_directory(tmp_path / ("long" * 30)) as elsewhere:
        assert len(os.fsencode(elsewhere)) < LONGEST_SOCKET_PATH - 20
        assert elsewhere.parent.stat().st_mode & 0o777 == 0o700
    assert not elsewhere.parent.exists()
