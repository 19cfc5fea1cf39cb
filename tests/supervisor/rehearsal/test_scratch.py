import subprocess
from pathlib import Path

import pytest

from supervisor.rehearsal import scenario as scenarios
from supervisor.rehearsal.scenario import Places
from supervisor.rehearsal.scratch import ScratchError, environment, make

pytestmark = pytest.mark.anyio

TEXT = """\
name: n
task: {prompt: p}
repository:
  remote: true
  files:
    - {path: src/a.txt, content: "kept\\n"}
    - {path: draft.txt, content: new, committed: false}
home: [{path: notes/b.txt, content: mine}]
"""


def git(directory: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True, text=True).stdout


async def made(directory: Path, text: str = TEXT) -> tuple[Path, Path]:
    """Make the scratch repository and HOME, and return where they are."""
    places = Places(*(str(directory / name) for name in ("workspace", "home", "state")))
    await make(scenarios.read(text), places)
    return Path(places.workspace), Path(places.home)


async def test_repository_remote_and_home_are_as_the_scenario_says(tmp_path: Path) -> None:
    workspace, home = await made(tmp_path / "scratch")
    assert git(workspace, "ls-files").split() == ["src/a.txt"]
    assert git(workspace, "status", "--porcelain").split() == ["??", "draft.txt"]
    assert (home / "notes/b.txt").read_text() == "mine"
    assert git(workspace, "rev-parse", "origin/main") == git(workspace, "rev-parse", "main")


async def test_no_setting_of_the_user_takes_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home/.gitconfig").write_text("[commit]\n\tgpgsign = true\n[core]\n\thooksPath = /nowhere\n")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    workspace, _ = await made(tmp_path / "scratch")
    monkeypatch.delenv("GIT_DIR")
    assert git(workspace, "log", "--format=%an").split() == ["Rehearsal"]


async def test_a_git_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(ScratchError, match=r"git add --all failed .*not a git repository"):
        await made(tmp_path / "scratch", TEXT.replace("src/a.txt", ".git/HEAD"))


def test_the_environment_reaches_the_scripted_model_and_no_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-real-one")
    made_of = environment(tmp_path, "http://127.0.0.1:1", "/bin")
    assert made_of["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert made_of["ANTHROPIC_API_KEY"] == "rehearsal"
    assert "ANTHROPIC_AUTH_TOKEN" not in made_of
    assert made_of["HOME"] == str(tmp_path)
