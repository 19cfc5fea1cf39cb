"""Where files of a workspace come from."""

import os
import subprocess
from pathlib import Path

import pytest

from supervisor.runtime.sandbox.history import origin, points_to_manager, tips


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, **files: str) -> str:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository whose history had an .envrc once, and whose branch `other` has one."""
    folder = tmp_path / "repo"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(folder))
    commit(folder, a="1", _DOT_envrc="old")
    git(folder, "branch", "other")
    (folder / ".envrc").unlink()
    commit(folder, a="2", package_DOT_json='{"devDependencies": {"husky": "9"}}')
    git(folder, "checkout", "--quiet", "other")
    commit(folder, _DOT_envrc="of other", _DOT_vscode__tasks_DOT_json="{}")
    git(folder, "checkout", "--quiet", "main")
    return folder


def test_a_switch_to_a_branch_or_an_older_commit_that_was_there_before_is_history(repo: Path) -> None:
    before = tips(repo)
    git(repo, "checkout", "--quiet", "other")
    assert [origin(repo / name, repo, before) for name in (".envrc", ".vscode/tasks.json")] == ["history", "history"]
    git(repo, "checkout", "--quiet", "main~1")
    assert origin(repo / ".envrc", repo, before) == "history"


def test_a_worktree_has_the_history_of_its_repository(repo: Path, tmp_path: Path) -> None:
    before = tips(repo)
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "tree"), "other")
    assert origin(tmp_path / "tree/.envrc", tmp_path / "tree", before) == "history"


def test_other_content_and_commits_that_the_agent_made_prove_nothing(repo: Path) -> None:
    before = tips(repo)
    git(repo, "checkout", "--quiet", "other")
    (repo / ".envrc").write_text("of other, and more")
    assert origin(repo / ".envrc", repo, before) == ""
    commit(repo)
    git(repo, "branch", "--force", "main", "other")
    assert origin(repo / ".envrc", repo, before) == ""
    assert origin(repo / ".git/hooks/pre-commit", repo, before) == ""


def test_what_a_remote_is_said_to_have_is_told_apart_as_an_agent_could_have_said_it(repo: Path, tmp_path: Path) -> None:
    before = tips(repo)
    git(repo, "update-ref", "refs/remotes/origin/x", commit(repo, _DOT_envrc="new"))
    assert origin(repo / ".envrc", repo, before) == "remote"
    git(tmp_path, "clone", "--quiet", str(repo), str(repo / "lib"))
    assert origin(repo / "lib/.envrc", repo, before) == "remote"
    (repo / "lib/.envrc").write_text("changed")
    assert origin(repo / "lib/.envrc", repo, before) == ""


def test_files_of_a_hook_manager_are_its_own_if_the_project_had_it_before(repo: Path) -> None:
    before = tips(repo)
    (repo / ".husky/_").mkdir(parents=True)
    (repo / ".husky/_/pre-commit").write_text("x")
    (repo / ".husky/pre-commit").write_text("x")
    assert origin(repo / ".husky/_/pre-commit", repo, before) == "manager"
    assert origin(repo / ".husky/pre-commit", repo, before) == ""
    assert points_to_manager(".husky/_", repo, before)
    assert not points_to_manager(".husky", repo, before)
    assert not points_to_manager("elsewhere/_", repo, before)
    git(repo, "rm", "--quiet", "package.json")
    commit(repo)
    assert not points_to_manager(".husky/_", repo, tips(repo) - before), "no commit of before has it"


def test_a_link_is_compared_by_its_target(repo: Path) -> None:
    (repo / ".envrc").symlink_to("a")
    before = frozenset({commit(repo)})
    assert origin(repo / ".envrc", repo, before) == "history"
    (repo / ".envrc").unlink()
    (repo / ".envrc").symlink_to("b")
    assert origin(repo / ".envrc", repo, before) == ""


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["HEAD", "config", "packed-refs", "commondir"])
def test_a_repository_that_would_be_waited_for_is_not_opened(repo: Path, name: str) -> None:
    before = tips(repo)
    (repo / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(repo / ".git" / name)
    assert tips(repo) == frozenset()
    assert origin(repo / ".envrc", repo, before) == ""


def test_a_repository_whose_list_of_references_is_broken_has_no_history(repo: Path) -> None:
    before = tips(repo)
    (repo / ".git/packed-refs").write_bytes(b"broken \xff\n\0")
    assert tips(repo) == frozenset()
    assert origin(repo / ".envrc", repo, before) == ""


@pytest.mark.timeout(30)
def test_what_is_no_file_or_no_repository_comes_from_nowhere(repo: Path, tmp_path: Path) -> None:
    os.mkfifo(repo / ".envrc")
    assert origin(repo / ".envrc", repo, tips(repo)) == ""
    assert origin(repo / ".mcp.json", repo, tips(repo)) == "", "it went meanwhile"
    assert tips(tmp_path) == frozenset()
    assert origin(tmp_path / ".envrc", tmp_path, frozenset()) == ""
