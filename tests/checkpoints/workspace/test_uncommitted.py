"""Paths that no commit has."""

from pathlib import Path

import pytest

from checkpoints.workspace import repository
from checkpoints.workspace.uncommitted import uncommitted_paths
from tests.checkpoints.support import git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def paths(repo: Path) -> set[str]:
    opened = repository.open_worktree(repo)
    assert opened is not None
    return uncommitted_paths(opened)


def test_of_a_repository_without_a_commit_all_is_uncommitted(repo: Path) -> None:
    assert paths(repo) == set()
    (repo / "made").write_text("made")
    assert paths(repo) == {"made"}


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_what_git_was_told_to_pass_over_is_looked_at_and_what_it_ignores_is_not(repo: Path, mark: str) -> None:
    (repo / ".gitignore").write_text("build\n")
    for name in ("changed", "gone", "same"):
        (repo / name).write_text(name)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "base")
    git(repo, "update-index", mark, "changed", "gone", "same")
    (repo / "build").write_text("made")
    assert paths(repo) == set()
    (repo / "changed").write_text("an agent's")
    (repo / "gone").unlink()
    assert paths(repo) == {"changed"}


def test_what_a_sparse_checkout_leaves_out_is_not_removed(repo: Path) -> None:
    for name in ("kept/a", "left/b"):
        (repo / name).parent.mkdir()
        (repo / name).write_text(name)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "base")
    git(repo, "sparse-checkout", "set", "kept")
    assert not (repo / "left").exists()
    assert paths(repo) == set()
    (repo / "kept/a").unlink()
    assert paths(repo) == {"kept/a"}
