"""Single paths against git's rules."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from checkpoints.workspace.ignored import is_ignored
from checkpoints.workspace.repository import open_worktree

RULES = ("data/", "*.log", "!keep.log", "/top", "a/b", "build*/", "**/deep", "#no", "x/**", "!x/y/")
NAMES = ("data", "a", "b", "top", "one.log", "keep.log", "build1", "deep", "x", "y")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path / "repository")], check=True)
    return tmp_path / "repository"


def git_ignores(repository: Path, path: str) -> bool:
    return subprocess.run(["git", "-C", str(repository), "check-ignore", "-q", path], check=False).returncode == 0


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_answer_is_gits_own(repository: Path, seed: int) -> None:
    chance = random.Random(seed)
    folders = [""]
    for _ in range(12):
        folder = repository / chance.choice(folders) / chance.choice(NAMES)
        if not folder.exists():
            folder.mkdir()
            folders.append(str(folder.relative_to(repository)))
    for _ in range(12):
        file = repository / chance.choice(folders) / chance.choice(NAMES)
        if not file.exists():
            file.touch()
    for ruled in ("", chance.choice(folders)):
        (repository / ruled / ".gitignore").write_text("\n".join(chance.sample(RULES, 6)) + "\n")
    (repository / ".git" / "info" / "exclude").write_text(f"{chance.choice(RULES)}\n")
    tracked = [path for path in repository.rglob("*") if path.is_file() and ".git" not in path.parts]
    subprocess.run(["git", "-C", str(repository), "add", "-f", str(chance.choice(tracked))], check=True)
    paths = [path for path in repository.rglob("*") if ".git" not in path.parts]
    found = {path: is_ignored(path) for path in paths}
    assert found == {path: git_ignores(repository, str(path.relative_to(repository))) for path in paths}
    assert set(found.values()) == {True, False}, "both answers are met"


def test_what_is_not_there_is_judged_by_its_name(repository: Path) -> None:
    (repository / ".gitignore").write_text("*.log\ndata/\n")
    assert is_ignored(repository / "none.log")
    assert is_ignored(repository / "data" / "none")
    assert is_ignored(repository / "nowhere" / "none.log")
    assert not is_ignored(repository / "none")


def test_outside_a_repository_nothing_is_said(repository: Path) -> None:
    assert is_ignored(repository.parent / "a") is None
    assert is_ignored(repository / ".." / "a") is None


PLACES = (".gitignore", ".git/config", ".git/config.worktree", ".git/index", ".git/info/exclude", ".git/shallow")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("place", PLACES)
def test_a_pipe_where_git_keeps_its_rules_holds_nobody_up(repository: Path, place: str) -> None:
    (repository / place).unlink(missing_ok=True)
    os.mkfifo(repository / place)
    assert is_ignored(repository / "data") is False
    open_worktree(repository)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("section", ["[include]\n", "[Include] ", '[includeIf "gitdir:/"]\n'])
def test_a_pipe_that_the_repositorys_configuration_includes_holds_nobody_up(repository: Path, section: str) -> None:
    os.mkfifo(repository / "pipe")
    (repository / ".git" / "config").write_text(f'{section} path = "../pi\\\npe"\n[core]\nexcludesFile = x\n')
    assert is_ignored(repository / "data") is False
